//! The result of a handler, and its conversion to a settlement.

use crate::handling::cut;
use bytes::Bytes;
use evenkeel_link::support::{guard, ms};
use evenkeel_protocol::queue::retry_delay::RetryDelay;
use evenkeel_protocol::queue::steps::Outcome;
use std::time::Duration;

/// The longest delay that a handler may return, in ms: a hundred years.
const DELAY_MS_MAX: u64 = 36_525 * 24 * 3_600_000;

/// The highest possible fence: the microseconds of the year 2112.
const FENCE_MAX: u64 = 1 << 52;

/// Error messages of handlers are cut to this many bytes.
const MESSAGE_BYTES_MAX: usize = 2_048;

/// The result of an attempt, as the handler returns it. A delay above a hundred years is shortened to a hundred years.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Handled {
    /// The job is done.
    Done,
    /// The attempt failed. The job is retried after this delay, if it has an attempt left.
    Retry(Duration),
    /// The job is not ready to run: it is redelivered after this delay, without using an attempt.
    Snooze(Duration),
    /// The failure is permanent: the job becomes a dead letter with this reason.
    Dead(String),
    /// SQL rejected the delivery's fence because it holds this one, which is as high or higher: Redis has lost fences (a failover, a
    /// flush). The job is redelivered at once, with a higher fence and without using an attempt. If this one is lower than the delivery's, SQL had no reason to reject it, and the job is
    /// redelivered after its retry delay. A fence above 2^52 cannot come from a
    /// delivery, because fences are microseconds; the job then becomes a dead letter.
    FenceSeen(u64),
}

impl From<()> for Handled {
    fn from((): ()) -> Self {
        Self::Done
    }
}

/// The reaction to an error of a handler. A delay above a hundred years is shortened to a hundred years.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reaction {
    /// Retry after the job's delay, if the job has an attempt left.
    #[default]
    Retry,
    /// Retry after this delay, if the job has an attempt left.
    RetryAfter(Duration),
    /// Redeliver after this delay without using an attempt, because the job did not cause the error.
    Snooze(Duration),
    /// Pause the whole topic for this time, because a dependency of all its jobs is unavailable. The job is redelivered when the pause ends,
    /// also if [`Topic::resume`](crate::queue::topic::Topic::resume) ends it, without using an attempt. An existing pause is left unchanged. If
    /// a shard could not be paused, the job itself waits for this time.
    PauseTopic(Duration),
    /// The error is permanent: the job becomes a dead letter with the error's message as the reason.
    Dead,
}

/// Converts the result of a handler to a settlement. `failures` is the number of failures including this attempt, if it failed;
/// `fence` is the delivery's.
pub(super) fn outcome(
    answer: Result<Handled, (Reaction, String)>,
    fence: u64,
    delay: RetryDelay,
    failures: u32,
) -> Outcome {
    let failed = |retry_ms, message: &str| Outcome::Failed { retry_ms, error: message_of(message) };
    match answer {
        Ok(Handled::Done) => Outcome::Done,
        Ok(Handled::Retry(after)) => failed(delay_ms(after), "the handler asked for another attempt"),
        Ok(Handled::Snooze(after)) | Err((Reaction::Snooze(after) | Reaction::PauseTopic(after), _)) => {
            Outcome::Snoozed { after_ms: delay_ms(after) }
        }
        Ok(Handled::FenceSeen(seen)) if !is_fence(seen) => Outcome::Dead {
            reason: message_of(&format!("the fence {seen} in SQL is above the highest that a delivery can have")),
        },
        // The next fence is above this one, but so was the delivery's: without a delay the job would run again and again.
        Ok(Handled::FenceSeen(seen)) if seen < fence && guard("queue_lower_fence_waits") => {
            Outcome::Snoozed { after_ms: delay.after(failures) }
        }
        Ok(Handled::FenceSeen(_)) => Outcome::Released,
        Ok(Handled::Dead(reason)) | Err((Reaction::Dead, reason)) => Outcome::Dead { reason: message_of(&reason) },
        Err((Reaction::Retry, message)) => failed(delay.after(failures), &message),
        Err((Reaction::RetryAfter(after), message)) => failed(delay_ms(after), &message),
    }
}

/// Whether a delivery can have had this fence, so that later fences can exceed it. Lua scripts calculate with doubles.
pub(super) fn is_fence(fence: u64) -> bool {
    fence <= FENCE_MAX || !guard("queue_fence_bounded")
}

/// The delay that a handler returned, in ms, within the limit of the steps: a rejected settlement would not settle the job.
pub(super) fn delay_ms(after: Duration) -> u64 {
    if guard("queue_delay_clamped") { ms(after).min(DELAY_MS_MAX) } else { ms(after) }
}

/// The error message for the job's history, cut at a character boundary.
pub(super) fn message_of(message: &str) -> Bytes {
    cut(message, MESSAGE_BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use super::{MESSAGE_BYTES_MAX, message_of};

    #[test]
    fn long_message_is_cut_between_characters() {
        let message = "ü".repeat(MESSAGE_BYTES_MAX);
        let kept = message_of(&message);
        assert_eq!(kept.len(), MESSAGE_BYTES_MAX);
        assert!(std::str::from_utf8(&kept).is_ok());
        assert_eq!(message_of(&format!("x{message}")).len(), MESSAGE_BYTES_MAX - 1);
    }
}
