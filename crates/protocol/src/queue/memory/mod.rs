//! The model: the steps of docs/spec/queue.md as a state machine behind a mutex. It is the embedded backend, an executable
//! specification, and the oracle with which the scripts are compared.

mod change;
mod enqueue;
mod grow;
mod look;
mod operate;
mod settle;
mod state;

use super::check;
use super::error::QueueError;
use super::job::JobId;
use super::steps::{
    Amend, Amended, Enqueued, Heartbeat, JobPosition, Kept, Limits, Listed, Looked, NewJob, Preview, Put, PutAnswer,
    QueueSteps, Receipt, Redrive, Redriven, Reschedule, Rescheduled, Rescue, Rescued, Revoked, SettleAndClaim, Settled,
    Shard, State, Stats, Tick, Ticked, Worker,
};
use async_trait::async_trait;
use bytes::Bytes;
use evenkeel_link::clock::Clock;
use evenkeel_link::support::guard;
use parking_lot::Mutex;
use state::ShardState;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::Notify;

/// The embedded backend: jobs within this process only. Cheap to clone; clones share the jobs.
///
/// Guarantee: the same replies as Redis. Not guaranteed: anything after the process ends; the counters of an empty topic among more
/// than a thousand topics.
#[derive(Clone)]
pub struct MemoryQueue(Arc<Inner>);

struct Inner {
    shards: Mutex<Shards>,
    clock: Clock,
    /// Signals that some shard has markers.
    marked: Notify,
}

/// All shards with state.
#[derive(Default)]
struct Shards {
    all: HashMap<Shard, ShardState>,
    /// The number of shards at which empty ones are removed.
    look_at: usize,
}

/// Up to this many shards are kept even if they are empty.
const SHARDS_MIN: usize = 1024;

impl Shards {
    /// The shard; removes empty shards first if a new one would exceed the limit.
    fn get(&mut self, shard: &Shard, now: u64) -> &mut ShardState {
        if self.all.len() >= self.look_at.max(SHARDS_MIN) && !self.all.contains_key(shard) {
            self.all.retain(|_, state| {
                state.sweep(now);
                !state.is_empty(now) && guard("model_empty_forgotten")
            });
            self.look_at = 2 * self.all.len();
        }
        self.all.entry(shard.clone()).or_insert_with(|| ShardState::numbered(shard.number()))
    }
}

impl MemoryQueue {
    /// An empty backend. Its server time is the clock's wall clock.
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        Self(Arc::new(Inner { shards: Mutex::default(), clock, marked: Notify::new() }))
    }

    /// Runs one step on one shard. A step calls no foreign code, so the lock is held for the step only.
    fn step<T>(&self, shard: &Shard, step: impl FnOnce(&mut ShardState, u64) -> T) -> T {
        let now = self.0.clock.unix_ms();
        let mut shards = self.0.shards.lock();
        let state = shards.get(shard, now);
        state.sweep(now);
        let answer = step(state, now);
        if state.markers > 0 {
            self.0.marked.notify_waiters();
        }
        answer
    }
}

fn pop_marker(state: &mut ShardState) -> bool {
    let found = state.markers > 0;
    state.markers = state.markers.saturating_sub(1);
    found
}

