//! The atomic steps of the queue protocol: what the Lua scripts and the model (`memory/`) both implement.
//!
//! docs/spec/queue.md tells them in words. Every step concerns one shard, takes at most [`ITEMS_MAX`] items, answers in the
//! order of the call, checks before it writes, and may be repeated when its reply was lost. Times are milliseconds on the
//! server's clock (Redis's `TIME`; the handed clock in the model).

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

/// The most items one step may take; more is refused before anything is sent.
pub const ITEMS_MAX: usize = 500;
/// A claim takes jobs with records of so many bytes in all; the first one however long it is.
pub const CLAIM_BYTES_MAX: u64 = 4 << 20;
/// Of a longer record only the head travels with the claim.
pub const INLINE_BYTES_MAX: u64 = 64 << 10;
/// The longest piece that is read of a record at once.
pub const PIECE_BYTES_MAX: u64 = 1 << 20;
/// The most markers a shard keeps.
pub const MARKERS_MAX: u64 = 8;
/// A worker silent for this long is forgotten by `rescue`, and its answers with it.
pub const WORKER_SILENT_MS: u64 = 600_000;
/// A worker that was heard of within this is counted. Heartbeats come at least three times as often.
pub const WORKER_COUNTED_MS: u64 = 60_000;
/// How long a suspect is put off for which a worker has no place.
pub const PUT_OFF_MS: u64 = 100;
/// One claim puts off at most this many.
pub const PUT_OFF_MAX: usize = 100;
/// The longest wait before a crashed job is tried again.
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

    /// The tag all keys of the shard begin with.
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
    /// At this time, in ms since 1970. One that has passed means now.
    At(u64),
    /// This many ms after the server's now.
    In(u64),
}

/// A job on its way in.
#[derive(Clone, Debug)]
pub struct NewJob {
    /// Its name.
    pub id: JobId,
    /// When it is due.
    pub when: When,
    /// What the sender asks for.
    pub spec: JobSpec,
}

/// What became of one job of an `enqueue`. Only `Created` changed anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enqueued {
    /// It waits now.
    Created,
    /// A job with this id waits or runs.
    Duplicate,
    /// Another job holds the unique key.
    Taken(JobId),
    /// The id is among the dead letters.
    Dead,
    /// The id has ended, and that is still remembered.
    Ended(End),
    /// The topic's limit of jobs or bytes is reached.
    Full,
    /// The topic has grown, and another shard keeps this id now.
    Elsewhere,
}

/// A versioned upsert from a unit of work.
#[derive(Clone, Debug)]
pub struct Put {
    /// The job's name.
    pub id: JobId,
    /// Above the stored one it wins, at it nothing changes, below it it is refused. At least 1.
    pub version: u64,
    /// What becomes of the job.
    pub change: PutChange,
}

/// What a `put` wants.
#[derive(Clone, Debug)]
pub enum PutChange {
    /// It is due then, and looks like this (a unique key has no place here).
    Job(When, Box<JobSpec>),
    /// It is as SQL has it: with what went wrong with it before the store lost it.
    Restored(Box<Restored>),
    /// It is not wanted (any more); the version is remembered by this rule.
    Withdraw(Keep),
}

/// A job that comes back with its past.
#[derive(Clone, Debug)]
pub struct Restored {
    /// How it looks, with its error history.
    pub spec: JobSpec,
    /// How many of its attempts have failed.
    pub errors: u16,
    /// It is a dead letter.
    pub is_dead: bool,
    /// When it is due, or when it died.
    pub at: u64,
}

/// What a `put` found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PutAnswer {
    /// This version is in (also the answer to a repeated call).
    Applied,
    /// A newer version came first.
    Superseded,
    /// The topic has grown, and another shard keeps this id now: nothing changed.
    Elsewhere,
}

/// Takes in the next ticks of a schedule.
#[derive(Clone, Debug)]
pub struct Tick {
    /// Names the schedule. All of its ticks live in its shard.
    pub schedule: [u8; 16],
    /// The last tick the caller knows to be taken in; `None`: it knows of none.
    pub seen: Option<u64>,
    /// The last tick once this call has happened.
    pub last: u64,
    /// The ticks in between that shall run.
    pub jobs: Vec<NewJob>,
}

