//! [`Day`]: a day of the calendar, in the time zone of the stockroom.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use std::fmt;

/// The first and the last year that are taken: days sort as text only while a year has four digits.
const YEARS: std::ops::RangeInclusive<i16> = 1900..=9999;

/// A day of the calendar. Written as 2026-11-21, so that days sort as text does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(Date);

/// Why a text is no day.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a valid date (YYYY-MM-DD)")]
pub struct DayRefused(String);

/// Tells which day a moment belongs to.
#[derive(Clone, Debug)]
pub struct Days(TimeZone);

impl Day {
    /// Reads a day.
    ///
    /// # Errors
    /// It is not written as 2026-11-21, or there is no such day.
    pub fn parse(text: &str) -> Result<Self, DayRefused> {
        let refused = || DayRefused(text.chars().take(40).collect());
        let date: Date = text.parse().map_err(|_| refused())?;
        // jiff also reads 20261121 and whole moments; one way of writing a day is enough.
        if date.to_string() != text || !YEARS.contains(&date.year()) {
            return Err(refused());
        }
        Ok(Self(date))
    }
}

impl Days {
    /// By the clocks of a time zone of the IANA database, as in `Europe/Berlin`; `None` if there is none of that name.
    #[must_use]
    pub fn of_zone(name: &str) -> Option<Self> {
        TimeZone::get(name).ok().map(Self)
    }

    /// The day of a moment in milliseconds since 1970.
    #[must_use]
    pub fn day(&self, unix_ms: u64) -> Day {
        let ms = i64::try_from(unix_ms).unwrap_or(i64::MAX);
        let moment = Timestamp::from_millisecond(ms).unwrap_or(Timestamp::MAX);
        Day(moment.to_zoned(self.0.clone()).date())
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
    use super::{Day, Days};

    #[test]
    fn a_day_is_written_in_one_way() {
        assert_eq!(Day::parse("2026-11-21").unwrap().to_string(), "2026-11-21");
        for refused in
            ["", "21.11.2026", "2026-11-31", "20261121", "2026-11-21T10:00:00", "-000044-03-15", "0044-03-15"]
        {
            assert!(Day::parse(refused).is_err(), "{refused}");
        }
        assert!(Day::parse("2026-11-21").unwrap() < Day::parse("2026-12-01").unwrap());
    }

    #[test]
    fn a_moment_belongs_to_the_day_of_the_place() {
        // 2026-11-21 23:30 UTC is half past midnight in Berlin.
        let moment = 1_795_303_800_000;
        assert_eq!(Days::of_zone("UTC").unwrap().day(moment).to_string(), "2026-11-21");
        assert_eq!(Days::of_zone("Europe/Berlin").unwrap().day(moment).to_string(), "2026-11-22");
        assert!(Days::of_zone("Nowhere/AtAll").is_none());
    }
}
