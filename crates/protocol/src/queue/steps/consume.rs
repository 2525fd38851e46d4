//! What consumers send, and the replies: claims, settlements, heartbeats, rescues.

use super::room::{Report, Room};
use crate::queue::job::{Job, JobId};
use crate::queue::record::Unreadable;
use bytes::Bytes;
use evenkeel_link::Token;
use evenkeel_link::support::guard;
use std::borrow::Cow;

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
    pub fn message(&self) -> Cow<'_, str> {
        match self {
            Self::Failed { .. } | Self::Dead { .. } if !guard("queue_reason_as_text") => format!("{self:?}").into(),
            Self::Failed { error: message, .. } | Self::Dead { reason: message } => String::from_utf8_lossy(message),
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
    pub limit: usize,
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
    /// The time of the next claim; without a due time for a call with the limit 0, which does not look at the waiting jobs.
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
    /// The length of a record above [`INLINE_BYTES_MAX`](super::INLINE_BYTES_MAX), whose body must be read by [`piece`](super::QueueSteps::piece).
    pub more: Option<u64>,
}

/// Extends the leases of one worker (heartbeat).
#[derive(Clone, Debug)]
pub struct Heartbeat {
    /// The caller.
    pub worker: Worker,
    /// The new duration of the leases from now.
    pub lease_ms: u64,
    /// The deliveries, with a report about each.
    pub deliveries: Vec<(Receipt, Report)>,
}

/// Puts jobs with expired leases back.
#[derive(Clone, Copy, Debug)]
pub struct Rescue {
    /// The maximum number of jobs.
    pub limit: usize,
    /// The number of consecutive crashes, the last one alone, after which a job (with limited retries) is dead.
    pub crash_max: u8,
    /// The delay after the first crash; doubles with each crash, up to [`CRASH_DELAY_MS_MAX`](super::CRASH_DELAY_MS_MAX).
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
