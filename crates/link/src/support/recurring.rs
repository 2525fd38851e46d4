//! Failures that a loop meets again and again: each is logged when it begins, and while it lasts every ten minutes, not with every
//! repetition.

use crate::clock::{Clock, Moment};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::fmt::Display;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// The least time between two lines about the same failure.
const INTERVAL: Duration = Duration::from_secs(600);
/// Texts that are remembered for each step; further ones are not logged until the step has succeeded, or one of these is forgotten because
/// it was not met for [`INTERVAL`].
const TEXTS_MAX: usize = 100;

/// The failures of some steps since each last succeeded.
#[derive(Debug, Default)]
pub struct Recurring {
    /// Whether a step has failed, so that a success costs no more than this look while none has.
    has_failed: AtomicBool,
    failures: Mutex<HashMap<&'static str, HashMap<String, Failure>>>,
}

#[derive(Debug)]
struct Failure {
    logged_at: Moment,
    met_at: Moment,
    /// How often it was met since its last line.
    times: u64,
}

impl Recurring {
    /// Notes the result of a step. An error is passed to `line`, with the number of times since its last line, if a line is due.
    pub fn log<T, E: Display>(&self, step: &'static str, answer: &Result<T, E>, line: impl FnOnce(&E, u64)) {
        match answer {
            Ok(_) => self.over(step),
            Err(error) => {
                if let Some(times) = self.line_due(step, error) {
                    line(error, times);
                }
            }
        }
    }

    /// Whether a line about this failure of the step is due; then how often it was met since the last one, this time included. A line is
    /// due when it is first met since the step last succeeded, and ten minutes after each line. Steps of which each item fails by itself
    /// pass the item.
    pub fn line_due(&self, step: &'static str, failure: &impl Display) -> Option<u64> {
        self.line_due_at(Clock::system().now(), step, failure)
    }

    fn line_due_at(&self, now: Moment, step: &'static str, failure: &impl Display) -> Option<u64> {
        let mut failures = self.failures.lock();
        self.has_failed.store(true, Relaxed);
        let (texts, text) = (failures.entry(step).or_default(), failure.to_string());
        if let Some(known) = texts.get_mut(&text) {
            (known.times, known.met_at) = (known.times + 1, now);
            if now < known.logged_at + INTERVAL {
                return None;
            }
            known.logged_at = now;
            return Some(std::mem::take(&mut known.times));
        }
        if texts.len() == TEXTS_MAX {
            texts.retain(|_, known| now < known.met_at + INTERVAL);
        }
        if texts.len() == TEXTS_MAX {
            return None;
        }
        texts.insert(text, Failure { logged_at: now, met_at: now, times: 0 });
        Some(1)
    }

    /// The step has succeeded.
    pub fn over(&self, step: &'static str) {
        if !self.has_failed.load(Relaxed) {
            return;
        }
        let mut failures = self.failures.lock();
        failures.remove(step);
        self.has_failed.store(!failures.is_empty(), Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::{INTERVAL, Recurring, TEXTS_MAX};
    use crate::clock::Clock;

    // shows: hazard BW13
    #[test]
    fn failure_is_logged_again_only_after_a_success_or_if_it_changes() {
        let failures = Recurring::default();
        let is_new = |step, error: &str| failures.line_due(step, &error).is_some();
        let logged = ["away", "away", "refused", "away"].map(|error| is_new("read", error));
        assert_eq!(logged, [true, false, true, false]);
        assert!(is_new("write", "away"));
        failures.over("read");
        assert!(is_new("read", "away") && !is_new("write", "away"));
        let many = (0..2 * TEXTS_MAX).filter(|number| failures.line_due("read", number).is_some()).count();
        assert_eq!(many, TEXTS_MAX - 1);
    }

    /// A record that cannot be read was logged once by a process: an operator who began to read later did not see it.
    // shows: hazard BW15
    #[test]
    fn failure_that_lasts_is_logged_again_with_its_count() {
        let (failures, began) = (Recurring::default(), Clock::system().now());
        let due = |now, text: &str| failures.line_due_at(now, "record", &text);
        assert_eq!([due(began, "1"), due(began, "1"), due(began, "2")], [Some(1), None, Some(1)]);
        let later = began + INTERVAL;
        assert_eq!([due(later, "1"), due(later, "1")], [Some(2), None], "twice since the first line");
        assert_eq!(due(later + INTERVAL, "1"), Some(2));
    }

    /// Records that ended took the places of those that were met later, for as long as the process ran.
    // shows: hazard BW15
    #[test]
    fn failures_that_are_not_met_any_more_make_room() {
        let (failures, began) = (Recurring::default(), Clock::system().now());
        let logged =
            |now, from| (from..from + TEXTS_MAX).filter(|id| failures.line_due_at(now, "row", id).is_some()).count();
        assert_eq!((logged(began, 0), logged(began, TEXTS_MAX)), (TEXTS_MAX, 0));
        assert_eq!(logged(began + INTERVAL, TEXTS_MAX), TEXTS_MAX);
        let mut all = failures.failures.lock();
        assert_eq!(all.entry("row").or_default().len(), TEXTS_MAX);
    }
}
