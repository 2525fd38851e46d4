//! The local queue: of all tasks of this process that want a name, one at a time contends for it or holds it.

use crate::lock::hold::lease::Lease;
use evenkeel_link::clock::Moment;
use evenkeel_protocol::lock::name::LockName;
use evenkeel_protocol::lock::steps::WakeListener;
use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The gates of one process, each for as long as a task is at it.
#[derive(Default)]
pub(crate) struct Gates(Mutex<HashMap<LockName, Weak<Gate>>>);

/// The queue before one name.
pub(crate) struct Gate {
    name: LockName,
    gates: Weak<Gates>,
    /// Fair: first come, first served. Who leaves the queue hands his turn on.
    turn: Arc<Semaphore>,
    queued: AtomicUsize,
    /// The answer to those who leave the queue.
    free_at: Mutex<FreeAt>,
    /// Kept while anybody is at the gate, so that each contender need not subscribe anew. Only who has the turn uses it.
    pub(crate) listener: tokio::sync::Mutex<Option<Box<dyn WakeListener>>>,
}

/// When the lock is free at the earliest, as far as this process knows.
#[derive(Default)]
enum FreeAt {
    #[default]
    Unknown,
    /// The store's last answer.
    At(Moment),
    /// A task of this process holds it; and how long it cools after that.
    After(Weak<Lease>, Duration),
}

/// The turn of one task; the next one's begins when it is dropped.
pub(crate) struct Turn {
    gate: Arc<Gate>,
    _permit: OwnedSemaphorePermit,
}

impl Gates {
    pub(crate) fn gate(self: &Arc<Self>, name: &LockName) -> Arc<Gate> {
        let mut gates = self.all();
        if let Some(gate) = gates.get(name).and_then(Weak::upgrade) {
            return gate;
        }
        let gate = Arc::new(Gate {
            name: name.clone(),
            gates: Arc::downgrade(self),
            turn: Arc::new(Semaphore::new(1)),
            queued: AtomicUsize::new(0),
            free_at: Mutex::default(),
            listener: tokio::sync::Mutex::default(),
        });
        gates.insert(name.clone(), Arc::downgrade(&gate));
        gate
    }

    fn all(&self) -> MutexGuard<'_, HashMap<LockName, Weak<Gate>>> {
        self.0.lock()
    }
}

impl Gate {
    /// Waits for the turn.
    pub(crate) async fn turn(self: &Arc<Self>) -> Turn {
        let _queued = Queued::new(&self.queued);
        loop {
            // Nobody closes the semaphore; if somebody did, waiting for ever would be wrong, and so would going on.
            if let Ok(permit) = Arc::clone(&self.turn).acquire_owned().await {
                return Turn { gate: Arc::clone(self), _permit: permit };
            }
            std::future::pending::<()>().await;
        }
    }

    /// The turn, if it is nobody's.
    pub(crate) fn turn_now(self: &Arc<Self>) -> Option<Turn> {
        let permit = Arc::clone(&self.turn).try_acquire_owned().ok()?;
        Some(Turn { gate: Arc::clone(self), _permit: permit })
    }

    /// In what time the lock is free at the earliest; nothing if that is not known.
    pub(crate) fn free_in(&self, now: Moment) -> Duration {
        match &*self.free_at.lock() {
            FreeAt::Unknown => Duration::ZERO,
            FreeAt::At(moment) => moment.since(now),
            FreeAt::After(lease, cooling) => {
                lease.upgrade().map_or(Duration::ZERO, |lease| lease.remaining() + *cooling)
            }
        }
    }

    /// The store says when it is free.
    pub(crate) fn free_at(&self, moment: Moment) {
        *self.free_at.lock() = FreeAt::At(moment);
    }

    /// A task of this process holds it from now on.
    pub(crate) fn held(&self, lease: &Arc<Lease>, cooling: Duration) {
        *self.free_at.lock() = FreeAt::After(Arc::downgrade(lease), cooling);
    }

    /// Whether anybody waits for the turn.
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
        let mut all = gates.all();
        // Another gate of this name may be there already.
        if all.get(&self.name).is_some_and(|gate| gate.strong_count() == 0) {
            all.remove(&self.name);
        }
    }
}

/// One task in the queue.
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
