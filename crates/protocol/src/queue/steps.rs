//! The atomic steps of the queue protocol, which the Lua scripts and the model (`memory/`) implement.
//!
//! docs/spec/queue.md specifies them. Every step concerns one shard, accepts at most [`ITEMS_MAX`] items, replies in the
//! order of the call, checks before it writes, and may be repeated if its reply was lost. Times are milliseconds on the
//! server's clock (Redis's `TIME`; the given clock in the model).

use super::error::QueueError;
pub use super::figures::{Stats, Totals};
pub use super::head::Head;
use super::job::{End, Job, JobId, JobSpec, Keep, Priority, Stamp};
use super::record::Unreadable;
pub use super::room::{Report, Room};
use async_trait::async_trait;
use bytes::Bytes;
use evenkeel_link::Token;
use std::borrow::Cow;
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
/// The maximum number of markers of a shard.
pub const MARKERS_MAX: u64 = 8;
/// A worker without a call for this long is removed by `rescue`, with its stored reply.
pub const WORKER_SILENT_MS: u64 = 600_000;
/// A worker with a call within this time is counted. Heartbeats are at least three times as frequent.
pub const WORKER_COUNTED_MS: u64 = 60_000;
/// How long a claim delays a suspect for which the worker has no place.
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

    /// Its number.
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

/// When a job is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// At this time, in ms since 1970. A time in the past means now.
    At(u64),
    /// This many ms from now, on the server's clock.
    In(u64),
}

/// A job to be enqueued.
#[derive(Clone, Debug)]
pub struct NewJob {
    /// Its id.
    pub id: JobId,
    /// When it is due.
    pub when: When,
    /// What the sender requested.
    pub spec: JobSpec,
}

/// The result of one job of an `enqueue`. Only `Created` changes anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enqueued {
    /// It was added and waits.
    Created,
    /// A job with this id waits or runs.
    Duplicate,
    /// Another job holds the unique key.
    Taken(JobId),
    /// The job with this id is a dead letter.
    Dead,
    /// The job with this id has ended and has a completion record.
    Ended(End),
    /// The topic's limit of jobs or bytes is reached.
    Full,
    /// The topic has grown, and the id belongs to another shard.
    Elsewhere,
}

/// A versioned upsert from a unit of work.
#[derive(Clone, Debug)]
pub struct Put {
    /// The job's id.
    pub id: JobId,
    /// Above the stored version the change is applied, at it nothing changes, below it the change is rejected. At least 1.
    pub version: u64,
    /// The change.
    pub change: PutChange,
}

/// The change of a `put`.
#[derive(Clone, Debug)]
pub enum PutChange {
    /// Creates or replaces the job (which cannot have a unique key).
    Job(When, Box<JobSpec>),
    /// Restores the job from SQL, with its errors from before the store lost it.
    Restored(Box<Restored>),
    /// Withdraws the job; the version is kept by this rule.
    Withdraw(Keep),
}

/// A job that is restored with its history.
#[derive(Clone, Debug)]
pub struct Restored {
    /// The job, with its error history.
    pub spec: JobSpec,
    /// The number of its failed attempts.
    pub errors: u16,
    /// Whether it is a dead letter.
    pub is_dead: bool,
    /// When it is due, or when it died.
    pub at: u64,
}

/// The result of a `put`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PutAnswer {
    /// The version is stored (also the reply to a repeated call).
    Applied,
    /// A newer version is stored.
    Superseded,
    /// The topic has grown, and the id belongs to another shard: nothing changed.
    Elsewhere,
}

/// Enqueues the next ticks of a schedule.
#[derive(Clone, Debug)]
pub struct Tick {
    /// The id of the schedule. All of its ticks are in its shard.
    pub schedule: [u8; 16],
    /// The last tick according to the caller; `None` for none.
    pub seen: Option<u64>,
    /// The last tick after this call.
    pub last: u64,
    /// The jobs of the ticks in between.
    pub jobs: Vec<NewJob>,
}

/// The result of a `tick`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ticked {
    /// The ticks were enqueued.
    Moved,
    /// The last tick differs from the one that the caller has seen (also the reply to a repeated call): nothing changed.
    Elsewhere(Option<u64>),
    /// The topic has grown, and the schedule belongs to another shard: nothing changed.
    OtherShard,
}

/// The id of one consumer of one shard, for as long as it lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Worker(pub [u8; 16]);

