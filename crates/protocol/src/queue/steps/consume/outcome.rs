//! [`Outcome`]: how a delivery ended.

use super::Receipt;
use crate::queue::job::{End, ErrorClass, Retries};
use crate::queue::shard::note_error;
use crate::queue::steps::prelude::*;
use bytes::Bytes;
use std::borrow::Cow;

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

impl Outcome {
    /// The handler's message, if it failed.
    pub fn message(&self) -> Cow<'_, str> {
        match self {
            Self::Failed { .. } | Self::Dead { .. } if !guard("queue_reason_as_text") => format!("{self:?}").into(),
            Self::Failed { error: message, .. } | Self::Dead { reason: message } => String::from_utf8_lossy(message),
            Self::Done | Self::Snoozed { .. } | Self::Released => Cow::Borrowed(""),
        }
    }

    /// Checks a worker's outcome of a delivery.
    ///
    /// # Errors
    /// [`QueueError::Invalid`].
    pub fn check(&self) -> Checked {
        match self {
            Self::Failed { retry_ms, error } => check::span(*retry_ms).and_then(|()| check::text(error)),
            Self::Snoozed { after_ms } => check::span(*after_ms),
            Self::Dead { reason } => check::text(reason),
            Self::Done | Self::Released => Ok(()),
        }
    }

    /// The settlement of a delivery, as the scripts read it.
    pub(super) fn encode(&self, receipt: &Receipt) -> Vec<u8> {
        let (kind, delay, text): (u8, u64, &[u8]) = match self {
            Self::Done => (0, 0, &[]),
            Self::Failed { retry_ms, error } => (1, *retry_ms, error),
            Self::Snoozed { after_ms } => (2, *after_ms, &[]),
            Self::Released => (3, 0, &[]),
            Self::Dead { reason } => (4, 0, reason),
        };
        [&[kind], &receipt.encode()[..], &delay.to_be_bytes()[2..], text].concat()
    }
}

impl ShardState {
    pub(super) fn settle(&mut self, now: u64, receipt: &Receipt, outcome: &Outcome) -> Verdict {
        if !self.is_current(receipt) {
            return Verdict::Lost;
        }
        let id = receipt.id;
        let Some(mut job) = self.take(id) else { return Verdict::Lost };
        (job.crashes, job.lease_expiries) = (0, 0);
        job.started |= *outcome != Outcome::Released;
        match outcome {
            Outcome::Done => self.end(id, &job, End::Done, now),
            Outcome::Failed { retry_ms, error } => {
                job.errors = job.errors.saturating_add(1);
                note_error(&mut job, now, ErrorClass::Failed, error);
                if matches!(job.spec.retries, Retries::Limited(retries) if job.errors > retries) {
                    let discard = job.spec.discard_exhausted;
                    return self.dead_letter(id, job, discard, now);
                }
                self.wait(id, job, now + retry_ms);
                self.totals.retried += 1;
            }
            Outcome::Snoozed { after_ms } => self.wait(id, job, now + after_ms),
            Outcome::Released => self.wait(id, job, now),
            Outcome::Dead { reason } => {
                job.errors = job.errors.saturating_add(1);
                note_error(&mut job, now, ErrorClass::Dead, reason);
                return self.dead_letter(id, job, false, now);
            }
        }
        Verdict::Settled
    }
}
