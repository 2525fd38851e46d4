//! Failures that a loop meets again and again: each is logged when it begins, not with every repetition.

use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use std::fmt::Display;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Texts that are remembered for each step; further ones are not logged until the step has succeeded.
const TEXTS_MAX: usize = 100;

/// The failures of some steps since each last succeeded.
#[derive(Debug, Default)]
pub struct Recurring {
    /// Whether a step has failed, so that a success costs no more than this look while none has.
    has_failed: AtomicBool,
    failures: Mutex<HashMap<&'static str, HashSet<String>>>,
}

impl Recurring {
    /// Whether the step has not failed in this way since it last succeeded, so that the failure is worth a line of the log.
    pub fn is_new(&self, step: &'static str, error: &impl Display) -> bool {
        let mut failures = self.failures.lock();
        self.has_failed.store(true, Relaxed);
        let texts = failures.entry(step).or_default();
        texts.len() < TEXTS_MAX && texts.insert(error.to_string())
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
    use super::{Recurring, TEXTS_MAX};

    #[test]
    fn failure_is_logged_again_only_after_a_success_or_if_it_changes() {
        let failures = Recurring::default();
        let logged = ["away", "away", "refused", "away"].map(|error| failures.is_new("read", &error));
        assert_eq!(logged, [true, false, true, false]);
        assert!(failures.is_new("write", &"away"));
        failures.over("read");
        assert!(failures.is_new("read", &"away") && !failures.is_new("write", &"away"));
        let many = (0..2 * TEXTS_MAX).filter(|number| failures.is_new("read", number)).count();
        assert_eq!(many, TEXTS_MAX - 1);
    }
}
