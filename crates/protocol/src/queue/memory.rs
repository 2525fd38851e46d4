//! The shards of an embedded store. What each step does to one is in the step's file.

use super::shard::ShardState;
use super::steps::Shard;
use evenkeel_link::support::guard;
use std::collections::HashMap;

/// All shards with state.
///
/// Not guaranteed: the counters of an empty topic among more than a thousand topics.
#[derive(Default)]
pub struct Shards {
    all: HashMap<Shard, ShardState>,
    /// The number of shards at which empty ones are removed.
    look_at: usize,
}

/// Up to this many shards are kept even if they are empty.
const SHARDS_MIN: usize = 1024;

impl Shards {
    /// The shard; removes empty shards first if a new one would exceed the limit.
    pub(super) fn get(&mut self, shard: &Shard, now: u64) -> &mut ShardState {
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

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed unwrap is the failure the test reports")]

    use super::SHARDS_MIN;
    use crate::queue::job::{End, JobId, JobSpec, Retention, Unique, UniqueKey};
    use crate::queue::steps::{
        Enqueue, Enqueued, ITEMS_MAX, Limits, NewJob, Pause, ReadStats, Revoke, SetLimits, Shard, When,
    };
    use crate::step::Memory;
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
    // shows: hazard AL2b, queue::Shards
    #[test]
    fn empty_shard_is_forgotten_among_many() {
        let clock = TestClock::default();
        let queue = Memory::<Shard>::new(clock.clock());
        let shard = |number: usize| Shard::new("t", &format!("tenant-{number}"), 0);
        let plain = |number| NewJob { spec: JobSpec::new(Bytes::new()), ..job(number) };
        queue.run(&shard(0), &Enqueue(vec![plain(0)])).unwrap();
        queue.run(&shard(1), &Pause(None)).unwrap();
        queue.run(&shard(2), &SetLimits(Limits { jobs_max: Some(0), bytes_max: None })).unwrap();
        queue.run(&shard(3), &Enqueue(vec![job(3)])).unwrap();
        queue.run(&shard(3), &Revoke(vec![job(3).id])).unwrap();
        for number in 4..5 * SHARDS_MIN {
            queue.run(&shard(number), &ReadStats).unwrap();
        }
        let known = queue.look(|shards, _| shards.all.len());
        assert!(known <= SHARDS_MIN + 4, "{known} shards are stored");
        assert_eq!(queue.run(&shard(0), &ReadStats).unwrap().waiting(), 1);
        assert!(queue.run(&shard(1), &ReadStats).unwrap().paused_until.is_some());
        assert_eq!(queue.run(&shard(2), &Enqueue(vec![plain(2)])).unwrap(), [Enqueued::Full]);
        assert_eq!(queue.run(&shard(3), &Enqueue(vec![job(3)])).unwrap(), [Enqueued::Ended(End::Revoked)]);
    }

    /// Regression: a step removed only sixteen expired records and may add five hundred, so a bulk sender's unique keys were never removed.
    // shows: hazard AL2a
    #[test]
    fn expired_records_are_removed_as_fast_as_added() {
        let clock = TestClock::default();
        let queue = Memory::<Shard>::new(clock.clock());
        let shard = Shard::new("t", "bulk", 0);
        let mut most = 0;
        for call in 0..40_u64 {
            let jobs: Vec<NewJob> = (0..ITEMS_MAX as u64).map(|number| job(call * ITEMS_MAX as u64 + number)).collect();
            let ids: Vec<JobId> = jobs.iter().map(|job| job.id).collect();
            queue.run(&shard, &Enqueue(jobs)).unwrap();
            queue.run(&shard, &Revoke(ids)).unwrap();
            clock.advance(Duration::from_millis(HOUR));
            queue.run(&shard, &ReadStats).unwrap();
            most = queue.look(|shards, _| {
                let state = &shards.all[&shard];
                most.max(state.records.len() + state.unique.len() + state.expiries.len())
            });
        }
        // Each is stored for two more hours: a completion record, its expiry, and the expiry of its key.
        assert!(most <= 3 * 3 * ITEMS_MAX, "{most} records are stored");
    }
}
