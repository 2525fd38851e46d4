//! The database of the demonstration, which also detects stale reads.

use evenkeel::clock::{Clock, Moment};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// The version of a row; 0 before the first write.
pub(super) type Version = u64;

/// One table of versioned rows, with a lagging replica, and the acknowledgements of writes.
pub(super) struct Simulation {
    clock: Clock,
    tables: Mutex<Tables>,
}

#[derive(Default)]
struct Tables {
    /// The versions of a row with their commit times, oldest first.
    committed: HashMap<u64, Vec<(Version, Moment)>>,
    /// The versions of a row with the times at which their writes were acknowledged.
    acknowledged: HashMap<u64, Vec<(Version, Moment)>>,
    next_version: Version,
    loads: u64,
    loads_now: u64,
    loads_at_once_max: u64,
}

/// The behavior of the database for one load.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    /// The time from reading the row until the loader has it: a long query, a paused process, a slow network.
    pub(super) takes: Duration,
    /// The replication lag of the server; zero for the primary.
    pub(super) lag: Duration,
}

impl Simulation {
    /// An empty table, on the simulated clock.
    #[must_use]
    pub(super) fn new(clock: Clock) -> Arc<Self> {
        Arc::new(Self { clock, tables: Mutex::default() })
    }

    /// The simulated clock.
    #[must_use]
    pub(super) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Reads a row: takes the snapshot at once, and returns it later.
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

    /// The version of the next write.
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

    /// Records the acknowledgement of a version: reads that begin later must not return an older one.
    pub(super) fn acknowledge(&self, key: u64, version: Version) {
        let now = self.clock.now();
        self.lock().acknowledged.entry(key).or_default().push((version, now));
    }

    /// The staleness of a read that began at `began` and returned `version`; `None` if it is not stale.
    #[must_use]
    pub(super) fn staleness(&self, key: u64, version: Version, began: Moment) -> Option<Duration> {
        let tables = self.lock();
        let newer = tables.acknowledged.get(&key)?.iter().find(|(newer, at)| *newer > version && *at < began)?;
        Some(began.since(newer.1))
    }

    /// Whether a version was ever committed.
    #[must_use]
    pub(super) fn was_committed(&self, key: u64, version: Version) -> bool {
        let tables = self.lock();
        version == 0 || tables.committed.get(&key).is_some_and(|rows| rows.iter().any(|(seen, _)| *seen == version))
    }

    /// The number of loads, and the maximum number of concurrent ones.
    #[must_use]
    pub(super) fn loads(&self) -> (u64, u64) {
        let tables = self.lock();
        (tables.loads, tables.loads_at_once_max)
    }

    fn lock(&self) -> parking_lot::MutexGuard<'_, Tables> {
        self.tables.lock()
    }
}
