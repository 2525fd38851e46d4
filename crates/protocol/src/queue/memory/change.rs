//! Steps on jobs that the caller has not leased: `revoke`, `reschedule`, `rescue`.

use super::state::{ShardState, due_at, note_error};
use crate::queue::job::{End, ErrorClass, Job, JobId, JobSpec, Retries};
use crate::queue::steps::{
    CRASH_DELAY_MS_MAX, Fate, Reschedule, Rescheduled, Rescue, Rescued, Revoked, State, Verdict, WORKER_SILENT_MS,
    Worker,
};
use bytes::Bytes;
use evenkeel_link::support::guard;

/// The maximum number of unresponsive workers that one rescue removes.
const WORKERS_FORGOTTEN_MAX: usize = 100;

impl ShardState {
    pub(crate) fn revoke(&mut self, now: u64, ids: &[JobId]) -> Vec<Revoked> {
        let lease_now = self.lease_clock(now);
        ids.iter().map(|id| self.revoke_one(now, lease_now, *id)).collect()
    }

    fn revoke_one(&mut self, now: u64, lease_now: u64, id: JobId) -> Revoked {
        match self.live(id) {
            Some((_, State::Dead, _)) => return Revoked::Dead,
            Some((_, State::Leased, deadline)) if deadline > lease_now => return Revoked::Running,
            Some(_) => {}
            None => {
                return match self.completion(id, now).map(|completion| completion.end) {
                    Some(End::Revoked) => Revoked::Revoked,
                    Some(End::RevokedAfterLeaseExpiry) => Revoked::RevokedAfterLeaseExpiry,
                    Some(end) => Revoked::Ended(end),
                    None => Revoked::Unknown,
                };
            }
        }
        let Some(job) = self.take(id) else { return Revoked::Unknown };
        let lease_expired = job.lease_expired || job.token.is_some();
        self.end(id, &job, if lease_expired { End::RevokedAfterLeaseExpiry } else { End::Revoked }, now);
        if lease_expired { Revoked::RevokedAfterLeaseExpiry } else { Revoked::Revoked }
    }

    pub(crate) fn reschedule(&mut self, now: u64, changes: &[Reschedule]) -> Vec<Rescheduled> {
        let lease_now = self.lease_clock(now);
        let answers = changes.iter().map(|change| self.reschedule_one(now, lease_now, change)).collect();
        self.announce(now);
        answers
    }

    fn reschedule_one(&mut self, now: u64, lease_now: u64, change: &Reschedule) -> Rescheduled {
        let (state, score) = match self.live(change.id) {
            Some((_, State::Dead, _)) => return Rescheduled::Dead,
            Some((_, State::Leased, deadline)) if deadline > lease_now => return Rescheduled::Running,
            Some((_, state, score)) => (state, score),
            None => {
                return self
                    .completion(change.id, now)
                    .map_or(Rescheduled::Unknown, |completion| Rescheduled::Ended(completion.end));
            }
        };
        if let (Some(body), Some((job, _, _))) = (&change.body, self.live(change.id)) {
            let edited = JobSpec { body: body.clone(), codec: change.codec, ..job.spec.clone() };
            if self.is_above_limit(job, edited) {
                return Rescheduled::Full;
            }
        }
        let Some(mut job) = self.take(change.id) else { return Rescheduled::Unknown };
        job.lease_expired |= job.token.is_some();
        let due = match (change.when, state) {
            (Some(when), _) => due_at(when, now).max(now),
            (None, State::Waiting(_)) => score,
            (None, _) => now,
        };
        if change.when.is_some() {
            job.expires_at = job.spec.late_ms_max.map(|late| due + late);
        }
        if let Some(body) = &change.body {
            job.spec.body = body.clone();
            if guard("model_edit_names_codec") {
                job.spec.codec = change.codec;
            }
        }
        let lease_expired = job.lease_expired;
        self.wait(change.id, job, due);
        if lease_expired { Rescheduled::ChangedAfterLeaseExpiry } else { Rescheduled::Changed }
    }

    pub(crate) fn rescue(&mut self, now: u64, rescue: Rescue) -> Rescued {
        let lease_now = self.lease_clock(now);
        let lease_expired = self.leased.iter().take_while(|(deadline, _)| *deadline <= lease_now);
        let lease_expired: Vec<JobId> = lease_expired.take(rescue.limit).map(|(_, id)| *id).collect();
        let mut jobs = Vec::with_capacity(lease_expired.len());
        for id in lease_expired {
            if let Some(job) = self.take(id) {
                jobs.push((id, self.rescue_one(now, id, job, rescue)));
            }
        }
        self.announce(now);
        self.forget_silent_workers(lease_now);
        let next_lease_expiry_ms = self.leased.first().map(|(deadline, _)| deadline.saturating_sub(lease_now));
        Rescued { jobs, next_lease_expiry_ms }
    }

    fn rescue_one(&mut self, now: u64, id: JobId, mut job: Box<Job>, rescue: Rescue) -> Fate {
        job.lease_expired = true;
        let is_shielded = job.shielded && job.spec.retries != Retries::Limited(0) && guard("model_shield");
        if !job.started || is_shielded {
            job.lease_expiries = job.lease_expiries.saturating_add(1);
            note_error(&mut job, now, ErrorClass::LeaseExpired, &Bytes::new());
            self.wait(id, job, now);
            self.totals.lease_expired += 1;
            return Fate::LeaseExpired;
        }
        job.crashes = job.crashes.saturating_add(1);
        job.errors = job.errors.saturating_add(1);
        note_error(&mut job, now, ErrorClass::Crashed, &Bytes::new());
        self.totals.crashed += 1;
        let is_alone = job.alone || !guard("model_dies_alone");
        let exhausted = matches!(job.spec.retries, Retries::Limited(retries) if job.errors > retries || (job.crashes >= rescue.crash_max && is_alone));
        let row_decides = rescue.row_decides && job.spec.version.is_some();
        if exhausted && !row_decides {
            let discard = job.spec.discard_exhausted;
            return match self.dead_letter(id, job, discard, now) {
                Verdict::Discarded => Fate::Discarded,
                _ => Fate::Died,
            };
        }
        let doubled = rescue.crash_delay_ms.saturating_mul(1 << u32::from(job.crashes - 1).min(30));
        self.wait_after_crash(id, job, now + doubled.min(CRASH_DELAY_MS_MAX));
        Fate::Crashed
    }

    fn forget_silent_workers(&mut self, lease_now: u64) {
        let silent = |seen: u64| seen + WORKER_SILENT_MS <= lease_now;
        let mut workers: Vec<(u64, Worker)> =
            self.workers.iter().filter(|(_, seen)| silent(**seen)).map(|(worker, seen)| (*seen, *worker)).collect();
        workers.sort_by_key(|(seen, worker)| (*seen, worker.0));
        for (_, worker) in workers.into_iter().take(WORKERS_FORGOTTEN_MAX) {
            self.workers.remove(&worker);
            self.answers.remove(&worker);
        }
    }
}
