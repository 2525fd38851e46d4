//! [`LimitBackend`]: where the buckets are.

use super::bucket::Bucket;
use super::error::LimitError;
use super::name::{instances, tag};
use crate::step::{Backend, Place};
use evenkeel_link::{Link, Script, Token};
use std::collections::HashMap;

/// The scripts, each composed of the shared parts that it uses and its own file.
pub(super) mod table {
    scripts! {
        /// All scripts, to be loaded on every epoch.
        pub(crate) const SCRIPTS in "", "steps/";
        library "limit" of ["rate", "window"];

        // Rejected as a whole by a Redis server that is out of memory: the limit then decides without it.
        pub(crate) static DEBIT = "debit-1", "", ["rate", "window"];
        pub(crate) static ATTEND = "attend-1", "", [];
    }
}

/// The scripts of limits.
#[must_use]
pub fn scripts() -> &'static [&'static Script] {
    &table::SCRIPTS
}

/// A store of buckets, which runs the steps. Cheap to clone.
pub type LimitBackend = Backend<Subject>;

/// A first subject of a limit, with all its buckets; or the limit itself, with its instances.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Subject(String);

/// The buckets of one subject, by the suffix of their keys.
#[derive(Default)]
pub struct State {
    pub(super) buckets: HashMap<String, Stored>,
    /// The instances of a limit, each with the time of its last call.
    pub(super) instances: HashMap<Token, u64>,
}

/// A bucket, and when it is not needed any more.
pub(super) struct Stored {
    pub(super) bucket: Bucket,
    pub(super) expires_ms: u64,
}

/// The number of subjects that are stored as in Redis; above it, those whose buckets are full are removed.
const SUBJECTS_MAX: usize = 1_024;

/// All subjects of an embedded store.
#[derive(Default)]
pub struct States {
    all: HashMap<Subject, State>,
    /// Steps since subjects were last removed.
    steps: usize,
}

impl States {
    /// Removes subjects whose buckets are full if there are many. Visits all of them once in as many steps.
    fn forget(&mut self, now: u64) {
        self.steps += 1;
        if self.all.len() <= SUBJECTS_MAX || self.steps < self.all.len() {
            return;
        }
        self.steps = 0;
        self.all.retain(|_, state| {
            state.buckets.retain(|_, stored| now < stored.expires_ms);
            !state.is_empty()
        });
        self.all.shrink_to(self.all.len() * 2);
    }
}

impl State {
    fn is_empty(&self) -> bool {
        self.buckets.is_empty() && self.instances.is_empty()
    }
}

impl Subject {
    /// This first subject of a limit in the namespace `prefix`.
    #[must_use]
    pub fn new(prefix: &str, limit: &str, subject: &str) -> Self {
        Self(tag(prefix, limit, subject))
    }

    /// The limit itself.
    #[must_use]
    pub fn instances(prefix: &str, limit: &str) -> Self {
        Self(instances(prefix, limit))
    }

    /// Its key, with which the keys of its buckets begin.
    #[must_use]
    pub fn tag(&self) -> &str {
        &self.0
    }
}

impl Place for Subject {
    type State = State;
    type States = States;
    type Error = LimitError;
    type Shared = ();

    fn key(&self) -> &[u8] {
        self.0.as_bytes()
    }

    fn open<'a>(&self, states: &'a mut States, now: u64) -> &'a mut State {
        states.forget(now);
        states.all.entry(self.clone()).or_default()
    }

    fn wakes(_: &mut State) -> bool {
        false
    }

    /// A subject of which nothing was stored.
    fn close(&self, states: &mut States) {
        if states.all.get(self).is_some_and(State::is_empty) {
            states.all.remove(self);
        }
    }
}

impl LimitBackend {
    /// This first subject of a limit.
    #[must_use]
    pub fn subject(&self, limit: &str, subject: &str) -> Subject {
        Subject::new(self.link().map_or("", Link::prefix), limit, subject)
    }

    /// The instances of a limit.
    #[must_use]
    pub fn instances(&self, limit: &str) -> Subject {
        Subject::instances(self.link().map_or("", Link::prefix), limit)
    }
}

#[cfg(test)]
mod tests {
    use super::{SUBJECTS_MAX, Subject};
    use crate::limit::quota::{Quota, Rate};
    use crate::limit::steps::{Debit, Level};
    use crate::step::Memory;
    use evenkeel_link::clock::TestClock;
    use std::time::Duration;

    // shows: hazard LI12
    #[test]
    fn full_buckets_are_forgotten_among_many_subjects() {
        let clock = TestClock::default();
        let memory = Memory::<Subject>::new(clock.clock());
        let level = Level::new("source", Quota::Rate(Rate::new(1, Duration::from_secs(60))), &[]);
        let debit = Debit { tokens: 1, wait_ms_max: 0, levels: vec![level] };
        let run = |number: usize| memory.run(&Subject::new("t", "api", &number.to_string()), &debit).map(|_| ());
        for number in 0..4 * SUBJECTS_MAX {
            run(number).unwrap_or_else(|error| unreachable!("{error}"));
        }
        assert_eq!(memory.look(|states, _| states.all.len()), 4 * SUBJECTS_MAX, "all of them are needed");
        clock.advance(Duration::from_secs(120));
        for number in 0..5 * SUBJECTS_MAX {
            run(number % 10).unwrap_or_else(|error| unreachable!("{error}"));
        }
        assert_eq!(memory.look(|states, _| states.all.len()), 10);
    }
}
