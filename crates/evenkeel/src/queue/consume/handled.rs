//! What a handler says about a job.

use bytes::Bytes;
use evenkeel_link::support::guard;
use evenkeel_protocol::queue::retry_delay::{RetryDelay, ms};
use evenkeel_protocol::queue::steps::Outcome;
use std::time::Duration;

/// The longest delay that a handler may ask for, in ms: a hundred years.
const DELAY_MS_MAX: u64 = 36_525 * 24 * 3_600_000;

/// The highest fence that a handler may have met: the microseconds of the year 2112.
const FENCE_MAX: u64 = 1 << 52;

/// Of a handler's words about an error, at most so many bytes are kept.
const WORDS_BYTES_MAX: usize = 2_048;

/// How an attempt ended, in the handler's own judgement. A delay above a hundred years is shortened to a hundred years.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Handled {
    /// The job is done.
    Done,
    /// It failed and is worth another attempt after this delay, if it has one left.
    Retry(Duration),
    /// It is not time yet: again after this delay, without using an attempt.
    Snooze(Duration),
    /// It is no use to try again: a dead letter, for this reason.
    Dead(String),
    /// SQL refused the delivery's fence because it had seen this one, which is as high or higher: Redis has lost fences (a
    /// failover, a flush). The job comes again at once, with a fence above it, and without using an attempt. A fence above 2^52 was
    /// written by something else, and the job is dead: fences are microseconds.
    FenceSeen(u64),
}

impl From<()> for Handled {
    fn from((): ()) -> Self {
        Self::Done
    }
}

/// What follows an error of a handler, by its kind. A delay above a hundred years is shortened to a hundred years.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reaction {
    /// Another attempt after the job's delay, if it has one left.
    #[default]
    Retry,
    /// Another attempt after this delay, if it has one left.
    RetryAfter(Duration),
    /// Again after this delay, without using an attempt: the fault is not the job's.
    Snooze(Duration),
    /// What the job needs is down, and it is no use to try others meanwhile: the whole topic is paused for this long, and the job
    /// comes again then, without using an attempt. A pause that somebody else has set is left as it is.
    PauseTopic(Duration),
    /// It is no use to try again: a dead letter, with the error's words as the reason.
    Dead,
}

/// The settlement of what a handler answered. `failures` counts this one, should it be one.
pub(super) fn outcome(answer: Result<Handled, (Reaction, String)>, delay: RetryDelay, failures: u32) -> Outcome {
    let failed = |retry_ms, words: &str| Outcome::Failed { retry_ms, error: words_of(words) };
    match answer {
        Ok(Handled::Done) => Outcome::Done,
        Ok(Handled::Retry(after)) => failed(delay_ms(after), "the handler asked for another attempt"),
        Ok(Handled::Snooze(after)) | Err((Reaction::Snooze(after) | Reaction::PauseTopic(after), _)) => {
            Outcome::Snoozed { after_ms: delay_ms(after) }
        }
        Ok(Handled::FenceSeen(seen)) if !is_fence(seen) => Outcome::Dead {
            reason: words_of(&format!("SQL has seen the fence {seen}, which is above any that a delivery can have")),
        },
        Ok(Handled::FenceSeen(_)) => Outcome::Released,
        Ok(Handled::Dead(reason)) | Err((Reaction::Dead, reason)) => Outcome::Dead { reason: words_of(&reason) },
        Err((Reaction::Retry, words)) => failed(delay.after(failures), &words),
        Err((Reaction::RetryAfter(after), words)) => failed(delay_ms(after), &words),
    }
}

/// Whether a delivery may have had this fence, so that later ones can be above it. Scripts count in doubles.
pub(super) fn is_fence(fence: u64) -> bool {
    fence <= FENCE_MAX || !guard("queue_fence_bounded")
}

/// A delay that a handler asked for, in ms. Steps refuse longer ones, and a refused settlement would end nothing.
pub(super) fn delay_ms(after: Duration) -> u64 {
    if guard("queue_delay_clamped") { ms(after).min(DELAY_MS_MAX) } else { ms(after) }
}

/// The words that go into the job's history.
pub(super) fn words_of(words: &str) -> Bytes {
    let mut end = words.len().min(WORDS_BYTES_MAX);
    while !words.is_char_boundary(end) {
        end -= 1;
    }
    Bytes::copy_from_slice(&words.as_bytes()[..end])
}

#[cfg(test)]
mod tests {
    use super::{WORDS_BYTES_MAX, words_of};

    #[test]
    fn long_words_are_cut_between_characters() {
        let words = "ü".repeat(WORDS_BYTES_MAX);
        let kept = words_of(&words);
        assert_eq!(kept.len(), WORDS_BYTES_MAX);
        assert!(std::str::from_utf8(&kept).is_ok());
        assert_eq!(words_of(&format!("x{words}")).len(), WORDS_BYTES_MAX - 1);
    }
}
