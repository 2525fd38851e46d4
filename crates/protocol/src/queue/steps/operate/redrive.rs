//! [`Redrive`]: dead letters that run again.

use crate::queue::job::Note;
use crate::queue::shard::{Expiring, RedriveState};
use crate::queue::steps::prelude::*;
use bytes::Bytes;

/// How long a redrive is stored after its last call.
const REDRIVE_RETENTION_MS: u64 = 7 * 24 * 3_600_000;

/// Redrives dead letters.
#[derive(Clone, Debug)]
pub struct Redrive {
    /// The id of the redrive; its first call fixes cutoff and filter.
    pub redrive: [u8; 16],
    /// The caller's selection, stored for those that continue the redrive. Only that of the first call is used.
    pub filter: Bytes,
    /// The dead letters to redrive, if they died before the cutoff.
    pub ids: Vec<JobId>,
    /// The delay until they are due, in ms.
    pub delay_ms: u64,
}

/// The result of a `redrive`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redriven {
    /// Only dead letters that died at or before this time are redriven.
    pub cutoff: u64,
    /// The filter of the first call.
    pub filter: Bytes,
    /// The number of dead letters that this redrive has redriven in total.
    pub taken: u64,
    /// One for each id.
    pub verdicts: Vec<RedriveVerdict>,
}

/// The result of a `redrive` for one id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedriveVerdict {
    /// It waits again.
    Taken,
    /// This redrive has redriven it before; it died again.
    TakenBefore,
    /// It died after the redrive began.
    DiedLater,
    /// It is not a dead letter.
    NotDead,
}

impl Step<Shard> for Redrive {
    type Reply = Redriven;

    fn check(&self) -> Checked {
        check::items(self.ids.len())?;
        check::text(&self.filter)?;
        check::span(self.delay_ms)
    }

    fn call(&self, _: &Shard) -> Call {
        let args = Args::default().bytes(self.redrive).bytes(&self.filter).number(self.delay_ms);
        Call::function(&scripts::REDRIVE, args.number(REDRIVE_RETENTION_MS).job_ids(&self.ids))
    }

    fn reply(&self, value: Value) -> Replied<Redriven> {
        let [cutoff, filter, taken, verdicts] = wire::parts(value)?;
        let all =
            [RedriveVerdict::NotDead, RedriveVerdict::Taken, RedriveVerdict::TakenBefore, RedriveVerdict::DiedLater];
        let verdict = |code: &u8| wire::coded(&all, u64::from(*code), "redrive");
        Ok(Redriven {
            cutoff: unsigned(&cutoff)?,
            filter: bulk(filter)?,
            taken: unsigned(&taken)?,
            verdicts: bulk(verdicts)?.iter().map(verdict).collect::<Replied<_>>()?,
        })
    }

    fn apply(&self, state: &mut ShardState, now: u64) -> Replied<Redriven> {
        let retain_until = now + REDRIVE_RETENTION_MS;
        let kept = state.redrives.get(&self.redrive).filter(|kept| kept.retain_until > now);
        let (cutoff, filter, taken) =
            kept.map_or_else(|| (now, self.filter.clone(), 0), |kept| (kept.cutoff, kept.filter.clone(), kept.taken));
        let verdicts: Vec<RedriveVerdict> =
            self.ids.iter().map(|id| state.redrive_one(now, self, cutoff, *id)).collect();
        state.announce(now);
        let new = verdicts.iter().filter(|verdict| **verdict == RedriveVerdict::Taken).count();
        let taken = taken + u64::try_from(new).unwrap_or(0);
        state.redrives.insert(self.redrive, RedriveState { cutoff, filter: filter.clone(), taken, retain_until });
        state.expiries.insert((retain_until, Expiring::Redrive(self.redrive)));
        Ok(Redriven { cutoff, filter, taken, verdicts })
    }
}

impl ShardState {
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
}
