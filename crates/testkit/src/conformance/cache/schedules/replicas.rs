//! The row on its primary and on replicas that lag.

use crate::conformance::cache::player::{LAG_MS, loaded};
use evenkeel_protocol::cache::steps::{Fill, Grant};
use rand::Rng;
use rand::rngs::StdRng;

/// How far the replicas lag that each loader reads; 0: it reads the primary.
pub(super) const LAGS_MS: [u64; 4] = [0, LAG_MS, LAG_MS, 3 * LAG_MS];

/// The versions of the row, with the time of their commits.
#[derive(Debug, Default)]
pub(super) struct Commits(Vec<(u64, u64)>);

/// What a loader has read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    version: u64,
    /// 0: from the primary.
    replica_lag_ms: u64,
}

impl Commits {
    pub(super) fn add(&mut self, now_ms: u64, version: u64) {
        self.0.push((now_ms, version));
    }

    /// What a loader reads: from its replica, unless the primary is required. A replica lags as far as it may, or less.
    pub(super) fn read(&self, newest: u64, lag_ms: u64, grant: Grant, now_ms: u64, random: &mut StdRng) -> Row {
        if lag_ms == 0 || grant.primary_required {
            return Row { version: newest, replica_lag_ms: 0 };
        }
        let behind_ms = if random.random_bool(0.5) { lag_ms } else { random.random_range(0..=lag_ms) };
        let seen = self.0.iter().rev().find(|(at_ms, _)| at_ms + behind_ms <= now_ms);
        Row { version: seen.map_or(1, |(_, version)| *version), replica_lag_ms: lag_ms }
    }
}

impl Row {
    /// From a primary without replicas.
    pub(super) fn newest(version: u64) -> Self {
        Self { version, replica_lag_ms: 0 }
    }

    /// Its fill. An absent row has no version.
    pub(super) fn fill(self, grant: Grant, knows_versions: bool) -> Fill {
        let absent = knows_versions && is_deletion(self.version);
        Fill {
            absent,
            version: (knows_versions && !absent).then_some(self.version),
            replica_lag_ms: self.replica_lag_ms,
            ..loaded(grant, &self.version.to_string())
        }
    }
}

/// Whether a version is the absence of the row.
fn is_deletion(version: u64) -> bool {
    version.is_multiple_of(4)
}
