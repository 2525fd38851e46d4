//! The model: the steps of docs/spec/queue.md as a plain state machine behind a mutex. It is the embedded backend, the
//! specification in code, and the oracle the scripts are compared with.

mod change;
mod enqueue;
mod grow;
mod operate;
mod settle;
mod state;

use super::check;
use super::error::QueueError;
use super::job::JobId;
use super::steps::{
    Beat, Enqueued, Found, Limits, Listed, NewJob, Put, PutAnswer, QueueSteps, Receipt, Redrive, Redriven, Reschedule,
    Rescheduled, Rescue, Rescued, Revoked, SettleAndClaim, Settled, Shard, State, Stats, Tick, Ticked,
};
use crate::clock::Clock;
use bytes::Bytes;
use state::ShardState;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;

/// The embedded backend: every shard in this process, gone with it. Cheap to clone; clones share the jobs.
///
/// Guarantee: the same answers as Redis gives. Not guaranteed: anything after the process ends.
#[derive(Clone)]
pub struct MemoryQueue(Arc<Inner>);

struct Inner {
    shards: Mutex<HashMap<Shard, ShardState>>,
    clock: Clock,
    /// Tells that some shard has markers.
    marked: Notify,
}

impl MemoryQueue {
    /// An empty one. Its server time is the clock's wall clock.
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        Self(Arc::new(Inner { shards: Mutex::default(), clock, marked: Notify::new() }))
    }

    /// Runs one step on one shard. No step calls out, so the lock is held for the step only.
    fn step<T>(&self, shard: &Shard, step: impl FnOnce(&mut ShardState, u64) -> T) -> T {
        let now = self.0.clock.unix_ms();
        let mut shards = self.0.shards.lock().unwrap_or_else(PoisonError::into_inner);
        let state = shards.entry(shard.clone()).or_insert_with(|| ShardState::numbered(shard.number()));
        state.sweep(now);
        let answer = step(state, now);
        if state.markers > 0 {
            self.0.marked.notify_waiters();
        }
        answer
    }

    /// Waits for a marker and takes it: what the blocking command of a consumer does on Redis.
    pub(super) async fn marker(&self, shard: &Shard) {
        loop {
            let mut marked = std::pin::pin!(self.0.marked.notified());
            marked.as_mut().enable();
            if self.step(shard, |state, _| pop_marker(state)) {
                return;
            }
            marked.await;
        }
    }
}

fn pop_marker(state: &mut ShardState) -> bool {
    let found = state.markers > 0;
    state.markers = state.markers.saturating_sub(1);
    found
}

impl QueueSteps for MemoryQueue {
    async fn enqueue(&self, shard: &Shard, jobs: &[NewJob]) -> Result<Vec<Enqueued>, QueueError> {
        check::new_jobs(jobs)?;
        Ok(self.step(shard, |state, now| state.enqueue(now, jobs)))
    }

    async fn put(&self, shard: &Shard, puts: &[Put]) -> Result<Vec<PutAnswer>, QueueError> {
        check::puts(puts)?;
        Ok(self.step(shard, |state, now| state.put(now, puts)))
    }

    async fn tick(&self, shard: &Shard, tick: &Tick) -> Result<Ticked, QueueError> {
        check::tick(tick)?;
        Ok(self.step(shard, |state, now| state.tick(now, tick)))
    }

    async fn settle_and_claim(&self, shard: &Shard, call: &SettleAndClaim) -> Result<Settled, QueueError> {
        check::settle_and_claim(call)?;
        Ok(self.step(shard, |state, now| state.settle_and_claim(now, call)))
    }

    async fn beat(&self, shard: &Shard, beat: &Beat) -> Result<Vec<bool>, QueueError> {
        check::beat(beat)?;
        Ok(self.step(shard, |state, now| state.beat(now, beat)))
    }

    async fn progress(&self, shard: &Shard, receipt: &Receipt, words: Bytes) -> Result<bool, QueueError> {
        check::progress(&words)?;
        Ok(self.step(shard, |state, _| state.progress(receipt, words)))
    }

    async fn piece(&self, shard: &Shard, id: JobId, from: u64, bytes: u64) -> Result<Bytes, QueueError> {
        check::piece(bytes)?;
        Ok(self.step(shard, |state, _| state.piece(id, from, bytes)))
    }

    async fn revoke(&self, shard: &Shard, ids: &[JobId]) -> Result<Vec<Revoked>, QueueError> {
        check::items(ids.len())?;
        Ok(self.step(shard, |state, now| state.revoke(now, ids)))
    }

    async fn reschedule(&self, shard: &Shard, changes: &[Reschedule]) -> Result<Vec<Rescheduled>, QueueError> {
        check::reschedules(changes)?;
        Ok(self.step(shard, |state, now| state.reschedule(now, changes)))
    }

    async fn rescue(&self, shard: &Shard, rescue: Rescue) -> Result<Rescued, QueueError> {
        check::items(rescue.limit)?;
        Ok(self.step(shard, |state, now| state.rescue(now, rescue)))
    }

    async fn redrive(&self, shard: &Shard, redrive: &Redrive) -> Result<Redriven, QueueError> {
        check::redrive(redrive)?;
        Ok(self.step(shard, |state, now| state.redrive(now, redrive)))
    }

    async fn forget(&self, shard: &Shard, ids: &[JobId]) -> Result<Vec<bool>, QueueError> {
        check::items(ids.len())?;
        Ok(self.step(shard, |state, now| state.forget(now, ids)))
    }

    async fn delete(&self, shard: &Shard, ids: &[JobId]) -> Result<Vec<bool>, QueueError> {
        check::items(ids.len())?;
        Ok(self.step(shard, |state, now| state.delete(now, ids)))
    }

    async fn purge(&self, shard: &Shard, state: State, limit: usize) -> Result<u64, QueueError> {
        check::purge(state, limit)?;
        Ok(self.step(shard, |shard, now| shard.purge(now, state, limit)))
    }

    async fn pause(&self, shard: &Shard, until: Option<u64>) -> Result<(), QueueError> {
        self.step(shard, |state, _| state.paused_until = Some(until.unwrap_or(u64::MAX)));
        Ok(())
    }

    async fn resume(&self, shard: &Shard) -> Result<(), QueueError> {
        self.step(shard, ShardState::resume);
        Ok(())
    }

    async fn set_limits(&self, shard: &Shard, limits: Limits) -> Result<(), QueueError> {
        self.step(shard, |state, _| state.limits = limits);
        Ok(())
    }

    async fn job(&self, shard: &Shard, id: JobId) -> Result<Option<Found>, QueueError> {
        Ok(self.step(shard, |state, now| state.found(now, id)))
    }

    async fn list(
        &self,
        shard: &Shard,
        state: State,
        after: Option<Listed>,
        limit: usize,
    ) -> Result<Vec<Listed>, QueueError> {
        check::list(limit)?;
        Ok(self.step(shard, |shard, _| shard.list(state, after, limit)))
    }

    async fn stats(&self, shard: &Shard) -> Result<Stats, QueueError> {
        Ok(self.step(shard, |state, now| state.stats(now)))
    }

    async fn pop_marker(&self, shard: &Shard) -> Result<bool, QueueError> {
        Ok(self.step(shard, |state, _| pop_marker(state)))
    }
}
