//! Replaces pooled connections after a failover.
//!
//! A connection survives the failover of its server, which is a replica then and refuses writes, for as long as the pool keeps it. New
//! connections reach the new primary.

use super::Refusal;
use parking_lot::Mutex;
use std::time::{Duration, Instant};

/// When a server last refused a write because it is read-only. A process has one database.
static READ_ONLY_AT: Mutex<Option<Instant>> = Mutex::new(None);

/// At most once in this time all connections are replaced: a server that stays read-only still answers reads.
const PAUSE: Duration = Duration::from_secs(1);

/// Learns from an error of a statement whether the pooled connections have to be replaced.
pub fn note_failover(error: &sqlx::Error) {
    if Refusal::of(error) != Some(Refusal::ReadOnly) {
        return;
    }
    let mut at = READ_ONLY_AT.lock();
    if at.is_none_or(|at| at.elapsed() > PAUSE) {
        tracing::warn!("the database is read-only, as after a failover: replacing all connections");
        *at = Some(Instant::now());
    }
}

/// Whether a connection of this age is from before the last refusal.
pub(super) fn is_outdated(age: Duration) -> bool {
    READ_ONLY_AT.lock().is_some_and(|at| age >= at.elapsed())
}
