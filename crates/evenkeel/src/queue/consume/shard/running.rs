//! The deliveries that one lane holds.

use crate::queue::consume::delivery::Cancellation;
use evenkeel_link::support::guard;
use evenkeel_protocol::queue::job::JobId;
use evenkeel_protocol::queue::steps::Receipt;
use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use tokio::task::JoinHandle;

/// The deliveries that one lane holds, from claim to verdict.
#[derive(Default)]
pub(crate) struct Running(Mutex<HashMap<(JobId, u64), Held>>);

struct Held {
    receipt: Receipt,
    /// The handler has begun.
    started: bool,
    /// The handler has ended, and its settlement is on the way.
    ended: bool,
    cancellation: Cancellation,
    task: Option<JoinHandle<()>>,
}

impl Running {
    pub(crate) fn add(&self, receipt: Receipt, cancellation: Cancellation) {
        let held = Held { receipt, started: false, ended: false, cancellation, task: None };
        self.held().insert(key(&receipt), held);
    }

    /// The task that runs it, unless it has ended already.
    pub(crate) fn runs_in(&self, receipt: &Receipt, task: JoinHandle<()>) {
        if let Some(held) = self.held().get_mut(&key(receipt)) {
            held.task = Some(task);
        }
    }

    pub(crate) fn started(&self, receipt: &Receipt) {
        if let Some(held) = self.held().get_mut(&key(receipt)) {
            held.started = true;
        }
    }

    /// Its handler has ended; its lease is extended until the verdict is in.
    pub(crate) fn ended(&self, receipt: &Receipt) {
        if let Some(held) = self.held().get_mut(&key(receipt)) {
            held.ended = true;
        }
    }

    /// Lets go of those whose handlers have ended: the loop that was to settle them is a new one and does not know them. What still
    /// reaches it is settled; the leases of the others end.
    pub(crate) fn forget_ended(&self) {
        self.held().retain(|_, held| !held.ended);
    }

    /// Whether it has not been lost.
    pub(crate) fn holds(&self, receipt: &Receipt) -> bool {
        self.held().contains_key(&key(receipt))
    }

    pub(crate) fn remove(&self, receipt: &Receipt) {
        self.held().remove(&key(receipt));
    }

    /// Nothing is held, and nothing on its way to be settled.
    pub(crate) fn is_empty(&self) -> bool {
        self.held().is_empty()
    }

    /// What to extend, and whether it was started.
    pub(crate) fn leases(&self) -> Vec<(Receipt, bool)> {
        self.held().values().map(|held| (held.receipt, held.started)).collect()
    }

    /// Another worker may have it: its handler is cancelled. Says whether it still ran.
    pub(crate) fn lost(&self, receipt: &Receipt) -> bool {
        let mut all = self.held();
        let Some(held) = all.get(&key(receipt)).filter(|held| !held.ended) else { return false };
        if guard("queue_cancel_lost") {
            held.cancellation.fire();
            all.remove(&key(receipt));
        }
        true
    }

    /// Takes those whose handlers have not ended, with their tasks.
    pub(crate) fn take_unfinished(&self) -> Vec<(Receipt, Option<JoinHandle<()>>)> {
        let mut all = self.held();
        let unfinished: Vec<(JobId, u64)> = all.iter().filter(|(_, held)| !held.ended).map(|(key, _)| *key).collect();
        let taken = unfinished.iter().filter_map(|key| all.remove(key));
        taken
            .map(|mut held| {
                held.cancellation.fire();
                (held.receipt, held.task.take())
            })
            .collect()
    }

    fn held(&self) -> MutexGuard<'_, HashMap<(JobId, u64), Held>> {
        self.0.lock()
    }
}

/// A job may be held twice: by a delivery that was lost and is ending, and by the one after it.
fn key(receipt: &Receipt) -> (JobId, u64) {
    (receipt.id, receipt.fence)
}
