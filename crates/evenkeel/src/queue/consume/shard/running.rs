//! The deliveries that one shard worker holds.

use crate::handling::cancellation::Cancellation;
use crate::process::draft::Draft;
use evenkeel_link::clock::Moment;
use evenkeel_link::support::guard;
use evenkeel_protocol::process::report::JobReport;
use evenkeel_protocol::queue::job::JobId;
use evenkeel_protocol::queue::steps::Receipt;
use parking_lot::Mutex;
use std::collections::HashMap;
use tokio::task::JoinHandle;

/// The deliveries that one shard worker holds, from claim to verdict.
#[derive(Default)]
pub(crate) struct Running(Mutex<HashMap<(JobId, u64), Held>>);

struct Held {
    receipt: Receipt,
    /// The number of the attempt.
    attempt: u32,
    /// When the handler was started.
    started: Option<Moment>,
    /// The handler has ended, and its settlement is pending.
    ended: bool,
    cancellation: Cancellation,
    task: Option<JoinHandle<()>>,
}

impl Running {
    pub(crate) fn add(&self, receipt: Receipt, attempt: u32, cancellation: Cancellation) {
        let held = Held { receipt, attempt, started: None, ended: false, cancellation, task: None };
        self.0.lock().insert(key(&receipt), held);
    }

    /// Records the task of a delivery, unless the delivery has ended already.
    pub(crate) fn runs_in(&self, receipt: &Receipt, task: JoinHandle<()>) {
        if let Some(held) = self.0.lock().get_mut(&key(receipt)) {
            held.task = Some(task);
        }
    }

    pub(crate) fn started(&self, receipt: &Receipt, now: Moment) {
        if let Some(held) = self.0.lock().get_mut(&key(receipt)) {
            held.started = Some(now);
        }
    }

    /// Records that the handler has ended. The lease is extended until the verdict has arrived.
    pub(crate) fn ended(&self, receipt: &Receipt) {
        if let Some(held) = self.0.lock().get_mut(&key(receipt)) {
            held.ended = true;
        }
    }

    /// Removes the deliveries whose handlers have ended, because a restarted loop has lost their settlements. Settlements that are still in
    /// its channel are sent; the leases of the other deliveries expire.
    pub(crate) fn forget_ended(&self) {
        self.0.lock().retain(|_, held| !held.ended);
    }

    /// Whether the delivery is still held.
    pub(crate) fn holds(&self, receipt: &Receipt) -> bool {
        self.0.lock().contains_key(&key(receipt))
    }

    pub(crate) fn remove(&self, receipt: &Receipt) {
        self.0.lock().remove(&key(receipt));
    }

    /// Whether no delivery is held or being settled.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }

    /// The leases to extend, and whether the handler of each was started.
    pub(crate) fn leases(&self) -> Vec<(Receipt, bool)> {
        self.0.lock().values().map(|held| (held.receipt, held.started.is_some())).collect()
    }

    /// Adds the deliveries whose handlers run to a report.
    pub(crate) fn add_to(&self, topic: &str, draft: &mut Draft) {
        for held in self.0.lock().values().filter(|held| !held.ended) {
            let Some(since) = held.started else { continue };
            let since_ms = draft.at(since);
            let job = || {
                let mut job = JobReport::default();
                (job.topic, job.id) = (topic.to_owned(), held.receipt.id.to_string());
                (job.since_ms, job.attempt) = (since_ms, held.attempt);
                job
            };
            draft.add(|report| &mut report.jobs, job);
        }
    }

    /// Cancels the handler of a lost delivery, which another worker may have. Returns whether the handler was still running.
    pub(crate) fn lost(&self, receipt: &Receipt) -> bool {
        let mut all = self.0.lock();
        let Some(held) = all.get(&key(receipt)).filter(|held| !held.ended) else { return false };
        if guard("queue_cancel_lost") {
            held.cancellation.fire();
            all.remove(&key(receipt));
        }
        true
    }

    /// Removes the deliveries whose handlers have not ended, and returns them with their tasks.
    pub(crate) fn take_unfinished(&self) -> Vec<(Receipt, Option<JoinHandle<()>>)> {
        let mut all = self.0.lock();
        let unfinished: Vec<(JobId, u64)> = all.iter().filter(|(_, held)| !held.ended).map(|(key, _)| *key).collect();
        let taken = unfinished.iter().filter_map(|key| all.remove(key));
        taken
            .map(|mut held| {
                held.cancellation.fire();
                (held.receipt, held.task.take())
            })
            .collect()
    }
}

/// Id and fence, because a job may be held twice: by a lost delivery that is being canceled, and by its successor.
fn key(receipt: &Receipt) -> (JobId, u64) {
    (receipt.id, receipt.fence)
}