/// What a `tick` found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ticked {
    /// The ticks are in.
    Moved,
    /// The last tick is another one than the caller has seen (also the answer to a repeated call): nothing changed.
    Elsewhere(Option<u64>),
    /// The topic has grown, and another shard keeps this schedule now: nothing changed.
    OtherShard,
}

/// Names one consumer of one shard, for as long as it lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Worker(pub [u8; 16]);

/// Names one delivery. Whatever settles or extends it carries this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The job.
    pub id: JobId,
    /// Drawn by the claim.
    pub token: Token,
    /// Rises with every delivery of the job; also goes to the handler for its SQL writes.
    pub fence: u64,
}

/// How a delivery ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The job is done.
    Done,
    /// It uses an attempt; the next one, if there is one, comes after the delay.
    Failed {
        /// Delay from the server's now, in ms.
        retry_ms: u64,
        /// The handler's words.
        error: Bytes,
    },
    /// It is not time yet; no attempt is used.
    Snoozed {
        /// Delay from the server's now, in ms.
        after_ms: u64,
    },
    /// Given back at once; no attempt is used.
    Released,
    /// It is no use to try again.
    Dead {
        /// The handler's words.
        reason: Bytes,
    },
}

impl Outcome {
    /// The handler's words, if it failed.
    pub fn words(&self) -> Cow<'_, str> {
        match self {
            Self::Failed { error: words, .. } | Self::Dead { reason: words } => String::from_utf8_lossy(words),
            Self::Done | Self::Snoozed { .. } | Self::Released => Cow::Borrowed(""),
        }
    }
}

/// What a settlement did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The delivery is not current any more: nothing changed.
    Lost,
    /// As asked.
    Settled,
    /// The job is a dead letter now.
    Died,
    /// It was out of retries, and is gone.
    Discarded,
}

/// Settles deliveries and claims new ones.
#[derive(Clone, Debug)]
pub struct SettleAndClaim {
    /// Who calls; has one call outstanding.
    pub worker: Worker,
    /// Rises with every new call; the same one repeats the answer. Begins at 1.
    pub sequence: u64,
    /// What has ended.
    pub settlements: Vec<(Receipt, Outcome)>,
    /// Free slots: no more than this is claimed.
    pub want: usize,
    /// How long the claimed jobs are leased.
    pub lease_ms: u64,
    /// The token of all deliveries of this call.
    pub token: Token,
    /// The highest fence this worker was refused for in SQL; 0 for none. Fences rise above it.
    pub fence_floor: u64,
    /// The suspects that may be claimed.
    pub room: Room,
}

/// What `settle_and_claim` answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// A call with a higher sequence came first: nothing changed.
    Stale,
    /// It happened, now or when it was first called.
    Done(Claimed),
}

/// Verdicts and deliveries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    /// One for each settlement.
    pub verdicts: Vec<Verdict>,
    /// What is leased to the worker by this call.
    pub deliveries: Vec<Delivered>,
    /// When to look again.
    pub next: Next,
}

/// When there is something to claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Next {
    /// The server's time.
    pub now: u64,
    /// The earliest due time of all that wait; not before a pause ends. `None`: nothing waits, or the pause has no end.
    pub due: Option<u64>,
}

/// A job, leased.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// The delivery's name.
    pub receipt: Receipt,
    /// When it was due; 0 in the answer to a repeated call, where that is not known any more.
    pub due_at: u64,
    /// What is left of the lease, in ms from when the call was answered.
    pub lease_left_ms: u64,
    /// The job as it was before this delivery; without body and notes if there is `more`.
    pub job: Result<Box<Job>, Unreadable>,
    /// How long the record is, if it is longer than [`INLINE_BYTES_MAX`]: its body is to be read by [`piece`](QueueSteps::piece).
    pub more: Option<u64>,
}

/// Extends the leases of one worker.
#[derive(Clone, Debug)]
pub struct Beat {
    /// Who calls.
    pub worker: Worker,
    /// How long from now the leases shall last.
    pub lease_ms: u64,
    /// The deliveries, and how each runs.
    pub deliveries: Vec<(Receipt, Report)>,
}