/// The identity of one delivery, required to settle or extend it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The job.
    pub id: JobId,
    /// Drawn for the claim.
    pub token: Token,
    /// The fencing token: increases with every delivery of the job; the handler uses it for its SQL writes.
    pub fence: u64,
}

/// The outcome of a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The job is completed.
    Done,
    /// Uses an attempt; the next one, if any, follows after the delay.
    Failed {
        /// Delay from now on the server's clock, in ms.
        retry_ms: u64,
        /// The handler's message.
        error: Bytes,
    },
    /// Postponed by the handler; no attempt is used.
    Snoozed {
        /// Delay from now on the server's clock, in ms.
        after_ms: u64,
    },
    /// Returned at once; no attempt is used.
    Released,
    /// Failed permanently.
    Dead {
        /// The handler's message.
        reason: Bytes,
    },
}

impl Outcome {
    /// The handler's message, if it failed.
    pub fn words(&self) -> Cow<'_, str> {
        match self {
            Self::Failed { error: words, .. } | Self::Dead { reason: words } => String::from_utf8_lossy(words),
            Self::Done | Self::Snoozed { .. } | Self::Released => Cow::Borrowed(""),
        }
    }
}

/// The result of a settlement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The delivery is no longer current: nothing changed.
    Lost,
    /// The outcome was applied.
    Settled,
    /// The job is now a dead letter.
    Died,
    /// The job had no retries left and was discarded.
    Discarded,
}

/// Settles deliveries and claims new ones.
#[derive(Clone, Debug)]
pub struct SettleAndClaim {
    /// The caller, which has one call outstanding.
    pub worker: Worker,
    /// Increases with every new call; a repeat uses the same one and gets the same reply. Begins at 1.
    pub sequence: u64,
    /// The outcomes of deliveries.
    pub settlements: Vec<(Receipt, Outcome)>,
    /// Free slots: the maximum number of claimed jobs.
    pub want: usize,
    /// The duration of the leases.
    pub lease_ms: u64,
    /// The token of all deliveries of this call.
    pub token: Token,
    /// The highest fencing token with which SQL rejected this worker; 0 for none. New tokens are above it.
    pub fence_floor: u64,
    /// The worker's capacity for suspects.
    pub room: Room,
}

/// The reply to `settle_and_claim`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// A call with a higher sequence was executed first: nothing changed.
    Stale,
    /// It was executed, now or by the first call.
    Done(Claimed),
}

/// The verdicts and deliveries of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    /// One for each settlement.
    pub verdicts: Vec<Verdict>,
    /// The jobs leased to the worker by this call.
    pub deliveries: Vec<Delivered>,
    /// The time of the next claim.
    pub next: Next,
}

/// The next time at which a job can be claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Next {
    /// The server's time.
    pub now: u64,
    /// The earliest due time of the waiting jobs; not before a pause ends. `None`: no job waits, or the pause has no end.
    pub due: Option<u64>,
}

/// A leased job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// The identity of the delivery.
    pub receipt: Receipt,
    /// When it was due; 0 in the reply to a repeated call, where it is no longer known.
    pub due_at: u64,
    /// The remaining lease in ms, counted from the reply.
    pub lease_left_ms: u64,
    /// The job as it was before this delivery; without body and notes if `more` is set.
    pub job: Result<Box<Job>, Unreadable>,
    /// The length of a record above [`INLINE_BYTES_MAX`], whose body must be read by [`piece`](QueueSteps::piece).
    pub more: Option<u64>,
}

/// Extends the leases of one worker (heartbeat).
#[derive(Clone, Debug)]
pub struct Beat {
    /// The caller.
    pub worker: Worker,
    /// The new duration of the leases from now.
    pub lease_ms: u64,
    /// The deliveries, with a report about each.
    pub deliveries: Vec<(Receipt, Report)>,
}

/// The result of a `revoke`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revoked {
    /// It was waiting and never starts (again).
    Revoked,
    /// A worker whose lease has expired may have begun to run it; its acks and fenced writes are rejected.
    RevokedAfterLapse,
    /// It is running: nothing changed.
    Running,
    /// It is a dead letter: nothing changed.
    Dead,
    /// It had ended before.
    Ended(End),
    /// Never stored, or without a completion record. A job leaves a completion record only if its sender gave it an id or a unique key; a
    /// completed job with a generated id is unknown at once, so this result does not mean that the id is wrong.
    Unknown,
}

