//! Steps on jobs that the caller has not leased: `revoke`, `reschedule`, `rescue`.

use super::state::{ShardState, due_at, note_error};
use crate::queue::job::{End, ErrorClass, Job, JobId, Retries};
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
                return match self.stamp(id, now).map(|stamp| stamp.end) {
                    Some(End::Revoked) => Revoked::Revoked,
                    Some(End::RevokedAfterLapse) => Revoked::RevokedAfterLapse,
                    Some(end) => Revoked::Ended(end),
                    None => Revoked::Unknown,
                };
            }
        }
        let Some(job) = self.take(id) else { return Revoked::Unknown };
        let lapsed = job.lapsed || job.token.is_some();
        self.end(id, &job, if lapsed { End::RevokedAfterLapse } else { End::Revoked }, now);
        if lapsed { Revoked::RevokedAfterLapse } else { Revoked::Revoked }
    }

    pub(crate) fn reschedule(&mut self, now: u64, changes: &[Reschedule]) -> Vec<Rescheduled> {
        let lease_now = self.lease_clock(now);
        let before = self.earliest();
        let answers = changes.iter().map(|change| self.reschedule_one(now, lease_now, change)).collect();
        self.leave_markers(now, before);
        answers
    }

    fn reschedule_one(&mut self, now: u64, lease_now: u64, change: &Reschedule) -> Rescheduled {
        let (state, score) = match self.live(change.id) {
            Some((_, State::Dead, _)) => return Rescheduled::Dead,
            Some((_, State::Leased, deadline)) if deadline > lease_now => return Rescheduled::Running,
            Some((_, state, score)) => (state, score),
            None => {
                return self.stamp(change.id, now).map_or(Rescheduled::Unknown, |stamp| Rescheduled::Ended(stamp.end));
            }
        };
        let Some(mut job) = self.take(change.id) else { return Rescheduled::Unknown };
        job.lapsed |= job.token.is_some();
        let due = match (change.when, state) {
            (Some(when), _) => due_at(when, now),
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
        let lapsed = job.lapsed;
        self.wait(change.id, job, due);
        if lapsed { Rescheduled::ChangedAfterLapse } else { Rescheduled::Changed }
    }

    pub(crate) fn rescue(&mut self, now: u64, rescue: Rescue) -> Rescued {
        let lease_now = self.lease_clock(now);
        let before = self.earliest();
        let lapsed = self.leased.iter().take_while(|(deadline, _)| *deadline <= lease_now);
        let lapsed: Vec<JobId> = lapsed.take(rescue.limit).map(|(_, id)| *id).collect();
        let mut jobs = Vec::with_capacity(lapsed.len());
        for id in lapsed {
            if let Some(job) = self.take(id) {
                jobs.push((id, self.rescue_one(now, id, job, rescue)));
            }
        }
        self.leave_markers(now, before);
        self.forget_silent_workers(lease_now);
        let next_lapse_ms = self.leased.first().map(|(deadline, _)| deadline.saturating_sub(lease_now));
        Rescued { jobs, next_lapse_ms }
    }

    fn rescue_one(&mut self, now: u64, id: JobId, mut job: Box<Job>, rescue: Rescue) -> Fate {
        job.lapsed = true;
        let is_shielded = job.shielded && job.spec.retries != Retries::Limited(0) && guard("model_shield");
        if !job.started || is_shielded {
            job.lapses = job.lapses.saturating_add(1);
            note_error(&mut job, now, ErrorClass::Lapsed, &Bytes::new());
            self.wait(id, job, now);
            self.totals.lapsed += 1;
            return Fate::Lapsed;
        }
        job.crashes = job.crashes.saturating_add(1);
        job.errors = job.errors.saturating_add(1);
        note_error(&mut job, now, ErrorClass::Crashed, &Bytes::new());
        self.totals.crashed += 1;
        let is_alone = job.alone || !guard("model_dies_alone");
        let exhausted = matches!(job.spec.retries, Retries::Limited(retries) if job.errors > retries || (job.crashes >= rescue.crash_max && is_alone));
        let is_judged = rescue.is_judged && job.spec.version.is_some();
        if exhausted && !is_judged {
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
        let silent = |heard: u64| heard + WORKER_SILENT_MS <= lease_now;
        let mut workers: Vec<(u64, Worker)> =
            self.workers.iter().filter(|(_, heard)| silent(**heard)).map(|(worker, heard)| (*heard, *worker)).collect();
        workers.sort_by_key(|(heard, worker)| (*heard, worker.0));
        for (_, worker) in workers.into_iter().take(WORKERS_FORGOTTEN_MAX) {
            self.workers.remove(&worker);
            self.answers.remove(&worker);
        }
    }
}
