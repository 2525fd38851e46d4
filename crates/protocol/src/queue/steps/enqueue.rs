//! What senders send, and the replies.

use crate::queue::job::{End, JobId, JobSpec, Retention};

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
    Withdraw(Retention),
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
