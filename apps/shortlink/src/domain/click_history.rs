//! [`ClickHistory`]: the counters of a link in an export.

use super::clicks::{ClickCounts, DAYS_MAX, DayNumber};
use jiff::civil::Date;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// The counters of a link by day, as text: `2026-11-25:12/3 2026-11-26:0/1` are twelve clicks of people and three of bots, and a day
/// later one of a bot. At most [`DAYS_MAX`] days, so that a row has a bounded length: older clicks are added to the first of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClickHistory(BTreeMap<DayNumber, ClickCounts>);

/// Counters are signed in the databases, and are added to.
const COUNT_MAX: u64 = 1 << 52;

/// The text is not a history of clicks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected up to {DAYS_MAX} days with the clicks of people and of bots, such as 2026-11-25:12/3 2026-11-26:0/1")]
pub struct InvalidHistory;

impl ClickHistory {
    /// Adds the clicks of a day. Those before `first` count as clicks of `first`.
    pub(crate) fn add(&mut self, day: DayNumber, first: DayNumber, counts: ClickCounts) {
        *self.0.entry(day.max(first)).or_default() += counts;
    }

    /// The counters, oldest first.
    pub fn days(&self) -> impl Iterator<Item = (DayNumber, ClickCounts)> {
        self.0.iter().map(|(day, counts)| (*day, *counts))
    }

    /// Whether there are no clicks.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for ClickHistory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (day, counts)) in self.days().enumerate() {
            let separator = if index > 0 { " " } else { "" };
            write!(f, "{separator}{}:{}/{}", day.date(), counts.people, counts.bots)?;
        }
        Ok(())
    }
}

impl FromStr for ClickHistory {
    type Err = InvalidHistory;

    fn from_str(text: &str) -> Result<Self, InvalidHistory> {
        let mut days = BTreeMap::new();
        for part in text.split_whitespace() {
            let (day, counts) = day(part).ok_or(InvalidHistory)?;
            if days.insert(day, counts).is_some() || days.len() > DAYS_MAX as usize {
                return Err(InvalidHistory);
            }
        }
        Ok(Self(days))
    }
}

fn day(text: &str) -> Option<(DayNumber, ClickCounts)> {
    let (day, counts) = text.split_once(':')?;
    let (people, bots) = counts.split_once('/')?;
    let day = DayNumber::of_date(day.parse::<Date>().ok()?)?;
    let count = |text: &str| text.parse::<u64>().ok().filter(|count| *count <= COUNT_MAX);
    Some((day, ClickCounts { people: count(people)?, bots: count(bots)? }))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests {
    use super::{ClickHistory, InvalidHistory};
    use crate::domain::{ClickCounts, DayNumber};

    #[test]
    fn history_round_trips_and_adds_old_days_to_the_first() {
        let mut history = ClickHistory::default();
        let first = DayNumber(20_000);
        for day in [19_000, 20_000, 20_002] {
            history.add(DayNumber(day), first, ClickCounts { people: 2, bots: 1 });
        }
        assert_eq!(history.to_string(), "2024-10-04:4/2 2024-10-06:2/1");
        assert_eq!(history.to_string().parse(), Ok(history));
        assert!("".parse::<ClickHistory>().unwrap().is_empty());
    }

    #[test]
    fn invalid_history_is_refused() {
        let long: String = (0..367).map(|day| format!("{}:1/1 ", DayNumber(day).date())).collect();
        for text in [
            "7",
            "2026-11-25",
            "2026-11-25:1",
            "2026-11-25:1/-1",
            "2026-02-30:1/1",
            "2026-11-25:1/1 2026-11-25:1/1",
            &long,
        ] {
            assert_eq!(text.parse::<ClickHistory>(), Err(InvalidHistory), "{text}");
        }
    }
}
