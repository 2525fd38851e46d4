//! [`Rescue`]: jobs with expired leases.

use super::{Verdict, Worker};
use crate::queue::job::{ErrorClass, Job, Retries};
use crate::queue::shard::note_error;
use crate::queue::steps::WORKER_SILENT_MS;
use crate::queue::steps::prelude::*;
use bytes::Bytes;

/// The longest delay before a crashed job is retried.
pub const CRASH_DELAY_MS_MAX: u64 = 3_600_000;
/// The maximum number of unresponsive workers that one rescue removes.
const WORKERS_FORGOTTEN_MAX: usize = 100;

/// Puts jobs with expired leases back.
#[derive(Clone, Copy, Debug)]
pub struct Rescue {
    /// The maximum number of jobs.
    pub limit: usize,
    /// The number of consecutive crashes, the last one alone, after which a job (with limited retries) is dead.
    pub crash_max: u8,
    /// The delay after the first crash; doubles with each crash, up to [`CRASH_DELAY_MS_MAX`].
    pub crash_delay_ms: u64,
    /// SQL rows are the source of truth for the topic's jobs: a job with a version is not dead-lettered here, as its row may say that it
    /// is completed. It waits, and the check at its next start decides.
    pub row_decides: bool,
}

/// The result of a `rescue`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rescued {
    /// The jobs whose lease had expired.
    pub jobs: Vec<(JobId, Fate)>,
    /// The ms until the next lease expires; 0 if more have already expired.
    pub next_lease_expiry_ms: Option<u64>,
}

/// The result of a rescue for one job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It had not been reported as started, or was shielded: it is due again.
    LeaseExpired,
    /// It had been reported as started: it waits for its next attempt.
    Crashed,
    /// It crashed too often: it is a dead letter.
    Died,
    /// It crashed too often and was discarded.
    Discarded,
}

impl Step<Shard> for Rescue {
    type Reply = Rescued;

    fn check(&self) -> Checked {
        check::items(self.limit)
    }

    fn call(&self, _: &Shard) -> Call {
        let args = Args::default()
            .size(self.limit)
            .number(self.crash_max.into())
            .number(self.crash_delay_ms)
            .number(CRASH_DELAY_MS_MAX)
            .number(WORKER_SILENT_MS)
            .number(self.row_decides.into());
        Call::function(&scripts::RESCUE, args)
    }

    fn reply(&self, value: Value) -> Replied<Rescued> {
        let [jobs, next_lease_expiry] = wire::parts(value)?;
        let jobs = bulk(jobs)?;
        let jobs = jobs.chunks(17).map(|item| {
            let (id, fate) = item.split_at(item.len() - 1);
            Ok((wire::job_id(id)?, wire::coded(&FATES, u64::from(fate[0]).wrapping_sub(1), "rescue")?))
        });
        Ok(Rescued {
            jobs: jobs.collect::<Replied<_>>()?,
            next_lease_expiry_ms: u64::try_from(integer(&next_lease_expiry)?).ok(),
        })
    }

    fn apply(&self, state: &mut ShardState, now: u64) -> Replied<Rescued> {
        let lease_now = state.lease_clock(now);
        let lease_expired = state.leased.iter().take_while(|(deadline, _)| *deadline <= lease_now);
        let lease_expired: Vec<JobId> = lease_expired.take(self.limit).map(|(_, id)| *id).collect();
        let mut jobs = Vec::with_capacity(lease_expired.len());
        for id in lease_expired {
            if let Some(job) = state.take(id) {
                jobs.push((id, state.rescue_one(now, id, job, *self)));
            }
        }
        state.announce(now);
        state.forget_silent_workers(lease_now);
        let next_lease_expiry_ms = state.leased.first().map(|(deadline, _)| deadline.saturating_sub(lease_now));
        Ok(Rescued { jobs, next_lease_expiry_ms })
    }
}

/// In the order of their codes, which begin at 1.
const FATES: [Fate; 4] = [Fate::LeaseExpired, Fate::Crashed, Fate::Died, Fate::Discarded];

impl ShardState {
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
