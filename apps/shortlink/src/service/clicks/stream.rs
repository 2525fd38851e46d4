//! [`ClickStream`]: the stream of clicks, opened once Redis can be reached.

use crate::domain::{ClickCounts, Code, DayNumber};
use crate::store::ClickDelta;
use evenkeel::Keel;
use evenkeel::stream::{Stream, StreamError};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tracing::warn;
use web::guard;

/// The name of the stream.
const NAME: &str = "clicks";

/// How long entries stay after all groups have settled them. Nothing replays clicks.
const KEPT: Duration = Duration::from_secs(600);

/// The most entries, while the database that they go into is unreachable.
const ENTRIES_MAX: u64 = 1_000_000;

/// The parts of the stream. It cannot be changed later.
const PARTITIONS: u16 = 4;

/// The longest name of a process; those that are drawn have 32 characters.
const SOURCE_BYTES_MAX: usize = 64;

/// The days of an entry, since 1970: up to the end of the year 9999.
const DAYS: Range<i64> = 0..2_932_897;

/// The most clicks of an entry. A process that counts a million of them each second reaches it after twelve days.
const CLICKS_MAX: u64 = 1 << 40;

/// An entry of the stream: the clicks of one link, its key, that one process counted in about a second.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ClickEntry {
    /// The process, drawn at its start.
    pub(super) source: String,
    /// Its number among the entries of the process. An entry that was appended twice has the same name, so it counts once.
    pub(super) number: u64,
    /// Days since 1970, in UTC.
    pub(super) day: i64,
    /// Clicks of people.
    pub(super) people: u64,
    /// Clicks of bots.
    pub(super) bots: u64,
}

impl ClickEntry {
    pub(super) fn counts(&self) -> ClickCounts {
        ClickCounts { people: self.people, bots: self.bots }
    }

    /// What the entry adds to the counters, if it is one that this program writes.
    ///
    /// # Errors
    /// Which part of it is malformed. The database would refuse such a value, or could not add it up.
    pub(super) fn delta(&self, key: &[u8]) -> Result<ClickDelta, &'static str> {
        let code = std::str::from_utf8(key).ok().and_then(|key| Code::parse(key).ok());
        let code = code.ok_or("the key is not the code of a link")?;
        let Self { source, number, day, people, bots } = self;
        let is_named = (1..=SOURCE_BYTES_MAX).contains(&source.len()) && source.bytes().all(|b| b.is_ascii_graphic());
        let problem = if !is_named {
            Some("its source is not 1 to 64 visible ASCII characters")
        } else if !DAYS.contains(day) {
            Some("its day is not between the years 1970 and 9999")
        } else if (*people).max(*bots) > CLICKS_MAX {
            Some("it has more clicks than a process counts")
        } else {
            None
        };
        match problem.filter(|_| guard("clicks_are_checked")) {
            Some(problem) => Err(problem),
            None => Ok(ClickDelta {
                entry: format!("{source}/{number}"),
                code,
                day: DayNumber(*day),
                counts: self.counts(),
            }),
        }
    }
}

/// The stream. Cheap to clone.
#[derive(Clone)]
pub(super) struct ClickStream {
    /// Empty until Redis was reached for the first time.
    opened: Arc<OnceLock<Stream<ClickEntry>>>,
    keel: Keel,
}

impl ClickStream {
    pub(super) fn new(keel: &Keel) -> Self {
        Self { opened: Arc::default(), keel: keel.clone() }
    }

    /// Opens the stream, unless Redis is unreachable.
    ///
    /// # Errors
    /// [`StreamError`] that a retry does not help.
    pub(super) async fn open(&self) -> Result<(), StreamError> {
        match self.get().await {
            Err(error) if error.is_retryable() => {
                warn!(%error, "Redis is unreachable; until it is back, clicks wait in this process");
                Ok(())
            }
            opened => opened.map(drop),
        }
    }

    /// The stream, opened on first use.
    pub(super) async fn get(&self) -> Result<Stream<ClickEntry>, StreamError> {
        if let Some(stream) = self.opened.get() {
            return Ok(stream.clone());
        }
        let stream = self.keel.stream(NAME).partitions(PARTITIONS).retention(KEPT).entries_max(ENTRIES_MAX);
        let stream = stream.open().await?;
        Ok(self.opened.get_or_init(|| stream).clone())
    }

    /// Whether the stream is in this process and ends with it.
    pub(super) fn is_embedded(&self) -> bool {
        self.keel.link().is_none()
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests {
    use super::{CLICKS_MAX, ClickEntry, DAYS};
    use crate::domain::DayNumber;

    fn entry() -> ClickEntry {
        ClickEntry { source: "0123456789abcdef".repeat(2), number: u64::MAX, day: 20_000, people: CLICKS_MAX, bots: 0 }
    }

    #[test]
    fn entry_within_its_limits_is_added() {
        for day in [DAYS.start, DAYS.end - 1] {
            let delta = ClickEntry { day, ..entry() }.delta(b"abc").unwrap();
            assert_eq!((delta.day, delta.counts.all()), (DayNumber(day), CLICKS_MAX));
            assert!(delta.entry.len() <= 255 && delta.entry.ends_with("/18446744073709551615"), "{}", delta.entry);
        }
        assert_eq!(DayNumber(DAYS.end - 1).date().to_string(), "9999-12-31");
    }

    #[test]
    fn malformed_entry_is_refused() {
        let source = |source: &str| ClickEntry { source: source.to_owned(), ..entry() };
        for malformed in [source(""), source("a b"), source("\0"), source("\u{e4}"), source(&"x".repeat(65))] {
            assert!(malformed.delta(b"abc").unwrap_err().starts_with("its source"), "{malformed:?}");
        }
        for day in [i64::MIN, -1, DAYS.end, i64::MAX] {
            assert!(ClickEntry { day, ..entry() }.delta(b"abc").unwrap_err().starts_with("its day"), "{day}");
        }
        for clicks in [CLICKS_MAX + 1, u64::MAX] {
            assert!(ClickEntry { people: clicks, ..entry() }.delta(b"abc").unwrap_err().contains("more clicks"));
            assert!(ClickEntry { bots: clicks, ..entry() }.delta(b"abc").unwrap_err().contains("more clicks"));
        }
        for key in [&b""[..], b"a/b", b"\xff"] {
            assert!(entry().delta(key).unwrap_err().starts_with("the key"));
        }
    }
}