/// What a `revoke` found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revoked {
    /// It was waiting and never starts (again).
    Revoked,
    /// A worker that was silent past its lease may have begun it; its acks and fenced writes are refused.
    RevokedAfterLapse,
    /// It is running: nothing changed.
    Running,
    /// It is a dead letter: nothing changed.
    Dead,
    /// It ended before.
    Ended(End),
    /// Never seen, or not remembered any more. A job that ended is remembered only if its sender gave it an id or a unique key; one with
    /// a generated id that is done is unknown at once, which is no sign of a wrong id.
    Unknown,
}

/// Moves a waiting job, edits it, or both.
#[derive(Clone, Debug)]
pub struct Reschedule {
    /// The job.
    pub id: JobId,
    /// The new due time.
    pub when: Option<When>,
    /// The new body.
    pub body: Option<Bytes>,
    /// The codec that wrote the new body, if that is known.
    pub codec: Option<u8>,
}

/// What a `reschedule` found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rescheduled {
    /// It waits, changed as asked.
    Changed,
    /// The same; a worker that was silent past its lease may have begun it.
    ChangedAfterLapse,
    /// It is running: nothing changed.
    Running,
    /// It is a dead letter: nothing changed.
    Dead,
    /// It ended before.
    Ended(End),
    /// Never seen, or not remembered any more.
    Unknown,
}

/// Takes lapsed leases back.
#[derive(Clone, Copy, Debug)]
pub struct Rescue {
    /// At most this many.
    pub limit: usize,
    /// A job (with limited retries) that crashed this often in a row, and alone the last time, is dead.
    pub crash_max: u8,
    /// Wait after the first crash; doubles with each, up to [`CRASH_DELAY_MS_MAX`].
    pub crash_delay_ms: u64,
    /// Rows decide about the topic's jobs: one with a version is never buried here, because its row may say that it is done. It waits, and
    /// its next begin decides.
    pub is_judged: bool,
}

/// What a `rescue` did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rescued {
    /// Each lease that was taken back.
    pub jobs: Vec<(JobId, Fate)>,
    /// In how many ms the next lease would lapse; 0 if more have lapsed already.
    pub next_lapse_ms: Option<u64>,
}

/// What became of a job whose lease lapsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It had not been reported as started, or was shielded: it is due again.
    Lapsed,
    /// It had: it waits for its next attempt.
    Crashed,
    /// It had, once too often: it is a dead letter.
    Died,
    /// It had, once too often, and was not worth keeping.
    Discarded,
}

/// Sends dead letters back.
#[derive(Clone, Debug)]
pub struct Redrive {
    /// Names the redrive; its first call fixes cutoff and filter.
    pub redrive: [u8; 16],
    /// What the caller selects by, kept for those who continue it. Only the first call's counts.
    pub filter: Bytes,
    /// These, if they died before the cutoff.
    pub ids: Vec<JobId>,
    /// Due this many ms from now.
    pub delay_ms: u64,
}

/// What a `redrive` did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redriven {
    /// Only what died at or before this is taken.
    pub cutoff: u64,
    /// The filter of the first call.
    pub filter: Bytes,
    /// How many this redrive has taken in all.
    pub taken: u64,
    /// One for each id.
    pub verdicts: Vec<RedriveVerdict>,
}

/// What a `redrive` did with one id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedriveVerdict {
    /// It waits again.
    Taken,
    /// This redrive took it before; it died again.
    TakenBefore,
    /// It died after the redrive began.
    DiedLater,
    /// It is not a dead letter.
    NotDead,
}

/// How much a shard may hold. Dead letters count as bytes, not as jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Jobs that wait or run.
    pub jobs_max: Option<u64>,
    /// Bytes of all records.
    pub bytes_max: Option<u64>,
}

/// Where a job is, and since or until when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It waits, with this priority.
    Waiting(Priority),
    /// It runs, or its worker fell silent.
    Leased,
    /// It is a dead letter.
    Dead,
}

/// What is known of one id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// It lives.
    Live {
        /// Where.
        state: State,
        /// Due time, deadline on the lease clock, or time of death.
        score: u64,
        /// Everything about it.
        job: Box<Job>,
    },
    /// It ended, and that is still remembered.
    Ended(Stamp),
}

