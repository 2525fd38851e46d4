//! The local queue: of all tasks of this process that wait for one lock in one mode, one at a time asks the store. The task with an
//! exclusive lock keeps its turn for as long as it holds the lock.

use super::mode::Mode;
use crate::lock::hold::lease::Lease;
use evenkeel_link::clock::Moment;
use evenkeel_protocol::lock::name::LockName;
use evenkeel_protocol::lock::steps::WakeListener;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The local queues of one process, each removed when no task uses it.
#[derive(Default)]
pub(crate) struct Gates(Mutex<HashMap<Place, Weak<Gate>>>);

/// What the tasks of one queue wait for. A reader does not queue behind a writer of its process, nor a request for one permit behind one for
/// many: their order is the store's.
type Place = (LockName, Mode);

/// The local queue for one lock in one mode.
pub(crate) struct Gate {
    place: Place,
    gates: Weak<Gates>,
    /// Fair: first come, first served. A task that leaves the queue passes its turn on.
    turn: Arc<Semaphore>,
    queued: AtomicUsize,
    /// For the error of a task whose waiting time is over.
    free_at: Mutex<FreeAt>,
    /// Shared by all tasks of the queue, so that each contender need not subscribe anew. Only the task with the turn uses it.
    pub(crate) listener: tokio::sync::Mutex<Option<Box<dyn WakeListener>>>,
}

/// The earliest time at which the lock is free, as far as this process knows.
#[derive(Default)]
enum FreeAt {
    #[default]
    Unknown,
    /// The store's last reply.
    At(Moment),
    /// A task of this process holds the lock; its lease, and the lock delay after it.
    After(Weak<Lease>, Duration),
}

/// The turn of one task. Dropping it passes the turn to the next task.
pub(crate) struct Turn {
    gate: Arc<Gate>,
    _permit: OwnedSemaphorePermit,
}

impl Gates {
    pub(crate) fn gate(self: &Arc<Self>, name: &LockName, mode: Mode) -> Arc<Gate> {
        let mut gates = self.0.lock();
        let place = (name.clone(), mode);
        if let Some(gate) = gates.get(&place).and_then(Weak::upgrade) {
            return gate;
        }
        let gate = Arc::new(Gate {
            place: place.clone(),
            gates: Arc::downgrade(self),
            turn: Arc::new(Semaphore::new(1)),
            queued: AtomicUsize::new(0),
            free_at: Mutex::default(),
            listener: tokio::sync::Mutex::default(),
        });
        gates.insert(place, Arc::downgrade(&gate));
        gate
    }
}

impl Gate {
    /// Waits for the turn.
    pub(crate) async fn turn(self: &Arc<Self>) -> Turn {
        let _queued = Queued::new(&self.queued);
        loop {
            // The semaphore is never closed.
            if let Ok(permit) = Arc::clone(&self.turn).acquire_owned().await {
                return Turn { gate: Arc::clone(self), _permit: permit };
            }
            std::future::pending::<()>().await;
        }
    }

    /// Takes the turn, if no task has it.
    pub(crate) fn turn_now(self: &Arc<Self>) -> Option<Turn> {
        let permit = Arc::clone(&self.turn).try_acquire_owned().ok()?;
        Some(Turn { gate: Arc::clone(self), _permit: permit })
    }

    /// The time until the lock is free at the earliest; zero if it is unknown.
    pub(crate) fn free_in(&self, now: Moment) -> Duration {
        match &*self.free_at.lock() {
            FreeAt::Unknown => Duration::ZERO,
            FreeAt::At(moment) => moment.since(now),
            FreeAt::After(lease, cooling) => {
                lease.upgrade().map_or(Duration::ZERO, |lease| lease.remaining() + *cooling)
            }
        }
    }

    /// Records the store's reply about when the lock is free.
    pub(crate) fn free_at(&self, moment: Moment) {
        *self.free_at.lock() = FreeAt::At(moment);
    }

    /// Records that a task of this process holds the lock.
    pub(crate) fn held(&self, lease: &Arc<Lease>, cooling: Duration) {
        *self.free_at.lock() = FreeAt::After(Arc::downgrade(lease), cooling);
    }

    /// Whether no task has the turn or waits for it.
    pub(crate) fn is_idle(&self) -> bool {
        self.turn.available_permits() > 0 && !self.has_queue()
    }

    /// Whether a task waits for the turn.
    pub(crate) fn has_queue(&self) -> bool {
        self.queued.load(SeqCst) > 0
    }
}

impl Turn {
    pub(crate) fn gate(&self) -> &Arc<Gate> {
        &self.gate
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        let Some(gates) = self.gates.upgrade() else { return };
        let mut all = gates.0.lock();
        // A new queue of this name may exist already.
        if all.get(&self.place).is_some_and(|gate| gate.strong_count() == 0) {
            all.remove(&self.place);
        }
    }
}

/// Counts one task in the queue.
struct Queued<'a>(&'a AtomicUsize);

impl<'a> Queued<'a> {
    fn new(queued: &'a AtomicUsize) -> Self {
        queued.fetch_add(1, SeqCst);
        Self(queued)
    }
}

impl Drop for Queued<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed unwrap is the failure the test reports")]

    use super::{Gates, Mode};
    use evenkeel_protocol::lock::name::LockName;
    use std::sync::Arc;

    /// A program that locks a million names once each keeps none of them.
    #[test]
    fn local_queue_is_removed_with_its_last_task() {
        let gates = Arc::new(Gates::default());
        for number in 0..1_000 {
            let gate = gates.gate(&LockName::new(&number.to_string()).unwrap(), Mode::Exclusive);
            drop(gate.turn_now().unwrap());
        }
        assert!(gates.0.lock().is_empty());
    }
}
