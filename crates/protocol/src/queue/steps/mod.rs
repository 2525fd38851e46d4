//! The atomic steps of the queue protocol, which the Lua scripts and the model (`memory/`) implement.
//!
//! docs/spec/queue.md specifies them. Every step concerns one shard, accepts at most [`ITEMS_MAX`] items, replies in the
//! order of the call, checks before it writes, and may be repeated if its reply was lost. Times are milliseconds on the
//! server's clock (Redis's `TIME`; the given clock in the model).

mod consume;
mod enqueue;
mod head;
mod look;
mod operate;
mod room;
mod stats;

pub use consume::{
    Claimed, Delivered, Fate, Heartbeat, Next, Outcome, Receipt, Rescue, Rescued, SettleAndClaim, Settled, Verdict,
    Worker,
};
pub use enqueue::{Enqueued, NewJob, Put, PutAnswer, PutChange, Restored, Tick, Ticked, When};
pub use head::Head;
pub use look::{JobPosition, Kept, Preview};
pub use operate::{
    Amend, Amended, Found, Limits, Listed, Looked, Redrive, RedriveVerdict, Redriven, Reschedule, Rescheduled, Revoked,
    State,
};
pub use room::{Report, Room};
pub use stats::{Stats, Totals};

use super::error::QueueError;
use super::job::JobId;
use async_trait::async_trait;
use bytes::Bytes;
use std::fmt;
use std::sync::Arc;

/// The maximum number of items per call; a larger call is rejected before anything is sent.
pub const ITEMS_MAX: usize = 500;
/// The maximum size of the records that a claim returns, except that the first job is returned regardless of its size.
pub const CLAIM_BYTES_MAX: u64 = 4 << 20;
/// Of a longer record a claim returns only the head.
pub const INLINE_BYTES_MAX: u64 = 64 << 10;
/// The maximum size of a piece of a record.
pub const PIECE_BYTES_MAX: u64 = 1 << 20;
/// The maximum size of a body, and of a text, in a preview, so that 500 previews stay below 4 MiB.
pub const PREVIEW_BYTES_MAX: usize = 2 << 10;
/// The maximum number of markers of a shard.
pub const MARKERS_MAX: u64 = 8;
/// A worker without a noted call for this long is removed by `rescue`, with its stored reply.
pub const WORKER_SILENT_MS: u64 = 600_000;
/// A worker with a call within this time is counted. Heartbeats are at least three times as frequent.
pub const WORKER_COUNTED_MS: u64 = 60_000;
/// How old the noted time of a worker's last call may be before its next call to settle or claim is noted.
pub const WORKER_SEEN_MS: u64 = 5_000;
/// How long a claim delays a suspect for which the worker has no free slot.
pub const PUT_OFF_MS: u64 = 100;
/// The maximum number of suspects that one claim delays.
pub const PUT_OFF_MAX: usize = 100;
/// The longest delay before a crashed job is retried.
pub const CRASH_DELAY_MS_MAX: u64 = 3_600_000;

/// One shard of a topic: the prefix and hash tag of all its keys.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Shard(Arc<str>);

impl Shard {
    /// Shard `number` of `topic` in the namespace `prefix`. Neither may contain braces or colons; the builder checks that.
    #[must_use]
    pub fn new(prefix: &str, topic: &str, number: u16) -> Self {
        Self(format!("{{{prefix}:q:{topic}:{number}}}").into())
    }

    /// The number of the shard within its topic.
    #[must_use]
    pub fn number(&self) -> u16 {
        let number = self.0.trim_end_matches('}').rsplit(':').next();
        number.and_then(|number| number.parse().ok()).unwrap_or(0)
    }

