//! Enqueueing: `enqueue`, `tick` and `put`.

use super::state::{Expiring, ShardState, due_at, retain_until};
use crate::queue::job::{CompletionRecord, End, Job, JobId, JobSpec};
use crate::queue::record::encoded_len;
use crate::queue::steps::{Enqueued, NewJob, Put, PutAnswer, PutChange, State, Tick, Ticked};
use evenkeel_link::support::guard;

impl ShardState {
    pub(crate) fn enqueue(&mut self, now: u64, jobs: &[NewJob]) -> Vec<Enqueued> {
        let answers = jobs.iter().map(|job| self.enqueue_one(now, job)).collect();
        self.announce(now);
        answers
    }

    fn enqueue_one(&mut self, now: u64, new: &NewJob) -> Enqueued {
        if let Some((_, state, _)) = self.live(new.id) {
            return if state == State::Dead { Enqueued::Dead } else { Enqueued::Duplicate };
        }
        if let Some(completion) = self.completion(new.id, now) {
            return Enqueued::Ended(completion.end);
        }
        if self.elsewhere(new.id).is_some()
            || (new.spec.unique.is_some() && self.shards.is_some_and(|shards| shards > 1))
        {
            return Enqueued::Elsewhere;
        }
        if let Some(unique) = new.spec.unique
            && let Some((until, owner)) = self.unique.get(&unique.key)
            && *until > now
        {
            return Enqueued::Taken(*owner);
        }
        let due = due_at(new.when, now).max(now);
        let job = Box::new(Job::accepted(new.spec.clone(), now, due));
        let bytes = u64::try_from(encoded_len(&job)).unwrap_or(u64::MAX);
        if self.limits.jobs_max.is_some_and(|jobs_max| self.working() >= jobs_max)
            || self.limits.bytes_max.is_some_and(|bytes_max| self.bytes + bytes > bytes_max)
        {
            return Enqueued::Full;
        }
        if let Some(unique) = new.spec.unique {
            self.unique.insert(unique.key, (now + unique.window_ms, new.id));
            self.expiries.insert((now + unique.window_ms, Expiring::Unique(unique.key)));
        }
        self.wait(new.id, job, due);
        self.totals.created += 1;
        Enqueued::Created
    }

    pub(crate) fn tick(&mut self, now: u64, tick: &Tick) -> Ticked {
        let held = self.schedules.get(&tick.schedule).copied();
        if held.is_none() && self.elsewhere(JobId(tick.schedule)).is_some() {
            return Ticked::OtherShard;
        }
        if held != tick.seen {
            return Ticked::Elsewhere(held);
        }
        for new in &tick.jobs {
            if self.live(new.id).is_none() {
                let due = due_at(new.when, now);
                self.wait(new.id, Box::new(Job::accepted(new.spec.clone(), now, due)), due);
                self.totals.created += 1;
            }
        }
        self.schedules.insert(tick.schedule, tick.last);
        self.announce(now);
        Ticked::Moved
    }

    pub(crate) fn put(&mut self, now: u64, puts: &[Put]) -> Vec<PutAnswer> {
        let answers = puts.iter().map(|put| self.put_one(now, put)).collect();
        self.announce(now);
        answers
    }

    fn put_one(&mut self, now: u64, put: &Put) -> PutAnswer {
        let live = self.live(put.id).map(|(job, _, _)| job.spec.version.unwrap_or(0));
        match live.or_else(|| self.completion(put.id, now).map(|completion| completion.version)) {
            Some(stored) if put.version < stored => return PutAnswer::Superseded,
            Some(stored) if put.version == stored => return PutAnswer::Applied,
            None if self.elsewhere(put.id).is_some() => return PutAnswer::Elsewhere,
            _ => {}
        }
        let earlier = self.take(put.id);
        if let Some(earlier) = &earlier {
            self.free_unique(put.id, earlier);
        }
        // A worker may still run the older version: later fencing tokens stay above its token, and a later revocation reports it.
        let lease_expired = earlier.as_ref().is_some_and(|job| job.lease_expired || job.token.is_some());
        let accepted = |spec: &JobSpec, errors, at| {
            let spec = JobSpec { version: Some(put.version), ..spec.clone() };
            let fence = earlier.as_ref().map_or(0, |job| job.fence);
            Box::new(Job { lease_expired, fence, errors, ..Job::accepted(spec, now, at) })
        };
        match &put.change {
            PutChange::Job(when, spec) => {
                let due = due_at(*when, now);
                self.wait(put.id, accepted(spec, 0, due), due);
                self.totals.created += 1;
            }
            PutChange::Restored(restored) => {
                let job = accepted(&restored.spec, restored.errors, restored.at);
                if restored.is_dead && guard("model_put_restores_dead") {
                    self.place(put.id, job, State::Dead, restored.at);
                } else {
                    self.wait(put.id, job, restored.at);
                }
                self.totals.created += 1;
            }
            PutChange::Withdraw(retention) => {
                let end = if lease_expired { End::RevokedAfterLeaseExpiry } else { End::Revoked };
                let until = retain_until(*retention, end, now, now);
                self.record_completion(put.id, CompletionRecord { end, until, version: put.version, ended_at: now });
                self.totals.revoked += 1;
            }
        }
        PutAnswer::Applied
    }
}
