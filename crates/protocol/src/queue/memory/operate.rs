//! Operator steps: `amend`, `redrive`, `forget`, `delete`, `purge`, `resume`.

use super::state::{Expiring, Record, RedriveState, ShardState};
use crate::queue::job::{End, FORGET_MS, JobId, JobSpec, Note, Retention};
use crate::queue::steps::{Amend, Amended, Redrive, RedriveVerdict, Redriven, State};
use evenkeel_link::support::guard;

/// How long a redrive is stored after its last call.
const REDRIVE_RETENTION_MS: u64 = 7 * 24 * 3_600_000;

impl ShardState {
    pub(crate) fn amend(&mut self, now: u64, amend: &Amend) -> Amended {
        let (job, state, score) = match self.live(amend.id) {
            Some((_, state, _)) if state != State::Dead && guard("model_amend_dead") => return Amended::NotDead,
            Some(found) => found,
            None => {
                return self
                    .completion(amend.id, now)
                    .map_or(Amended::Unknown, |completion| Amended::Ended(completion.end));
            }
        };
        if job.spec.body == amend.body && job.spec.codec == amend.codec {
            return Amended::Changed;
        }
        if job.spec.body != amend.seen && guard("model_amend_seen") {
            return Amended::Other;
        }
        let amended = JobSpec { body: amend.body.clone(), codec: amend.codec, ..job.spec.clone() };
        if self.is_above_limit(job, amended) {
            return Amended::Full;
        }
        let Some(mut job) = self.take(amend.id) else { return Amended::Unknown };
        (job.spec.body, job.spec.codec) = (amend.body.clone(), amend.codec);
        self.place(amend.id, job, state, score);
        Amended::Changed
    }

    pub(crate) fn redrive(&mut self, now: u64, call: &Redrive) -> Redriven {
        let retain_until = now + REDRIVE_RETENTION_MS;
        let kept = self.redrives.get(&call.redrive).filter(|kept| kept.retain_until > now);
        let (cutoff, filter, taken) =
            kept.map_or_else(|| (now, call.filter.clone(), 0), |kept| (kept.cutoff, kept.filter.clone(), kept.taken));
        let verdicts: Vec<RedriveVerdict> =
            call.ids.iter().map(|id| self.redrive_one(now, call, cutoff, *id)).collect();
        self.announce(now);
        let new = verdicts.iter().filter(|verdict| **verdict == RedriveVerdict::Taken).count();
        let taken = taken + u64::try_from(new).unwrap_or(0);
        self.redrives.insert(call.redrive, RedriveState { cutoff, filter: filter.clone(), taken, retain_until });
        self.expiries.insert((retain_until, Expiring::Redrive(call.redrive)));
        Redriven { cutoff, filter, taken, verdicts }
    }

    fn redrive_one(&mut self, now: u64, call: &Redrive, cutoff: u64, id: JobId) -> RedriveVerdict {
        let Some((job, State::Dead, died_at)) = self.live(id) else { return RedriveVerdict::NotDead };
        let by_this = |note: &Note| matches!(note, Note::Redriven { redrive, .. } if *redrive == call.redrive);
        if job.spec.notes.iter().any(by_this) {
            return RedriveVerdict::TakenBefore;
        }
        if died_at > cutoff {
            return RedriveVerdict::DiedLater;
        }
        let Some(mut job) = self.take(id) else { return RedriveVerdict::NotDead };
        job.spec.notes.push(Note::Redriven { redrive: call.redrive, at: now, errors: job.errors });
        (job.errors, job.crashes, job.lease_expiries) = (0, 0, 0);
        let due = now + call.delay_ms;
        job.expires_at = job.spec.late_ms_max.map(|late| due + late);
        self.wait(id, job, due);
        self.totals.redriven += 1;
        RedriveVerdict::Taken
    }

    pub(crate) fn forget(&mut self, now: u64, ids: &[JobId]) -> Vec<bool> {
        ids.iter().map(|id| self.forget_one(now, *id)).collect()
    }

    fn forget_one(&mut self, now: u64, id: JobId) -> bool {
        if let Some(mut completion) = self.completion(id, now) {
            if completion.until.is_none() {
                completion.until = Some(now + FORGET_MS);
                self.record_completion(id, completion);
            }
            return true;
        }
        match self.records.get_mut(&id) {
            Some(Record::Live { job, .. }) => {
                if job.spec.retention == Retention::UntilForgotten {
                    job.spec.retention = Retention::AfterEnd(FORGET_MS);
                }
                true
            }
            _ => false,
        }
    }

    pub(crate) fn delete(&mut self, now: u64, ids: &[JobId]) -> Vec<bool> {
        ids.iter().map(|id| matches!(self.live(*id), Some((_, State::Dead, _))) && self.delete_one(now, *id)).collect()
    }

    pub(crate) fn purge(&mut self, now: u64, state: State, limit: usize) -> u64 {
        let ids: Vec<JobId> = self.index(state).iter().take(limit).map(|(_, id)| *id).collect();
        let deleted = ids.iter().filter(|id| self.delete_one(now, **id)).count();
        u64::try_from(deleted).unwrap_or(0)
    }

    fn delete_one(&mut self, now: u64, id: JobId) -> bool {
        let Some(job) = self.take(id) else { return false };
        self.end(id, &job, End::Deleted, now);
        true
    }

    pub(crate) fn resume(&mut self, now: u64) {
        self.paused_until = None;
        self.leave_markers(now, 0..self.due.len());
        self.markers = self.markers.max(u64::from(self.earliest().is_some()));
    }
}
