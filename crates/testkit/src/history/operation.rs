//! Operations on registers, each key being one.

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A moment. Of two moments the one with the lower `order` came first; equal ones count as simultaneous.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Stamp {
    /// Place among all moments of the history.
    pub order: u64,
    /// Nanoseconds since some moment that is the same for the whole history; for reports only.
    pub nanoseconds: u64,
}

impl Stamp {
    /// Now, on the machine's monotonic clock: for processes that write down their history themselves, because they may be killed.
    #[must_use]
    pub fn machine_wide() -> Stamp {
        let time = clock_gettime(ClockId::Monotonic);
        let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
        let nanoseconds = seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0);
        Stamp { order: nanoseconds, nanoseconds }
    }
}

/// What was done, and what came of it. `None` is the absent value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Act<V> {
    /// Set the key to this value.
    Write(Option<V>),
    /// Saw this value.
    Read(Option<V>),
}

/// One operation of one process on one key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation<V> {
    /// Who did it; for reports only.
    pub process: u64,
    /// On what.
    pub key: String,
    /// What.
    pub act: Act<V>,
    /// Before the operation began.
    pub invoked: Stamp,
    /// After its outcome was known. `None`: it may still take effect at any time, or never.
    pub returned: Option<Stamp>,
}

impl<V> Operation<V> {
    /// Whether this operation was over before the other one began.
    #[must_use]
    pub fn precedes(&self, other: &Operation<V>) -> bool {
        self.returned.is_some_and(|returned| returned.order < other.invoked.order)
    }
}

/// Operations in any order. Serializable, so that processes can hand over what they recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct History<V>(pub Vec<Operation<V>>);

impl<V> History<V> {
    /// Adds what another process recorded; both recorders must be [`Recorder::machine_wide`](super::Recorder::machine_wide).
    pub fn merge(&mut self, other: History<V>) {
        self.0.extend(other.0);
    }

    /// The operations on each key, those that began earlier first.
    #[must_use]
    pub fn by_key(&self) -> BTreeMap<&str, Vec<&Operation<V>>> {
        let mut keys: BTreeMap<&str, Vec<&Operation<V>>> = BTreeMap::new();
        for operation in &self.0 {
            keys.entry(&operation.key).or_default().push(operation);
        }
        keys.values_mut().for_each(|operations| operations.sort_by_key(|operation| operation.invoked));
        keys
    }
}

impl<V> Default for History<V> {
    fn default() -> History<V> {
        History(Vec::new())
    }
}
