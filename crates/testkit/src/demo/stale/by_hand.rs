//! Hand-made caches: cache-aside and its variants, over a plain key-value store.

use super::contestant::{Contestant, Doing};
use super::schedule::Act;
use super::simulation::{Load, Simulation, Version};
use evenkeel::clock::Moment;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// What the writer does with the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OnWrite {
    /// Commit, then delete the key.
    CommitThenDelete,
    /// Delete the key, then commit.
    DeleteThenCommit,
    /// Set the new value, then commit.
    SetThenCommit,
    /// Commit, then set the new value.
    CommitThenSet,
    /// Delete, commit, and delete again after this long.
    DeleteTwice(Duration),
}

/// A hand-made cache. The flags select the faults of the schedule that apply to it.
pub(super) struct ByHand {
    /// The database, which also detects stale reads.
    pub(super) simulation: Arc<Simulation>,
    /// What the writer does with the cache.
    pub(super) on_write: OnWrite,
    /// TTL of a value; `None`: no expiry.
    pub(super) ttl: Option<Duration>,
    /// Loads read from the replica.
    pub(super) reads_replica: bool,
    /// Some cache commands of writers are lost.
    pub(super) loses_commands: bool,
    /// A fill replaces a stored value only if its version is higher.
    pub(super) compares_versions: bool,
    /// The stored entries: version and expiry.
    pub(super) store: Arc<Store>,
}

/// A plain key-value store with a TTL per value.
#[derive(Default)]
pub(super) struct Store(Mutex<HashMap<u64, (Version, Option<Moment>)>>);

impl ByHand {
    fn get(&self, key: u64) -> Option<Version> {
        let now = self.simulation.clock().now();
        let store = self.store.0.lock();
        store.get(&key).filter(|(_, ends)| ends.is_none_or(|ends| now < ends)).map(|(version, _)| *version)
    }

    fn set(&self, key: u64, version: Version) {
        let ends = self.ttl.map(|ttl| self.simulation.clock().now() + ttl);
        let newer_is_there = self.compares_versions && self.get(key).is_some_and(|stored| stored > version);
        if !newer_is_there {
            self.store.0.lock().insert(key, (version, ends));
        }
    }

    fn delete(&self, key: u64) {
        self.store.0.lock().remove(&key);
    }

    async fn load(&self, key: u64, load: Load) -> Version {
        let lag = if self.reads_replica { load.lag } else { Duration::ZERO };
        let version = self.simulation.select(key, Load { lag, ..load }).await;
        self.set(key, version);
        version
    }

    async fn change(&self, key: u64, takes: Duration, rolled_back: bool, redis_times_out: bool) {
        let version = self.simulation.draw_version();
        let arrives = !(self.loses_commands && redis_times_out);
        match self.on_write {
            OnWrite::DeleteThenCommit | OnWrite::DeleteTwice(_) if arrives => self.delete(key),
            OnWrite::SetThenCommit if arrives => self.set(key, version),
            _ => {}
        }
        self.simulation.clock().sleep(takes).await;
        if rolled_back {
            return;
        }
        self.simulation.commit(key, version);
        match self.on_write {
            OnWrite::CommitThenDelete if arrives => self.delete(key),
            OnWrite::CommitThenSet if arrives => self.set(key, version),
            OnWrite::DeleteTwice(delay) => {
                self.simulation.acknowledge(key, version);
                self.simulation.clock().sleep(delay).await;
                return self.delete(key);
            }
            _ => {}
        }
        self.simulation.acknowledge(key, version);
    }
}

impl Contestant for ByHand {
    fn read(&self, _process: usize, key: u64, load: Load) -> Doing<'_, Result<Version, String>> {
        Box::pin(async move {
            match self.get(key) {
                Some(version) => Ok(version),
                None => Ok(self.load(key, load).await),
            }
        })
    }

    fn write(&self, _process: usize, key: u64, act: Act) -> Doing<'_, ()> {
        Box::pin(async move {
            if let Act::Write { takes, rolled_back, redis_times_out } = act {
                self.change(key, takes, rolled_back, redis_times_out).await;
            }
        })
    }
}
