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
const ENTRIES_MAX: u64 = 100_000;

/// The parts of the stream. It cannot be changed later.
const PARTITIONS: u16 = 4;

/// The longest name of a process; those that are drawn have 32 characters.
const SOURCE_BYTES_MAX: usize = 64;

/// The days of an entry, since 1970: up to the end of the year 9999.
const DAYS: Range<i64> = 0..2_932_897;

/// The most clicks of a link. A process that counts a million of them each second reaches it after twelve days.
const CLICKS_MAX: u64 = 1 << 40;

/// The most links of an entry that this program writes, and of one that it accepts. Appending, delivering and settling cost as much
/// for an entry of one link.
pub(super) const LINKS_MAX: usize = 64;
const LINKS_ACCEPTED: usize = 4_096;

/// An entry of the stream: the clicks of some links that one process counted in about a second.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ClickEntry {
    /// The process, drawn at its start.
    pub(super) source: String,
    /// Its number among the entries of the process. An entry that was appended twice has the same name, so it counts once.
    pub(super) number: u64,
    /// The clicks of each link.
    pub(super) links: Vec<LinkClicks>,
}

/// The clicks of a link on a day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LinkClicks {
    pub(super) code: Box<str>,
    /// Days since 1970, in UTC.
    pub(super) day: i64,
    /// Clicks of people.
    pub(super) people: u64,
    /// Clicks of bots.
    pub(super) bots: u64,
}

impl ClickEntry {
    /// The name, which is also its key: the order of clicks does not matter, so any partition will do.
    pub(super) fn name(&self) -> String {
        format!("{}/{}", self.source, self.number)
    }

    pub(super) fn counts(&self) -> ClickCounts {
        self.links.iter().map(LinkClicks::counts).sum()
    }

    /// What the entry adds to the counters, if it is one that this program writes.
    ///
    /// # Errors
    /// Which part of it is malformed. The database would refuse such a value, or could not add it up.
    pub(super) fn delta(&self) -> Result<ClickDelta, &'static str> {
        let Self { source, links, .. } = self;
        let is_named = (1..=SOURCE_BYTES_MAX).contains(&source.len()) && source.bytes().all(|b| b.is_ascii_graphic());
        let (mut clicks, mut problem) = (Vec::with_capacity(links.len()), None);
        if !is_named {
            problem = Some("its source is not 1 to 64 visible ASCII characters");
        } else if links.len() > LINKS_ACCEPTED {
            problem = Some("it has more than 4,096 links");
        }
        for link in links {
            problem = problem.or(link.problem());
            clicks.push((link.code()?, DayNumber(link.day), link.counts()));
        }
        match problem.filter(|_| guard("clicks_are_checked")) {
            Some(problem) => Err(problem),
            None => Ok(ClickDelta { entry: self.name(), clicks }),
        }
    }
}

impl LinkClicks {
    fn counts(&self) -> ClickCounts {
        ClickCounts { people: self.people, bots: self.bots }
    }

    fn code(&self) -> Result<Code, &'static str> {
        Code::parse(&self.code).map_err(|_| "one of its codes is not that of a link")
    }

    fn problem(&self) -> Option<&'static str> {
        if !DAYS.contains(&self.day) {
            Some("its day is not between the years 1970 and 9999")
        } else if self.people.max(self.bots) > CLICKS_MAX {
            Some("it has more clicks than a process counts")
        } else {
            None
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
        // Eviction loses clicks that are not counted yet, as a flush does.
        let stream = stream.allow_eviction().open().await?;
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
    use super::{CLICKS_MAX, ClickEntry, DAYS, LINKS_ACCEPTED, LinkClicks};
    use crate::domain::DayNumber;

    fn link() -> LinkClicks {
        LinkClicks { code: "abc".into(), day: 20_000, people: CLICKS_MAX, bots: 0 }
    }

    fn entry(links: Vec<LinkClicks>) -> ClickEntry {
        ClickEntry { source: "0123456789abcdef".repeat(2), number: u64::MAX, links }
    }

    #[test]
    fn entry_within_its_limits_is_added() {
        for day in [DAYS.start, DAYS.end - 1] {
            let delta = entry(vec![link(), LinkClicks { day, ..link() }]).delta().unwrap();
            let (code, counted, counts) = &delta.clicks[1];
            assert_eq!((code.as_str(), *counted, counts.all()), ("abc", DayNumber(day), CLICKS_MAX));
            assert!(delta.entry.len() <= 255 && delta.entry.ends_with("/18446744073709551615"), "{}", delta.entry);
        }
        assert_eq!(DayNumber(DAYS.end - 1).date().to_string(), "9999-12-31");
        assert_eq!(entry(Vec::new()).delta().unwrap().clicks, []);
        assert_eq!(entry(vec![link(); LINKS_ACCEPTED]).delta().unwrap().clicks.len(), LINKS_ACCEPTED);
    }

    // shows: hazard S23
    #[test]
    fn malformed_entry_is_refused() {
        let source = |source: &str| ClickEntry { source: source.to_owned(), ..entry(vec![link()]) };
        for malformed in [source(""), source("a b"), source("\0"), source("\u{e4}"), source(&"x".repeat(65))] {
            assert!(malformed.delta().unwrap_err().starts_with("its source"), "{malformed:?}");
        }
        // One malformed link among others.
        let among = |link: LinkClicks| entry(vec![self::link(), link, self::link()]).delta().unwrap_err();
        for day in [i64::MIN, -1, DAYS.end, i64::MAX] {
            assert!(among(LinkClicks { day, ..link() }).starts_with("its day"), "{day}");
        }
        for clicks in [CLICKS_MAX + 1, u64::MAX] {
            assert!(among(LinkClicks { people: clicks, ..link() }).contains("more clicks"));
            assert!(among(LinkClicks { bots: clicks, ..link() }).contains("more clicks"));
        }
        for code in ["", "a/b", "\u{e4}"] {
            assert!(among(LinkClicks { code: code.into(), ..link() }).contains("codes"), "{code}");
        }
        assert!(entry(vec![link(); LINKS_ACCEPTED + 1]).delta().unwrap_err().contains("more than 4,096 links"));
    }
}
