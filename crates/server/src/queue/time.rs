//! Times and spans as operators write and read them.

use evenkeel::queue::steps::When;
use jiff::Timestamp;

/// `2026-11-21T18:00:00.000Z`, or the number where it is no time.
pub(crate) fn text(ms: u64) -> String {
    let time = i64::try_from(ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    time.map_or_else(|| ms.to_string(), |time| format!("{time:.3}"))
}

/// How far a time is from now: `in 5 m 3 s`, `12 s ago`.
pub(crate) fn distance(ms: u64, now: u64) -> String {
    if ms > now { format!("in {}", span(ms - now)) } else { format!("{} ago", span(now - ms)) }
}

/// `850 ms`, `12.3 s`, `5 m 3 s`, `2 h 10 m`, `3 d 4 h`.
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

/// Reads `90s`, `5m`, `2h`, `1d`, `250ms`; a bare number is refused, because nobody knows its unit.
pub(crate) fn read_span(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit_ms: u64 = match &text[digits.len()..] {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err("write a number and a unit: 250ms, 90s, 5m, 2h or 1d".to_owned()),
    };
    let number: u64 =
        digits.trim().parse().map_err(|_| "write a number and a unit: 250ms, 90s, 5m, 2h or 1d".to_owned())?;
    number.checked_mul(unit_ms).ok_or_else(|| "that is too long".to_owned())
}

/// Reads `2026-11-21T18:00:00Z` (any offset), or ms since 1970; answers ms since 1970.
pub(super) fn read_time(text: &str) -> Result<u64, String> {
    let wrong = || "write a time with its offset, like 2026-11-21T18:00:00Z".to_owned();
    if let Ok(ms) = text.parse::<u64>() {
        return Ok(ms);
    }
    let time: Timestamp = text.parse().map_err(|_| wrong())?;
    u64::try_from(time.as_millisecond()).map_err(|_| wrong())
}

/// When a job is to be due, as two options say it.
pub(super) fn when(at: Option<u64>, after: Option<u64>) -> Option<When> {
    at.map(When::At).or(after.map(When::In))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_with_their_unit() {
        assert_eq!(
            ["250ms", "90s", "5m", "2h", "1d"].map(read_span),
            [Ok(250), Ok(90_000), Ok(300_000), Ok(7_200_000), Ok(86_400_000)]
        );
        assert!(["90", "s", "-5s", "1w", "99999999999999999999d", ""].map(read_span).iter().all(Result::is_err));
    }

    #[test]
    fn times_are_read_and_shown() {
        assert_eq!(read_time("2026-11-21T18:00:00Z"), read_time("2026-11-21T19:00:00+01:00"));
        assert_eq!(read_time("2026-11-21T18:00:00.250Z").map(text), Ok("2026-11-21T18:00:00.250Z".to_owned()));
        assert_eq!(read_time("0"), Ok(0));
        assert!(["yesterday", "2026-11-21", "1960-01-01T00:00:00Z"].map(read_time).iter().all(Result::is_err));
    }

    #[test]
    fn spans_have_two_figures_at_most() {
        let shown = [850, 12_340, 303_000, 7_800_000, 273_600_000, 3_600_000].map(span);
        assert_eq!(shown, ["850 ms", "12.3 s", "5 m 3 s", "2 h 10 m", "3 d 4 h", "1 h"]);
        assert_eq!((distance(5_000, 0), distance(0, 5_000)), ("in 5.0 s".to_owned(), "5.0 s ago".to_owned()));
    }
}
