//! Operations on registers; each key is one register.

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A moment. The moment with the lower `order` came first; equal ones count as simultaneous.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct EventTime {
    /// The position among all moments of the history.
    pub order: u64,
    /// Nanoseconds since a fixed moment of the history; for reports only.
    pub nanoseconds: u64,
}

impl EventTime {
    /// The current moment of the machine's monotonic clock, for processes that record their own history because they may be killed.
    #[must_use]
    pub fn machine_wide() -> EventTime {
        let time = clock_gettime(ClockId::Monotonic);
        let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
        let nanoseconds = seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0);
        EventTime { order: nanoseconds, nanoseconds }
    }
}

/// An operation and its result. `None` is the absent value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Act<V> {
    /// A write of this value.
    Write(Option<V>),
    /// A read that returned this value.
    Read(Option<V>),
}

/// One operation of one process on one key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation<V> {
    /// The process; for reports only.
    pub process: u64,
    /// The key.
    pub key: String,
    /// The operation and its result.
    pub act: Act<V>,
    /// A moment before the operation began.
    pub invoked: EventTime,
    /// A moment after its outcome was known. `None`: it may still take effect at any time, or never.
    pub returned: Option<EventTime>,
}

impl<V> Operation<V> {
    /// Whether this operation ended before the other one began.
    #[must_use]
    pub fn precedes(&self, other: &Operation<V>) -> bool {
        self.returned.is_some_and(|returned| returned.order < other.invoked.order)
    }
}

/// Operations in any order. Serializable, so that processes can exchange their records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct History<V>(pub Vec<Operation<V>>);

impl<V> History<V> {
    /// Adds the history of another process; both recorders must be [`Recorder::machine_wide`](super::Recorder::machine_wide).
    pub fn merge(&mut self, other: History<V>) {
        self.0.extend(other.0);
    }

    /// The operations on each key, ordered by their beginnings.
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
