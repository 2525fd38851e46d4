//! What several steps send, and what several replies have.

use super::error::QueueError;
use super::job::{End, Job, JobId, JobSpec};
use super::record::encode_job;
use super::steps::{NewJob, Shard, When};
use crate::step::reply::{array, bulk, unsigned};
use crate::step::{Args, Call};
use bytes::Bytes;
use evenkeel_link::LinkError;
use redis::Value;

pub(crate) type Replied<T> = Result<T, QueueError>;

/// The scripts' value for "until resumed" and "no limit".
pub(crate) const FOREVER: u64 = (1 << 53) - 1;

impl Args {
    pub(crate) fn job_ids(self, ids: &[JobId]) -> Self {
        ids.iter().fold(self, |args, id| args.bytes(id.0))
    }

    pub(crate) fn new_jobs(self, jobs: &[NewJob]) -> Self {
        let add = |args: Self, job: &NewJob| args.bytes(job.id.0).when(job.when).bytes(record(job.spec.clone()));
        jobs.iter().fold(self, add)
    }

    pub(crate) fn when(self, when: When) -> Self {
        self.bytes(match when {
            When::At(at) => at.to_string(),
            When::In(delay) => format!("+{delay}"),
        })
    }
}

/// A record as the sender encodes it; the script fills in the server's fields.
pub(crate) fn record(spec: JobSpec) -> Bytes {
    encode_job(&Job::accepted(spec, 0, 0))
}

/// Sets some of the shard's settings; `None` is the scripts' value for "until resumed" and "no limit".
pub(crate) fn set(shard: &Shard, settings: &[(&str, Option<u64>)]) -> Call {
    let mut cmd = redis::cmd("HSET");
    cmd.arg(shard.key("meta"));
    for (name, value) in settings {
        cmd.arg(*name).arg(value.unwrap_or(FOREVER).min(FOREVER));
    }
    Call::command(cmd)
}

pub(crate) fn count(reply: &Value) -> Replied<u64> {
    Ok(unsigned(reply)?)
}

/// One byte per item: 1 is true.
pub(crate) fn flags(reply: Value) -> Replied<Vec<bool>> {
    Ok(bulk(reply)?.iter().map(|flag| *flag == 1).collect())
}

/// The value with this code: its index in `values`.
pub(crate) fn coded<T: Copy>(values: &[T], code: u64, step: &str) -> Replied<T> {
    usize::try_from(code).ok().and_then(|code| values.get(code)).copied().ok_or_else(|| unexpected(step))
}

pub(crate) fn end(code: u8) -> Replied<End> {
    End::from_code(code).ok_or_else(|| unexpected("a completion record"))
}

pub(crate) fn job_id(bytes: &[u8]) -> Replied<JobId> {
    bytes.try_into().map(JobId).map_err(|_| unexpected("a job id"))
}

/// The end of a pause.
pub(crate) fn pause_end(until: u64) -> u64 {
    if until >= FOREVER { u64::MAX } else { until }
}

pub(crate) fn parts<const N: usize>(reply: Value) -> Replied<[Value; N]> {
    array(reply)?.try_into().map_err(|_| unexpected("a reply"))
}

pub(crate) fn unexpected(what: &str) -> QueueError {
    QueueError::Link(LinkError::Unexpected(format!("{what} of the queue's scripts")))
}
