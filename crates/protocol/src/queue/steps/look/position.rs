//! [`ReadPosition`]: why a job waits.

use super::{Preview, previews};
use crate::queue::job::Priority;
use crate::queue::steps::prelude::*;

/// Reads everything that decides about the next delivery of a job, with a preview of it.
#[derive(Clone, Copy, Debug)]
pub struct ReadPosition {
    /// The job.
    pub id: JobId,
    /// The number of bytes of the preview, at most [`PREVIEW_BYTES_MAX`](super::PREVIEW_BYTES_MAX).
    pub bytes: usize,
}

/// Everything in a shard that decides about the next delivery of a job, from one atomic read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobPosition {
    /// The server's time.
    pub now: u64,
    /// The same on the lease clock.
    pub lease_now: u64,
    /// The end of a pause; `u64::MAX`: paused until resumed.
    pub paused_until: Option<u64>,
    /// Workers that sent a call within the last minute.
    pub workers: u64,
    /// Due jobs that are claimed before this one, if it is due.
    pub before: u64,
    /// The job; `None`: it is not known here.
    pub job: Option<Preview>,
}

impl Step<Shard> for ReadPosition {
    type Reply = JobPosition;

    fn check(&self) -> Checked {
        previews::check_bytes(self.bytes)
    }

    fn call(&self, _: &Shard) -> Call {
        Call::function(&scripts::POSITION, Args::default().bytes(self.id.0).size(self.bytes))
    }

    fn reply(&self, value: Value) -> Replied<JobPosition> {
        let [now, lease_now, paused, workers, before, job] = wire::parts(value)?;
        Ok(JobPosition {
            now: unsigned(&now)?,
            lease_now: unsigned(&lease_now)?,
            paused_until: u64::try_from(integer(&paused)?).ok().map(wire::pause_end),
            workers: unsigned(&workers)?,
            before: unsigned(&before)?,
            job: Preview::decode(job)?,
        })
    }

    fn apply(&self, state: &mut ShardState, now: u64) -> Replied<JobPosition> {
        let job = Preview::of(Ok(state.found(now, self.id)), self.bytes);
        let before = match job {
            Some(Preview::Live { state: State::Waiting(priority), score, .. }) if score <= now => {
                let more_urgent = Priority::ALL.iter().filter(|other| **other < priority);
                let due = more_urgent.map(|other| state.due[*other as usize].range(..=(now, LAST)).count());
                due.sum::<usize>() + state.due[priority as usize].range(..(score, self.id)).count()
            }
            _ => 0,
        };
        Ok(JobPosition {
            now,
            lease_now: state.lease_now(now),
            paused_until: state.paused(now),
            workers: state.counted_workers(state.lease_now(now)),
            before: u64::try_from(before).unwrap_or(u64::MAX),
            job,
        })
    }
}

/// The last id of all.
const LAST: JobId = JobId([u8::MAX; 16]);
