//! Numbers, times, bytes and messages as responses and databases need them.

use jiff::Timestamp;
use std::fmt::{Display, Write};

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

/// The text with a capital first letter.
#[must_use]
pub fn capitalized(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().collect::<String>() + characters.as_str())
}

/// A message as a sentence: with a capital first letter and a full stop.
#[must_use]
pub fn sentence(message: &(impl Display + ?Sized)) -> String {
    capitalized(&message.to_string()) + "."
}

/// The bytes in hexadecimal.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing into a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The bytes of pairs of hexadecimal digits; `None` for any other text.
#[must_use]
pub fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text.chars().map(|digit| digit.to_digit(16)?.try_into().ok()).collect();
    let digits = digits.filter(|digits| digits.len().is_multiple_of(2))?;
    Some(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

#[cfg(test)]
mod tests {
    use super::{from_hex, grouped, hex, sentence, signed, timestamp};
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

    #[test]
    fn sentence_has_a_capital_and_a_full_stop() {
        assert_eq!(["", "ärger", "URL is wrong"].map(sentence), [".", "Ärger.", "URL is wrong."]);
    }

    #[test]
    fn bytes_round_trip_as_hexadecimal() {
        assert_eq!(hex(&[0, 0x0f, 0xff]), "000fff");
        assert_eq!(from_hex("000fFF"), Some(vec![0, 0x0f, 0xff]));
        assert_eq!(["f", "zz", "+1", "ä"].map(from_hex), [None, None, None, None]);
    }
}
