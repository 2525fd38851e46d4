//! Parsing and formatting of times and time spans.

use evenkeel::queue::When;
use jiff::Timestamp;

/// Formats as `2026-11-21T18:00:00.000Z`, or as the number if it is out of range.
pub(crate) fn text(ms: u64) -> String {
    let time = i64::try_from(ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    time.map_or_else(|| ms.to_string(), |time| format!("{time:.3}"))
}

/// The distance of a time from now: `in 5 m 3 s`, `12 s ago`.
pub(crate) fn distance(ms: u64, now: u64) -> String {
    if ms > now { format!("in {}", span(ms - now)) } else { format!("{} ago", span(now - ms)) }
}

/// Formats as `850 ms`, `12.3 s`, `5 m 3 s`, `2 h 10 m` or `3 d 4 h`.
pub(crate) fn span(ms: u64) -> String {
    let seconds = ms / 1_000;
    let two = |big: u64, name: &str, small: u64, small_name: &str| {
        if small == 0 { format!("{big} {name}") } else { format!("{big} {name} {small} {small_name}") }
    };
    match seconds {
        0 => format!("{ms} ms"),
        1..60 => format!("{:.1} s", f64::from(u32::try_from(ms).unwrap_or(0)) / 1_000.0),
        60..3_600 => two(seconds / 60, "m", seconds % 60, "s"),
        3_600..86_400 => two(seconds / 3_600, "h", seconds % 3_600 / 60, "m"),
        _ => two(seconds / 86_400, "d", seconds % 86_400 / 3_600, "h"),
    }
}

/// Parses `250ms`, `90s`, `5m`, `2h` or `1d`. A number without a unit is rejected as ambiguous.
pub(crate) fn read_span(text: &str) -> Result<u64, String> {
    let invalid = || "use a number and a unit: 250ms, 90s, 5m, 2h or 1d".to_owned();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit_ms: u64 = match &text[digits.len()..] {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(invalid()),
    };
    let number: u64 = digits.trim().parse().map_err(|_| invalid())?;
    number.checked_mul(unit_ms).ok_or_else(|| "the time span is too long".to_owned())
}

/// Parses `2026-11-21T18:00:00Z` (with any offset) or Unix milliseconds, and returns Unix milliseconds. A time before 1970 is rejected, as by the
/// API and in JSON rows: no program means it.
pub(crate) fn read_time(text: &str) -> Result<u64, String> {
    let invalid = || "use a time with its offset, for example 2026-11-21T18:00:00Z".to_owned();
    let ms = match text.parse::<i128>() {
        Ok(ms) => ms,
        Err(_) => text.parse::<Timestamp>().map_err(|_| invalid())?.as_millisecond().into(),
    };
    if ms < 0 {
        return Err(
            "the time is before 1970; use 1970-01-01T00:00:00Z or a later one, and omit the option for now".to_owned()
        );
    }
    u64::try_from(ms).map_err(|_| "the time is too far in the future; is it in milliseconds?".to_owned())
}

/// The due time from the options `--at` and `--in`.
pub(crate) fn when(at: Option<u64>, after: Option<u64>) -> Option<When> {
    at.map(When::At).or(after.map(When::In))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_need_a_unit() {
        assert_eq!(
            ["250ms", "90s", "5m", "2h", "1d"].map(read_span),
            [Ok(250), Ok(90_000), Ok(300_000), Ok(7_200_000), Ok(86_400_000)]
        );
        assert!(["90", "s", "-5s", "1w", "99999999999999999999d", ""].map(read_span).iter().all(Result::is_err));
    }

    // shows: hazard T12
    #[test]
    fn times_parse_and_format() {
        assert_eq!(read_time("2026-11-21T18:00:00Z"), read_time("2026-11-21T19:00:00+01:00"));
        assert_eq!(read_time("2026-11-21T18:00:00.250Z").map(text), Ok("2026-11-21T18:00:00.250Z".to_owned()));
        assert_eq!(read_time("0"), Ok(0));
        assert!(["yesterday", "2026-11-21", ""].map(read_time).iter().all(Result::is_err));
        for early in ["1969-12-31T23:59:59.999Z", "1970-01-01T00:00:00+01:00", "-5"] {
            assert!(read_time(early).is_err_and(|reason| reason.contains("before 1970")), "{early}");
        }
        assert!(read_time("18446744073709551616").is_err_and(|reason| reason.contains("too far")));
    }

    #[test]
    fn spans_are_formatted_with_at_most_two_units() {
        let formatted = [850, 12_340, 303_000, 7_800_000, 273_600_000, 3_600_000].map(span);
        assert_eq!(formatted, ["850 ms", "12.3 s", "5 m 3 s", "2 h 10 m", "3 d 4 h", "1 h"]);
        assert_eq!((distance(5_000, 0), distance(0, 5_000)), ("in 5.0 s".to_owned(), "5.0 s ago".to_owned()));
    }
}
