//! Writing a history while it happens.

use super::operation::{Act, History, Operation, Stamp};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Records operations of many tasks; cheap to clone.
///
/// Begin an operation before anything is sent, and tell its outcome as soon as it is known. One that is dropped without an
/// outcome (a cancelled task, a lost answer) is recorded as unknown.
#[derive(Debug)]
pub struct Recorder<V>(Arc<Inner<V>>);

#[derive(Debug)]
struct Inner<V> {
    /// Counts moments; `None` if the machine's clock orders them.
    counter: Option<AtomicU64>,
    operations: Mutex<Vec<Operation<V>>>,
}

impl<V> Recorder<V> {
    /// For one process: moments are ordered by a counter, exactly.
    #[must_use]
    pub fn new() -> Recorder<V> {
        Recorder(Arc::new(Inner { counter: Some(AtomicU64::new(0)), operations: Mutex::default() }))
    }

    /// For several processes on one machine, whose histories are merged: moments are ordered by the machine's monotonic clock.
    /// Operations less than a tick apart count as simultaneous, so nothing is reported that did not happen.
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

    /// Everything with an outcome so far, known or given up. What is pending now is not in it: take the history when all
    /// tasks are done.
    #[must_use]
    pub fn history(&self) -> History<V>
    where
        V: Clone,
    {
        History(self.operations().clone())
    }

    fn now(&self) -> Stamp {
        let now = Stamp::machine_wide();
        let counted = self.0.counter.as_ref().map(|counter| counter.fetch_add(1, Ordering::SeqCst));
        Stamp { order: counted.unwrap_or(now.order), ..now }
    }

    fn operations(&self) -> MutexGuard<'_, Vec<Operation<V>>> {
        self.0.operations.lock().unwrap_or_else(PoisonError::into_inner)
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
    /// It took effect.
    pub fn acknowledged(mut self) {
        let returned = Some(self.recorder.now());
        if let Some(operation) = self.operation.take() {
            self.recorder.operations().push(Operation { returned, ..operation });
        }
    }

    /// It certainly did not take effect and never will: nothing is recorded.
    pub fn refused(mut self) {
        self.operation = None;
    }

    /// Nobody knows whether it took effect or still will.
    pub fn unknown(self) {}
}

impl<V> Drop for PendingWrite<V> {
    fn drop(&mut self) {
        if let Some(operation) = self.operation.take() {
            self.recorder.operations().push(operation);
        }
    }
}

/// A read that has begun. Dropping it records nothing: a read without an answer shows nothing.
#[derive(Debug)]
#[must_use = "a read without an answer is not recorded"]
pub struct PendingRead<V> {
    recorder: Recorder<V>,
    process: u64,
    key: String,
    invoked: Stamp,
}

impl<V> PendingRead<V> {
    /// It returned this value (`None`: absent).
    pub fn saw(self, value: Option<V>) {
        let returned = Some(self.recorder.now());
        let PendingRead { recorder, process, key, invoked } = self;
        recorder.operations().push(Operation { process, key, act: Act::Read(value), invoked, returned });
    }
}
