//! [`Day`]: a date, and [`Calendar`]: the date of a time in the stockroom's time zone.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use std::fmt;
use web::{signed, timestamp};

/// Accepted years: days sort as text only if every year has four digits.
const YEARS: std::ops::RangeInclusive<i16> = 1900..=9999;

/// A date, formatted as 2026-11-21, so that days sort as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(Date);

/// The text is not a valid day.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a valid date (YYYY-MM-DD)")]
pub struct InvalidDay(String);

/// Converts times to days in one time zone.
#[derive(Clone, Debug)]
pub struct Calendar(TimeZone);

impl Day {
    /// Parses a day.
    ///
    /// # Errors
    /// It is not formatted as 2026-11-21, or the date does not exist.
    pub fn parse(text: &str) -> Result<Self, InvalidDay> {
        let invalid = || InvalidDay(text.chars().take(40).collect());
        let date: Date = text.parse().map_err(|_| invalid())?;
        // jiff also accepts 20261121 and timestamps.
        if date.to_string() != text || !YEARS.contains(&date.year()) {
            return Err(invalid());
        }
        Ok(Self(date))
    }
}

impl Calendar {
    /// A calendar in a time zone of the IANA database, such as `Europe/Berlin`; `None` if it does not exist.
    #[must_use]
    pub fn in_zone(name: &str) -> Option<Self> {
        TimeZone::get(name).ok().map(Self)
    }

    /// The day of a time in milliseconds since 1970.
    #[must_use]
    pub fn day(&self, unix_ms: u64) -> Day {
        Day(timestamp(signed(unix_ms)).to_zoned(self.0.clone()).date())
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests {
    use super::{Calendar, Day};

    #[test]
    fn day_accepts_one_format() {
        assert_eq!(Day::parse("2026-11-21").unwrap().to_string(), "2026-11-21");
        for invalid in
            ["", "21.11.2026", "2026-11-31", "20261121", "2026-11-21T10:00:00", "-000044-03-15", "0044-03-15"]
        {
            assert!(Day::parse(invalid).is_err(), "{invalid}");
        }
        assert!(Day::parse("2026-11-21").unwrap() < Day::parse("2026-12-01").unwrap());
    }

    #[test]
    fn day_depends_on_the_time_zone() {
        // 2026-11-21 23:30 UTC is 00:30 in Berlin.
        let time = 1_795_303_800_000;
        assert_eq!(Calendar::in_zone("UTC").unwrap().day(time).to_string(), "2026-11-21");
        assert_eq!(Calendar::in_zone("Europe/Berlin").unwrap().day(time).to_string(), "2026-11-22");
        assert!(Calendar::in_zone("Nowhere/AtAll").is_none());
    }
}