    /// The prefix and hash tag of all keys of the shard.
    #[must_use]
    pub fn tag(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

type Reply<T> = Result<T, QueueError>;

/// The steps of the queue protocol.
#[async_trait]
pub trait QueueSteps: Send + Sync {
    /// Enqueues jobs.
    async fn enqueue(&self, shard: &Shard, jobs: &[NewJob]) -> Reply<Vec<Enqueued>>;
    /// Upserts jobs by version.
    async fn put(&self, shard: &Shard, puts: &[Put]) -> Reply<Vec<PutAnswer>>;
    /// Enqueues the next ticks of a schedule, unless another process has.
    async fn tick(&self, shard: &Shard, tick: &Tick) -> Reply<Ticked>;
    /// Settles deliveries, then claims due jobs.
    async fn settle_and_claim(&self, shard: &Shard, call: &SettleAndClaim) -> Reply<Settled>;
    /// Extends leases; returns for each delivery whether it is still held.
    async fn heartbeat(&self, shard: &Shard, heartbeat: &Heartbeat) -> Reply<Vec<bool>>;
    /// Stores a delivery's progress in place of the previous one; returns whether the delivery is still held.
    async fn progress(&self, shard: &Shard, receipt: &Receipt, progress: Bytes) -> Reply<bool>;
    /// Reads some bytes of a record, regardless of its delivery: fewer at its end, none of an unknown id.
    async fn piece(&self, shard: &Shard, id: JobId, from: u64, bytes: u64) -> Reply<Bytes>;
    /// Revokes jobs that are not running.
    async fn revoke(&self, shard: &Shard, ids: &[JobId]) -> Reply<Vec<Revoked>>;
    /// Reschedules or edits waiting jobs.
    async fn reschedule(&self, shard: &Shard, changes: &[Reschedule]) -> Reply<Vec<Rescheduled>>;
    /// Replaces the body of a dead letter, if it is still the one that the caller has seen.
    async fn amend(&self, shard: &Shard, amend: &Amend) -> Reply<Amended>;
    /// Puts jobs with expired leases back.
    async fn rescue(&self, shard: &Shard, rescue: Rescue) -> Reply<Rescued>;
    /// Redrives dead letters.
    async fn redrive(&self, shard: &Shard, redrive: &Redrive) -> Reply<Redriven>;
    /// Lets completion records that are kept until then expire; returns for each id whether it was known.
    async fn forget(&self, shard: &Shard, ids: &[JobId]) -> Reply<Vec<bool>>;
    /// Deletes dead letters; returns for each id whether it was one.
    async fn delete(&self, shard: &Shard, ids: &[JobId]) -> Reply<Vec<bool>>;
    /// Deletes up to `limit` jobs of a state (not leased ones); returns the number of deleted jobs.
    async fn purge(&self, shard: &Shard, state: State, limit: usize) -> Reply<u64>;
    /// Stops claims until the given time, or until resumed.
    async fn pause(&self, shard: &Shard, until: Option<u64>) -> Reply<()>;
    /// Ends a pause.
    async fn resume(&self, shard: &Shard) -> Reply<()>;
    /// Sets the shard's limits.
    async fn set_limits(&self, shard: &Shard, limits: Limits) -> Reply<()>;
    /// Reads one job.
    async fn job(&self, shard: &Shard, id: JobId) -> Reply<Option<Found>> {
        let looked = self.jobs(shard, &[id]).await?.pop();
        Ok(looked.transpose()?.flatten())
    }
    /// Reads some jobs. One that cannot be decoded does not affect the others.
    async fn jobs(&self, shard: &Shard, ids: &[JobId]) -> Reply<Vec<Looked>>;
    /// The states and versions of some jobs, without their bodies; `None` for an unknown id.
    async fn heads(&self, shard: &Shard, ids: &[JobId]) -> Reply<Vec<Option<Head>>> {
        Ok(self.jobs(shard, ids).await?.into_iter().map(Head::of).collect())
    }
    /// Up to `limit` ids of a state, by score, then id, after a cursor.
    async fn list(&self, shard: &Shard, state: State, after: Option<Listed>, limit: usize) -> Reply<Vec<Listed>>;
    /// The same in descending order: up to `limit` ids before a cursor.
    async fn newest(&self, shard: &Shard, state: State, before: Option<Listed>, limit: usize) -> Reply<Vec<Listed>>;
    /// Some jobs with the first `bytes` bytes of their bodies (at most [`PREVIEW_BYTES_MAX`]); `None` for an unknown id.
    async fn previews(&self, shard: &Shard, ids: &[JobId], bytes: usize) -> Reply<Vec<Option<Preview>>>;
    /// Everything that decides about the next delivery of a job, with a preview of it.
    async fn position(&self, shard: &Shard, id: JobId, bytes: usize) -> Reply<JobPosition>;
    /// The latest call of a worker, whose reply is kept until the next one; `None`: the worker is unknown, or was inactive for
    /// [`WORKER_SILENT_MS`].
    async fn kept(&self, shard: &Shard, worker: Worker) -> Reply<Option<Kept>>;
    /// The statistics of the shard.
    async fn stats(&self, shard: &Shard) -> Reply<Stats>;
    /// Consumes one marker, if there is one: the non-blocking form of a consumer's blocking command.
    async fn pop_marker(&self, shard: &Shard) -> Reply<bool>;
    /// Waits for a marker and consumes it. Only for embedded stores: on Redis one blocking command waits for all shards.
    async fn marker(&self, _shard: &Shard) {
        std::future::pending::<()>().await;
    }
    /// Acquires or extends the lease under which one process compares the rows of a topic with the store. `None`: another process has it;
    /// else whether it was free. An embedded store has a single process.
    async fn sweep_lease(&self, _shard: &Shard, _caller: &[u8], _ms: u64) -> Reply<Option<bool>> {
        Ok(Some(false))
    }
}
