//! The result of a handler, and its conversion to a settlement.

use super::group::GroupSettings;
use crate::handling::cut;
use bytes::Bytes;
use evenkeel_link::support::ms;
use evenkeel_protocol::stream::steps::{Outcome, SPAN_MS_MAX};
use evenkeel_protocol::stream::tries::NOTE_BYTES_MAX;
use std::time::Duration;

/// The result of an attempt, as the handler returns it. A delay above a hundred years is shortened to a hundred years.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Handled {
    /// The entry is done.
    Done,
    /// The attempt failed. The entry is handled again after this delay, if it has an attempt left.
    Retry(Duration),
    /// The entry is not ready: it is delivered again after this delay, without using an attempt.
    Snooze(Duration),
    /// The failure is permanent: the entry becomes a dead letter with this reason.
    Dead(String),
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
    /// Retry after the group's delay, if the entry has an attempt left.
    #[default]
    Retry,
    /// Retry after this delay, if the entry has an attempt left.
    RetryAfter(Duration),
    /// Deliver again after this delay without using an attempt, because the entry did not cause the error.
    Snooze(Duration),
    /// Pause the group in all partitions for this time, because a dependency of all its entries is unavailable. The entry is delivered again
    /// when the pause ends, also if [`StreamAdmin::resume`](crate::stream::admin::StreamAdmin::resume) ends it, without using an attempt. An existing
    /// pause is left unchanged. If a partition could not be paused, the entry itself waits for this time.
    /// Not guaranteed: that a consumer in order whose buffer is full of waiting entries notices an early end before the pause would have ended.
    PauseGroup(Duration),
    /// The error is permanent: the entry becomes a dead letter with the error's message as the reason.
    Dead,
}

/// The result of a handler; of an error, the reaction to it and its message.
pub(crate) type HandlerResult = Result<Handled, (Reaction, String)>;

/// Converts the result of a handler to a settlement. `failures` is the number of failures including this attempt, if it failed.
pub(crate) fn outcome(answer: HandlerResult, settings: &GroupSettings, failures: u32) -> Outcome {
    let failed = |delay_ms: u64, message: &str| {
        let is_last = settings.retries.is_some_and(|retries| failures > u32::from(retries));
        if is_last { dead(message, settings) } else { Outcome::Retry { delay_ms, error: message_of(message) } }
    };
    match answer {
        Ok(Handled::Done) => Outcome::Done,
        Ok(Handled::Retry(after)) => failed(delay_ms(after), "the handler asked for another attempt"),
        Ok(Handled::Snooze(after)) | Err((Reaction::Snooze(after) | Reaction::PauseGroup(after), _)) => {
            Outcome::Snooze { delay_ms: delay_ms(after) }
        }
        Ok(Handled::Dead(reason)) | Err((Reaction::Dead, reason)) => dead(&reason, settings),
        Err((Reaction::Retry, message)) => failed(settings.retry_delay.after(failures), &message),
        Err((Reaction::RetryAfter(after), message)) => failed(delay_ms(after), &message),
    }
}

/// A dead letter; in a group of `DeadLetterSequence` it parks its key.
pub(crate) fn dead(reason: &str, settings: &GroupSettings) -> Outcome {
    Outcome::Dead { reason: message_of(reason), parks_key: settings.ordering.parks() }
}

/// The delay that a handler returned, in ms, within the limit of the steps: a rejected settlement would not settle the entry.
pub(crate) fn delay_ms(after: Duration) -> u64 {
    ms(after).min(SPAN_MS_MAX)
}

/// The error message for the entry's history.
fn message_of(message: &str) -> Bytes {
    cut(message, NOTE_BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use super::{Handled, Reaction, outcome};
    use crate::stream::consume::group::{GroupSettings, OnFailure, Ordering};
    use evenkeel_protocol::retry_delay::RetryDelay;
    use evenkeel_protocol::stream::id::EntryId;
    use evenkeel_protocol::stream::steps::{Outcome, Position, SPAN_MS_MAX};
    use std::time::Duration;

    fn settings(retries: Option<u16>) -> GroupSettings {
        GroupSettings {
            ordering: Ordering::PerKey(OnFailure::DeadLetterSequence),
            position: Position::After(EntryId::MIN),
            lease: Duration::from_secs(30),
            retries,
            retry_delay: RetryDelay::fixed(Duration::from_secs(1)),
            crashes_max: 3,
            #[cfg(feature = "lock")]
            exclusive: None,
        }
    }

    #[test]
    fn last_failure_is_a_dead_letter() {
        let error = || Err((Reaction::Retry, "no".to_owned()));
        let retry = Outcome::Retry { delay_ms: 1_000, error: "no".into() };
        let dead = Outcome::Dead { reason: "no".into(), parks_key: true };
        assert_eq!(outcome(error(), &settings(Some(1)), 1), retry);
        assert_eq!(outcome(error(), &settings(Some(1)), 2), dead);
        assert_eq!(outcome(error(), &settings(Some(0)), 1), dead);
        assert_eq!(outcome(error(), &settings(None), u32::MAX), retry);
    }

    #[test]
    fn delays_are_shortened_to_what_can_be_settled() {
        let longest = Outcome::Snooze { delay_ms: SPAN_MS_MAX };
        assert_eq!(outcome(Ok(Handled::Snooze(Duration::MAX)), &settings(None), 1), longest);
        assert_eq!(outcome(Err((Reaction::PauseGroup(Duration::MAX), String::new())), &settings(None), 1), longest);
    }
}
