//! A hand on the steps of a cache, for tests: hold one before it is sent or before its answer arrives, or make it fail.
//!
//! A race window that a stress run meets once in three hundred tries is met every time when a test decides who goes first.

use evenkeel_protocol::cache::error::CacheError;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::oneshot;

/// Which step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the steps")]
pub enum Step {
    Read,
    Lease,
    Fill,
    Abandon,
    Invalidate,
    BeginWrite,
    RenewWrite,
    EndWrite,
}

/// On which side of the store's own work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Nothing was sent yet.
    BeforeSend,
    /// The store did it; the caller does not know.
    BeforeAnswer,
}

/// Hold on to it, and give a clone to the builder.
#[derive(Clone, Debug, Default)]
pub struct StepGate(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    holds: Mutex<Vec<Hold>>,
    epochs: AtomicU64,
}

#[derive(Debug)]
struct Hold {
    step: Step,
    side: Side,
    reached: oneshot::Sender<()>,
    go: oneshot::Receiver<Result<(), CacheError>>,
}

/// One step that is going to be held, or is.
#[derive(Debug)]
pub struct Held {
    reached: oneshot::Receiver<()>,
    go: oneshot::Sender<Result<(), CacheError>>,
}

impl StepGate {
    /// Holds the next such step that comes by, once.
    #[must_use]
    pub fn hold(&self, step: Step, side: Side) -> Held {
        let (reached_sender, reached) = oneshot::channel();
        let (go, go_receiver) = oneshot::channel();
        self.holds().push(Hold { step, side, reached: reached_sender, go: go_receiver });
        Held { reached, go }
    }

    /// What a replaced connection looks like to a load that is running.
    pub fn next_epoch(&self) {
        self.0.epochs.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn epochs(&self) -> u64 {
        self.0.epochs.load(Ordering::Relaxed)
    }

    pub(crate) async fn pass(&self, step: Step, side: Side) -> Result<(), CacheError> {
        let hold = {
            let mut holds = self.holds();
            let found = holds.iter().position(|hold| (hold.step, hold.side) == (step, side));
            found.map(|at| holds.remove(at))
        };
        match hold {
            None => Ok(()),
            Some(hold) => {
                let _ = hold.reached.send(());
                // A test that let go of its hand lets everything pass.
                hold.go.await.unwrap_or(Ok(()))
            }
        }
    }

    fn holds(&self) -> parking_lot::MutexGuard<'_, Vec<Hold>> {
        self.0.holds.lock()
    }
}

impl Held {
    /// Waits until a step stands at the gate.
    pub async fn reached(&mut self) {
        let _ = (&mut self.reached).await;
    }

    /// Lets it go on.
    pub fn release(self) {
        let _ = self.go.send(Ok(()));
    }

    /// Makes it fail. Before the answer, this is an answer that was lost.
    pub fn fail(self, error: CacheError) {
        let _ = self.go.send(Err(error));
    }
}
