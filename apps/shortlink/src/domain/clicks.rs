//! Clicks of a link: numbers per day, in UTC.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};
use std::iter::Sum;
use std::ops::AddAssign;

/// The most days of one request.
pub const DAYS_MAX: u32 = 366;

const EPOCH: Date = Date::constant(1970, 1, 1);
const DAY_MS: i64 = 24 * 3_600_000;

/// How often a link was followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClickCounts {
    /// By people.
    pub people: u64,
    /// By programs; see [`is_bot`](super::is_bot).
    pub bots: u64,
}

/// The clicks of a link on one day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DayClicks {
    /// The day, in UTC.
    pub day: Date,
    /// Its clicks.
    pub counts: ClickCounts,
}

/// The clicks of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClickStats {
    /// All clicks since the link was created.
    pub total: ClickCounts,
    /// The last days, oldest first, without gaps; the last one is today.
    pub days: Vec<DayClicks>,
}

/// The number of a day: days since 1970, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DayNumber(pub i64);

impl DayNumber {
    /// The day of a moment.
    #[must_use]
    pub fn of_ms(unix_ms: i64) -> Self {
        Self(unix_ms.div_euclid(DAY_MS))
    }

    /// The day of a date.
    pub(crate) fn of_date(date: Date) -> Option<Self> {
        let midnight = date.to_zoned(TimeZone::UTC).ok()?.timestamp();
        Some(Self::of_ms(midnight.as_millisecond()))
    }

    /// The date of this day; the epoch if the calendar does not reach that far.
    #[must_use]
    pub fn date(self) -> Date {
        Span::new().try_days(self.0).and_then(|span| EPOCH.checked_add(span)).unwrap_or(EPOCH)
    }
}

impl ClickCounts {
    /// Clicks of people and of bots.
    #[must_use]
    pub fn all(self) -> u64 {
        self.people.saturating_add(self.bots)
    }
}

impl AddAssign for ClickCounts {
    fn add_assign(&mut self, more: Self) {
        self.people = self.people.saturating_add(more.people);
        self.bots = self.bots.saturating_add(more.bots);
    }
}

impl Sum for ClickCounts {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::default(), |mut sum, counts| {
            sum += counts;
            sum
        })
    }
}

impl ClickStats {
    /// The last `days` days up to that of `now`, at most [`DAYS_MAX`]; `counted` are the days that have clicks.
    #[must_use]
    pub fn filled(total: ClickCounts, counted: &[(DayNumber, ClickCounts)], now: Timestamp, days: u32) -> Self {
        let of = |day| counted.iter().find(|(counted, _)| *counted == day).map(|(_, counts)| *counts);
        let each = days_until(now, days).map(|day| DayClicks { day: day.date(), counts: of(day).unwrap_or_default() });
        Self { total, days: each.collect() }
    }
}

/// The last `days` days up to that of `now`, oldest first.
pub(crate) fn days_until(now: Timestamp, days: u32) -> impl Iterator<Item = DayNumber> {
    let today = DayNumber::of_ms(now.as_millisecond()).0;
    let days = i64::from(days.clamp(1, DAYS_MAX));
    (today - days + 1..=today).map(DayNumber)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests {
    use super::*;

    #[test]
    fn day_begins_at_midnight_utc() {
        let at = |text: &str| DayNumber::of_ms(text.parse::<Timestamp>().unwrap().as_millisecond());
        assert_eq!(at("1970-01-01T00:00:00Z"), DayNumber(0));
        assert_eq!(at("1969-12-31T23:59:59.999Z"), DayNumber(-1));
        assert_eq!(at("2026-11-24T23:59:59.999Z").0 + 1, at("2026-11-25T00:00:00Z").0);
        assert_eq!(at("2026-11-25T12:00:00Z").date().to_string(), "2026-11-25");
        assert_eq!(DayNumber(i64::MAX).date(), EPOCH);
    }

    #[test]
    fn sums_end_at_the_largest_number() {
        let most = ClickCounts { people: u64::MAX, bots: 1 };
        assert_eq!([most, most].into_iter().sum::<ClickCounts>(), ClickCounts { people: u64::MAX, bots: 2 });
        assert_eq!(most.all(), u64::MAX);
    }

    #[test]
    fn days_without_clicks_are_zero() {
        let now: Timestamp = "2026-03-01T01:00:00Z".parse().unwrap();
        let counts = ClickCounts { people: 3, bots: 1 };
        let counted = [(DayNumber::of_ms(now.as_millisecond()), counts), (DayNumber(0), counts)];
        let stats = ClickStats::filled(counts, &counted, now, 3);
        let shown: Vec<_> = stats.days.iter().map(|day| (day.day.to_string(), day.counts.people)).collect();
        assert_eq!(shown, [("2026-02-27".into(), 0), ("2026-02-28".into(), 0), ("2026-03-01".into(), 3)]);
        assert_eq!(ClickStats::filled(counts, &[], now, 0).days.len(), 1);
        assert_eq!(ClickStats::filled(counts, &[], now, u32::MAX).days.len(), 366);
    }
}