/// What `jobs` found of one id.
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
    /// Takes jobs in.
    async fn enqueue(&self, shard: &Shard, jobs: &[NewJob]) -> Reply<Vec<Enqueued>>;
    /// Upserts jobs by version.
    async fn put(&self, shard: &Shard, puts: &[Put]) -> Reply<Vec<PutAnswer>>;
    /// Takes in the next ticks of a schedule, unless somebody else has.
    async fn tick(&self, shard: &Shard, tick: &Tick) -> Reply<Ticked>;
    /// Settles deliveries, then claims what is due.
    async fn settle_and_claim(&self, shard: &Shard, call: &SettleAndClaim) -> Reply<Settled>;
    /// Extends leases; says of each delivery whether it is still held.
    async fn beat(&self, shard: &Shard, beat: &Beat) -> Reply<Vec<bool>>;
    /// Notes how far a delivery is, in place of what was noted before; says whether it is still held.
    async fn progress(&self, shard: &Shard, receipt: &Receipt, words: Bytes) -> Reply<bool>;
    /// Reads some bytes of a record, whoever has the job: fewer at its end, none of what is not known.
    async fn piece(&self, shard: &Shard, id: JobId, from: u64, bytes: u64) -> Reply<Bytes>;
    /// Takes back what is not running.
    async fn revoke(&self, shard: &Shard, ids: &[JobId]) -> Reply<Vec<Revoked>>;
    /// Moves or edits waiting jobs.
    async fn reschedule(&self, shard: &Shard, changes: &[Reschedule]) -> Reply<Vec<Rescheduled>>;
    /// Takes lapsed leases back.
    async fn rescue(&self, shard: &Shard, rescue: Rescue) -> Reply<Rescued>;
    /// Sends dead letters back.
    async fn redrive(&self, shard: &Shard, redrive: &Redrive) -> Reply<Redriven>;
    /// Lets go of stamps that are kept until then; says of each id whether it was known.
    async fn forget(&self, shard: &Shard, ids: &[JobId]) -> Reply<Vec<bool>>;
    /// Deletes dead letters; says of each id whether it was one.
    async fn delete(&self, shard: &Shard, ids: &[JobId]) -> Reply<Vec<bool>>;
    /// Deletes up to `limit` jobs of a state (not leased ones); says how many.
    async fn purge(&self, shard: &Shard, state: State, limit: usize) -> Reply<u64>;
    /// Stops claims until then, or until resumed.
    async fn pause(&self, shard: &Shard, until: Option<u64>) -> Reply<()>;
    /// Ends a pause.
    async fn resume(&self, shard: &Shard) -> Reply<()>;
    /// Sets how much the shard may hold.
    async fn set_limits(&self, shard: &Shard, limits: Limits) -> Reply<()>;
    /// Everything about one job.
    async fn job(&self, shard: &Shard, id: JobId) -> Reply<Option<Found>>;
    /// Everything about some jobs. One that cannot be read does not keep the others back.
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
    /// Where some jobs are and in which version, without their bodies; `None` of one that is not known.
    async fn heads(&self, shard: &Shard, ids: &[JobId]) -> Reply<Vec<Option<Head>>> {
        Ok(self.jobs(shard, ids).await?.into_iter().map(Head::of).collect())
    }
    /// Up to `limit` ids of a state, by score, then id, after a cursor.
    async fn list(&self, shard: &Shard, state: State, after: Option<Listed>, limit: usize) -> Reply<Vec<Listed>>;
    /// Figures.
    async fn stats(&self, shard: &Shard) -> Reply<Stats>;
    /// Takes one marker, if there is one: what the blocking command of a consumer does, without blocking.
    async fn pop_marker(&self, shard: &Shard) -> Reply<bool>;
    /// Waits for a marker and takes it. Only an embedded store can: on Redis one blocking command waits for all shards.
    async fn marker(&self, _shard: &Shard) {
        std::future::pending::<()>().await;
    }
    /// Takes or extends the lease under which one process compares the rows of a topic with the store. `None`: another process has it;
    /// else whether it was free. An embedded store has one process.
    async fn sweep_lease(&self, _shard: &Shard, _caller: &[u8], _ms: u64) -> Reply<Option<bool>> {
        Ok(Some(false))
    }
}
