//! Control over the protocol steps of a cache, for tests: holds a step before it is sent or before its reply arrives, or makes
//! it fail.
//!
//! A race that a stress run reproduces once in three hundred tries is reproduced every time when a test chooses the order.

use evenkeel_protocol::cache::error::CacheError;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::oneshot;

/// A protocol step.
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

/// Where a step is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Nothing was sent yet.
    BeforeSend,
    /// The store has executed the step; the caller has not received the reply.
    BeforeAnswer,
}

/// Holds protocol steps of a cache and makes them fail, for tests. Pass a clone to the builder.
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

/// A step that the gate holds, or will hold as soon as a call reaches it.
#[derive(Debug)]
pub struct Held {
    reached: oneshot::Receiver<()>,
    go: oneshot::Sender<Result<(), CacheError>>,
}

impl StepGate {
    /// Holds the next such step, once.
    #[must_use]
    pub fn hold(&self, step: Step, side: Side) -> Held {
        let (reached_sender, reached) = oneshot::channel();
        let (go, go_receiver) = oneshot::channel();
        self.0.holds.lock().push(Hold { step, side, reached: reached_sender, go: go_receiver });
        Held { reached, go }
    }

    /// Simulates a replaced connection for a running load.
    pub fn next_epoch(&self) {
        self.0.epochs.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn epochs(&self) -> u64 {
        self.0.epochs.load(Ordering::Relaxed)
    }

    pub(crate) async fn pass(&self, step: Step, side: Side) -> Result<(), CacheError> {
        let hold = {
            let mut holds = self.0.holds.lock();
            let found = holds.iter().position(|hold| (hold.step, hold.side) == (step, side));
            found.map(|at| holds.remove(at))
        };
        match hold {
            None => Ok(()),
            Some(hold) => {
                let _ = hold.reached.send(());
                // If the test dropped its handle, the step continues.
                hold.go.await.unwrap_or(Ok(()))
            }
        }
    }
}

impl Held {
    /// Waits until a step is held.
    pub async fn reached(&mut self) {
        let _ = (&mut self.reached).await;
    }

    /// Lets the step continue.
    pub fn release(self) {
        let _ = self.go.send(Ok(()));
    }

    /// Makes the step fail. With `BeforeAnswer`, this simulates a lost reply.
    pub fn fail(self, error: CacheError) {
        let _ = self.go.send(Err(error));
    }
}
