//! Records a history.

use super::operation::{Act, EventTime, History, Operation};
use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Records operations of many tasks; cheap to clone.
///
/// Begin an operation before anything is sent, and report its outcome as soon as it is known. A write that is dropped without an outcome
/// (a canceled task, a lost reply) is recorded as unknown.
#[derive(Debug)]
pub struct Recorder<V>(Arc<Inner<V>>);

#[derive(Debug)]
struct Inner<V> {
    /// The counter that orders moments; `None` if the machine's clock orders them.
    counter: Option<AtomicU64>,
    operations: Mutex<Vec<Operation<V>>>,
}

impl<V> Recorder<V> {
    /// A recorder for one process, in which a counter orders moments exactly.
    #[must_use]
    pub fn new() -> Recorder<V> {
        Recorder(Arc::new(Inner { counter: Some(AtomicU64::new(0)), operations: Mutex::default() }))
    }

    /// A recorder for several processes on one machine whose histories are merged: the machine's monotonic clock orders moments. Operations
    /// less than a tick apart count as simultaneous, so the checkers report no false violations.
    #[must_use]
    pub fn machine_wide() -> Recorder<V> {
        Recorder(Arc::new(Inner { counter: None, operations: Mutex::default() }))
    }

    /// Begins a write of `value` (`None` deletes).
    pub fn write(&self, process: u64, key: impl Into<String>, value: Option<V>) -> PendingWrite<V> {
        let (key, invoked) = (key.into(), self.now());
        let operation = Operation { process, key, act: Act::Write(value), invoked, returned: None };
        PendingWrite { recorder: self.clone(), operation: Some(operation) }
    }

    /// Begins a read.
    pub fn read(&self, process: u64, key: impl Into<String>) -> PendingRead<V> {
        PendingRead { process, key: key.into(), invoked: self.now(), recorder: self.clone() }
    }

    /// All finished operations, including those of unknown outcome. Pending operations are missing: call this when all tasks are done.
    #[must_use]
    pub fn history(&self) -> History<V>
    where
        V: Clone,
    {
        History(self.operations().clone())
    }

    fn now(&self) -> EventTime {
        let now = EventTime::machine_wide();
        let counted = self.0.counter.as_ref().map(|counter| counter.fetch_add(1, Ordering::SeqCst));
        EventTime { order: counted.unwrap_or(now.order), ..now }
    }

    fn operations(&self) -> MutexGuard<'_, Vec<Operation<V>>> {
        self.0.operations.lock()
    }
}

impl<V> Clone for Recorder<V> {
    fn clone(&self) -> Recorder<V> {
        Recorder(self.0.clone())
    }
}

impl<V> Default for Recorder<V> {
    fn default() -> Recorder<V> {
        Recorder::new()
    }
}

/// A write that has begun. Dropping it records that its outcome is unknown.
#[derive(Debug)]
#[must_use = "a write without an outcome is recorded as unknown"]
pub struct PendingWrite<V> {
    recorder: Recorder<V>,
    operation: Option<Operation<V>>,
}

impl<V> PendingWrite<V> {
    /// The write took effect.
    pub fn acknowledged(mut self) {
        let returned = Some(self.recorder.now());
        if let Some(operation) = self.operation.take() {
            self.recorder.operations().push(Operation { returned, ..operation });
        }
    }

    /// The write did not and will not take effect: nothing is recorded.
    pub fn refused(mut self) {
        self.operation = None;
    }

    /// The outcome is unknown: the write may have taken effect, or may still.
    pub fn unknown(self) {}
}

impl<V> Drop for PendingWrite<V> {
    fn drop(&mut self) {
        if let Some(operation) = self.operation.take() {
            self.recorder.operations().push(operation);
        }
    }
}

/// A read that has begun. Dropping it records nothing, because a read without a result proves nothing.
#[derive(Debug)]
#[must_use = "a read without an answer is not recorded"]
pub struct PendingRead<V> {
    recorder: Recorder<V>,
    process: u64,
    key: String,
    invoked: EventTime,
}

impl<V> PendingRead<V> {
    /// The read returned this value (`None`: absent).
    pub fn saw(self, value: Option<V>) {
        let returned = Some(self.recorder.now());
        let PendingRead { recorder, process, key, invoked } = self;
        recorder.operations().push(Operation { process, key, act: Act::Read(value), invoked, returned });
    }
}