#[async_trait]
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

    async fn heartbeat(&self, shard: &Shard, heartbeat: &Heartbeat) -> Result<Vec<bool>, QueueError> {
        check::heartbeat(heartbeat)?;
        Ok(self.step(shard, |state, now| state.heartbeat(now, heartbeat)))
    }

    async fn progress(&self, shard: &Shard, receipt: &Receipt, progress: Bytes) -> Result<bool, QueueError> {
        check::progress(&progress)?;
        Ok(self.step(shard, |state, _| state.progress(receipt, progress)))
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

    async fn amend(&self, shard: &Shard, amend: &Amend) -> Result<Amended, QueueError> {
        Ok(self.step(shard, |state, now| state.amend(now, amend)))
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

    async fn jobs(&self, shard: &Shard, ids: &[JobId]) -> Result<Vec<Looked>, QueueError> {
        check::items(ids.len())?;
        Ok(self.step(shard, |state, now| ids.iter().map(|id| Ok(state.found(now, *id))).collect()))
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

    async fn newest(
        &self,
        shard: &Shard,
        state: State,
        before: Option<Listed>,
        limit: usize,
    ) -> Result<Vec<Listed>, QueueError> {
        check::list(limit)?;
        Ok(self.step(shard, |shard, _| shard.newest(state, before, limit)))
    }

    async fn previews(&self, shard: &Shard, ids: &[JobId], bytes: usize) -> Result<Vec<Option<Preview>>, QueueError> {
        check::previews(ids.len(), bytes)?;
        Ok(self.step(shard, |state, now| ids.iter().map(|id| state.preview(now, *id, bytes)).collect()))
    }

    async fn position(&self, shard: &Shard, id: JobId, bytes: usize) -> Result<JobPosition, QueueError> {
        check::previews(1, bytes)?;
        Ok(self.step(shard, |state, now| state.position(now, id, bytes)))
    }

    async fn kept(&self, shard: &Shard, worker: Worker) -> Result<Option<Kept>, QueueError> {
        Ok(self.step(shard, |state, _| state.kept(worker)))
    }

    async fn stats(&self, shard: &Shard) -> Result<Stats, QueueError> {
        Ok(self.step(shard, |state, now| state.stats(now)))
    }

    async fn pop_marker(&self, shard: &Shard) -> Result<bool, QueueError> {
        Ok(self.step(shard, |state, _| pop_marker(state)))
    }

    async fn marker(&self, shard: &Shard) {
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

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed unwrap is the failure the test reports")]

    use super::{MemoryQueue, SHARDS_MIN};
    use crate::queue::job::{End, JobId, JobSpec, Retention, Unique, UniqueKey};
    use crate::queue::steps::{Enqueued, ITEMS_MAX, Limits, NewJob, QueueSteps, Shard, When};
    use bytes::Bytes;
    use evenkeel_link::clock::TestClock;
    use std::time::Duration;

    const HOUR: u64 = 3_600_000;

    fn job(number: u64) -> NewJob {
        let name = number.to_be_bytes();
        let unique = Some(Unique { key: UniqueKey::new(&name), window_ms: HOUR });
        let spec = JobSpec { unique, retention: Retention::AfterEnd(HOUR), ..JobSpec::new(Bytes::new()) };
        NewJob { id: JobId::named(&name), when: When::In(0), spec }
    }

    /// Regression: a topic for each tenant used memory without limit, even for topics that were unused for years.
    #[tokio::test]
    async fn empty_shard_is_forgotten_among_many() {
        let clock = TestClock::default();
        let queue = MemoryQueue::new(clock.clock());
        let shard = |number: usize| Shard::new("t", &format!("tenant-{number}"), 0);
        let plain = |number| NewJob { spec: JobSpec::new(Bytes::new()), ..job(number) };
        queue.enqueue(&shard(0), &[plain(0)]).await.unwrap();
        queue.pause(&shard(1), None).await.unwrap();
        queue.set_limits(&shard(2), Limits { jobs_max: Some(0), bytes_max: None }).await.unwrap();
        queue.enqueue(&shard(3), &[job(3)]).await.unwrap();
        queue.revoke(&shard(3), &[job(3).id]).await.unwrap();
        for number in 4..5 * SHARDS_MIN {
            queue.stats(&shard(number)).await.unwrap();
        }
        let known = queue.0.shards.lock().all.len();
        assert!(known <= SHARDS_MIN + 4, "{known} shards are stored");
        assert_eq!(queue.stats(&shard(0)).await.unwrap().waiting(), 1);
        assert!(queue.stats(&shard(1)).await.unwrap().paused_until.is_some());
        assert_eq!(queue.enqueue(&shard(2), &[plain(2)]).await.unwrap(), [Enqueued::Full]);
        assert_eq!(queue.enqueue(&shard(3), &[job(3)]).await.unwrap(), [Enqueued::Ended(End::Revoked)]);
    }

    /// Regression: a step removed only sixteen expired records and may add five hundred, so a bulk sender's unique keys were never removed.
    #[tokio::test]
    async fn expired_records_are_removed_as_fast_as_added() {
        let clock = TestClock::default();
        let queue = MemoryQueue::new(clock.clock());
        let shard = Shard::new("t", "bulk", 0);
        let mut most = 0;
        for call in 0..40_u64 {
            let jobs: Vec<NewJob> = (0..ITEMS_MAX as u64).map(|number| job(call * ITEMS_MAX as u64 + number)).collect();
            let ids: Vec<JobId> = jobs.iter().map(|job| job.id).collect();
            queue.enqueue(&shard, &jobs).await.unwrap();
            queue.revoke(&shard, &ids).await.unwrap();
            clock.advance(Duration::from_millis(HOUR));
            most = most
                .max(queue.step(&shard, |state, _| state.records.len() + state.unique.len() + state.expiries.len()));
        }
        // Each is stored for two more hours: a completion record, its expiry, and the expiry of its key.
        assert!(most <= 3 * 3 * ITEMS_MAX, "{most} records are stored");
    }
}
