//! Numbers and times as responses and databases need them.

use jiff::Timestamp;

/// A number with thousands separators, as in `1,000`.
#[must_use]
pub fn grouped(number: impl Into<i128>) -> String {
    let number = number.into();
    let digits = number.unsigned_abs().to_string();
    let mut text = String::from(if number < 0 { "-" } else { "" });
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number as SQL stores it; the largest one if it does not fit.
#[must_use]
pub fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The moment of a time in milliseconds since 1970; the last one if the calendar does not reach that far.
#[must_use]
pub fn timestamp(unix_ms: i64) -> Timestamp {
    Timestamp::from_millisecond(unix_ms).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::{grouped, signed, timestamp};
    use jiff::Timestamp;

    #[test]
    fn thousands_are_separated() {
        assert_eq!([0, 999, 1_000, -1_234_567].map(grouped), ["0", "999", "1,000", "-1,234,567"]);
        assert_eq!(grouped(u64::MAX), "18,446,744,073,709,551,615");
        assert_eq!(grouped(i64::MIN), "-9,223,372,036,854,775,808");
    }

    #[test]
    fn numbers_and_times_out_of_range_are_the_last_ones() {
        assert_eq!([0, 7, u64::MAX].map(signed), [0, 7, i64::MAX]);
        assert_eq!(timestamp(1_000).as_second(), 1);
        assert_eq!(timestamp(signed(u64::MAX)), Timestamp::MAX);
    }
}
