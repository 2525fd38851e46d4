//! The database of the demonstration, and the judge who knows what every reader should have seen.

use evenkeel::clock::{Clock, Moment};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A row's version; 0 is the row as it was before the first write.
pub(super) type Version = u64;

/// One table of versioned rows, with a replica that lags behind, and what the writers were told.
pub(super) struct World {
    clock: Clock,
    tables: Mutex<Tables>,
}

#[derive(Default)]
struct Tables {
    /// Versions of a row with the moment each was committed, oldest first.
    committed: HashMap<u64, Vec<(Version, Moment)>>,
    /// Versions of a row with the moment their writer was told that the write is done.
    acknowledged: HashMap<u64, Vec<(Version, Moment)>>,
    next_version: Version,
    loads: u64,
    loads_now: u64,
    loads_at_once_max: u64,
}

/// How the database answers one load.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    /// From the moment the row is read to the moment the loader has it: a long query, a paused process, a slow network.
    pub(super) takes: Duration,
    /// How far behind the server that answers is; zero for the primary.
    pub(super) lag: Duration,
}

impl World {
    /// An empty table, on a clock that the demonstration moves.
    #[must_use]
    pub(super) fn new(clock: Clock) -> Arc<Self> {
        Arc::new(Self { clock, tables: Mutex::default() })
    }

    /// The time everything here happens in.
    #[must_use]
    pub(super) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Reads a row: the snapshot is taken at once, the answer arrives later.
    pub(super) async fn select(&self, key: u64, load: Load) -> Version {
        let now = self.clock.now();
        let version = {
            let mut tables = self.lock();
            tables.loads += 1;
            tables.loads_now += 1;
            tables.loads_at_once_max = tables.loads_at_once_max.max(tables.loads_now);
            let visible = |at: Moment| at + load.lag <= now;
            let rows = tables.committed.get(&key);
            rows.and_then(|rows| rows.iter().rev().find(|(_, at)| visible(*at))).map_or(0, |(version, _)| *version)
        };
        self.clock.sleep(load.takes).await;
        self.lock().loads_now -= 1;
        version
    }

    /// The version the next write will carry.
    pub(super) fn draw_version(&self) -> Version {
        let mut tables = self.lock();
        tables.next_version += 1;
        tables.next_version
    }

    /// Commits a version of a row.
    pub(super) fn commit(&self, key: u64, version: Version) {
        let now = self.clock.now();
        self.lock().committed.entry(key).or_default().push((version, now));
    }

    /// Notes that the writer of a version was told that its write is done: from here on nobody should see an older one.
    pub(super) fn acknowledge(&self, key: u64, version: Version) {
        let now = self.clock.now();
        self.lock().acknowledged.entry(key).or_default().push((version, now));
    }

    /// Judges a read that began at `began` and returned `version`: how long it was behind, `None` if it was not.
    #[must_use]
    pub(super) fn staleness(&self, key: u64, version: Version, began: Moment) -> Option<Duration> {
        let tables = self.lock();
        let newer = tables.acknowledged.get(&key)?.iter().find(|(newer, at)| *newer > version && *at < began)?;
        Some(began.since(newer.1))
    }

    /// Whether a version was ever committed; a reader that saw another one saw a phantom.
    #[must_use]
    pub(super) fn was_committed(&self, key: u64, version: Version) -> bool {
        let tables = self.lock();
        version == 0 || tables.committed.get(&key).is_some_and(|rows| rows.iter().any(|(seen, _)| *seen == version))
    }

    /// Loads so far, and the most at once.
    #[must_use]
    pub(super) fn loads(&self) -> (u64, u64) {
        let tables = self.lock();
        (tables.loads, tables.loads_at_once_max)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
