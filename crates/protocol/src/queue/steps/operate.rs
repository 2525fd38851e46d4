//! What operators and senders do to jobs that are stored, and what they read.

use super::When;
use crate::queue::job::{CompletionRecord, End, Job, JobId, Priority};
use crate::queue::record::Unreadable;
use bytes::Bytes;

/// The result of a `revoke`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revoked {
    /// It was waiting and never starts (again).
    Revoked,
    /// A worker whose lease has expired may have begun to run it; its acks and fenced writes are rejected.
    RevokedAfterLeaseExpiry,
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
    ChangedAfterLeaseExpiry,
    /// It is running: nothing changed.
    Running,
    /// It is a dead letter: nothing changed.
    Dead,
    /// With the new body the topic would be above its limit of bytes: nothing changed.
    Full,
    /// It had ended before.
    Ended(End),
    /// Never stored, or without a completion record.
    Unknown,
}

/// Replaces the body of a dead letter.
#[derive(Clone, Debug)]
pub struct Amend {
    /// The dead letter.
    pub id: JobId,
    /// The body that the caller has seen: another one is not replaced.
    pub seen: Bytes,
    /// The new body.
    pub body: Bytes,
    /// The codec of the new body, if it is known.
    pub codec: Option<u8>,
}

/// The result of an `amend`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amended {
    /// It has the new body.
    Changed,
    /// Its body is not the one that the caller has seen: nothing changed. Read it again.
    Other,
    /// It waits or runs: nothing changed. `reschedule` edits a waiting job.
    NotDead,
    /// With the new body the topic would be above its limit of bytes: nothing changed.
    Full,
    /// It had ended before.
    Ended(End),
    /// Never stored, or without a completion record.
    Unknown,
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
    Ended(CompletionRecord),
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