/// Changes the due time of a waiting job, its body, or both.
#[derive(Clone, Debug)]
pub struct Reschedule {
    /// The job.
    pub id: JobId,
    /// The new due time.
    pub when: Option<When>,
    /// The new body.
    pub body: Option<Bytes>,
    /// The codec of the new body, if it is known.
    pub codec: Option<u8>,
}

/// The result of a `reschedule`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rescheduled {
    /// It waits, with the changes.
    Changed,
    /// The same; a worker whose lease has expired may have begun to run it.
    ChangedAfterLapse,
    /// It is running: nothing changed.
    Running,
    /// It is a dead letter: nothing changed.
    Dead,
    /// It had ended before.
    Ended(End),
    /// Never stored, or without a completion record.
    Unknown,
}

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
    pub is_judged: bool,
}

/// The result of a `rescue`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rescued {
    /// The jobs whose lease had expired.
    pub jobs: Vec<(JobId, Fate)>,
    /// The ms until the next lease expires; 0 if more have already expired.
    pub next_lapse_ms: Option<u64>,
}

/// The result of a rescue for one job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It had not been reported as started, or was shielded: it is due again.
    Lapsed,
    /// It had been reported as started: it waits for its next attempt.
    Crashed,
    /// It crashed too often: it is a dead letter.
    Died,
    /// It crashed too often and was discarded.
    Discarded,
}

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

/// The limits of a shard. Dead letters count as bytes, not as jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Waiting and leased jobs.
    pub jobs_max: Option<u64>,
    /// Bytes of all records.
    pub bytes_max: Option<u64>,
}

/// The state of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It waits, with this priority.
    Waiting(Priority),
    /// It runs, or its lease has expired.
    Leased,
    /// It is a dead letter.
    Dead,
}

/// The stored state of one id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// It has not ended.
    Live {
        /// Its state.
        state: State,
        /// Due time, deadline on the lease clock, or time of death.
        score: u64,
        /// The job.
        job: Box<Job>,
    },
    /// It has ended and has a completion record.
    Ended(Stamp),
}

/// The result of `jobs` for one id.
pub type Looked = Result<Option<Found>, Unreadable>;

/// One id of a page; also the cursor for the next page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Due time, deadline on the lease clock, or time of death.
    pub score: u64,
    /// The job.
    pub id: JobId,
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
    async fn beat(&self, shard: &Shard, beat: &Beat) -> Reply<Vec<bool>>;
    /// Stores a delivery's progress in place of the previous one; returns whether the delivery is still held.
    async fn progress(&self, shard: &Shard, receipt: &Receipt, words: Bytes) -> Reply<bool>;
    /// Reads some bytes of a record, regardless of its delivery: fewer at its end, none of an unknown id.
    async fn piece(&self, shard: &Shard, id: JobId, from: u64, bytes: u64) -> Reply<Bytes>;
    /// Revokes jobs that are not running.
    async fn revoke(&self, shard: &Shard, ids: &[JobId]) -> Reply<Vec<Revoked>>;
    /// Reschedules or edits waiting jobs.
    async fn reschedule(&self, shard: &Shard, changes: &[Reschedule]) -> Reply<Vec<Rescheduled>>;
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
    async fn job(&self, shard: &Shard, id: JobId) -> Reply<Option<Found>>;
    /// Reads some jobs. One that cannot be decoded does not affect the others.
    async fn jobs(&self, shard: &Shard, ids: &[JobId]) -> Reply<Vec<Looked>> {
        let mut looked = Vec::with_capacity(ids.len());
        for id in ids {
            looked.push(match self.job(shard, *id).await {
                Ok(found) => Ok(found),
                Err(QueueError::Unreadable(unreadable)) => Err(unreadable),
                Err(error) => return Err(error),
            });
        }
        Ok(looked)
    }
    /// The states and versions of some jobs, without their bodies; `None` for an unknown id.
    async fn heads(&self, shard: &Shard, ids: &[JobId]) -> Reply<Vec<Option<Head>>> {
        Ok(self.jobs(shard, ids).await?.into_iter().map(Head::of).collect())
    }
    /// Up to `limit` ids of a state, by score, then id, after a cursor.
    async fn list(&self, shard: &Shard, state: State, after: Option<Listed>, limit: usize) -> Reply<Vec<Listed>>;
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
