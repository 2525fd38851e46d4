//! The heartbeat: the loop that extends all leases of a shard in one call.

use super::ShardWorker;
use crate::queue::consume::attempt::suspects::SuspectPermit;
use evenkeel_link::clock::Clock;
use evenkeel_link::support::{Backoff, guard};
use evenkeel_protocol::queue::steps::{Heartbeat, ITEMS_MAX, Receipt, WORKER_COUNTED_MS};
use std::sync::Arc;
use std::time::Duration;

/// The longest interval, for any visibility timeout: the statistics do not count a worker without a heartbeat in the last minute.
const INTERVAL_MAX: Duration = Duration::from_millis(WORKER_COUNTED_MS / 3);
/// The backoff between repetitions of a report that a suspect waits for.
const REPORT: Backoff = Backoff { delay_min: Duration::from_millis(20), delay_max: Duration::from_secs(1) };

/// Extends leases until the task is dropped.
pub(crate) async fn send_heartbeats<T: Send + Sync + 'static>(worker: Arc<ShardWorker<T>>) {
    let core = &worker.run.core;
    let visibility = core.settings.visibility;
    let mut all_is_well = true;
    loop {
        // After a failure the shorter interval leaves time for several attempts before a lease expires.
        let interval =
            if all_is_well { (visibility / 3).min(INTERVAL_MAX) } else { (visibility / 12).min(INTERVAL_MAX) };
        tokio::select! {
            () = core.clock.sleep(interval) => {}
            () = worker.heartbeat_now.notified() => {}
        }
        all_is_well = run_once(&worker, &mut *worker.reported.lock().await).await;
    }
}

/// Reports a suspect before its attempt starts: first that the other jobs on all shards are shielded, then that the suspect has been
/// started, so that its crash is counted. Returns whether its delivery is still current.
pub(crate) async fn report_begin<T: Send + Sync + 'static>(
    worker: &ShardWorker<T>,
    receipt: &Receipt,
    place: &SuspectPermit,
) -> bool {
    let beginning = place.begins();
    for other in worker.run.workers().iter().filter(|other| other.shard != worker.shard) {
        if guard("queue_shield_first") {
            until_reported(other, beginning).await;
        }
    }
    worker.running.started(receipt, worker.run.core.clock.now());
    until_reported(worker, place.begins()).await;
    worker.running.holds(receipt)
}

/// Reports all deliveries of a shard, unless a report has succeeded since this start of a suspect.
async fn until_reported<T: Send + Sync + 'static>(worker: &ShardWorker<T>, beginning: u64) {
    for attempt in 0.. {
        let mut reported = worker.reported.lock().await;
        if *reported >= beginning || run_once(worker, &mut reported).await {
            return;
        }
        drop(reported);
        // The system clock, because the pause waits for a server and not for a job's due time.
        Clock::system().sleep(REPORT.delay(attempt)).await;
    }
}

/// Extends all leases once, and cancels the handlers of lost ones. Returns whether the store answered. `reported` is the number of the
/// latest start of a suspect that the store knows; its lock orders the calls, so that no older report replaces a newer one.
async fn run_once<T: Send + Sync + 'static>(worker: &ShardWorker<T>, reported: &mut u64) -> bool {
    let core = &worker.run.core;
    let mut all_is_well = true;
    let begun = worker.run.suspects.begun();
    let leases = worker.run.suspects.report(worker.running.leases().into_iter());
    for deliveries in leases.chunks(ITEMS_MAX) {
        let heartbeat =
            Heartbeat { worker: worker.id(), lease_ms: core.settings.visibility_ms(), deliveries: deliveries.to_vec() };
        match core.store.run(&worker.shard, &heartbeat).await {
            Ok(held) => {
                let lost = deliveries.iter().zip(held).filter(|(_, held)| !held);
                lost.for_each(|((receipt, _), _)| lose(worker, receipt));
            }
            Err(error) => {
                worker.run.metrics.failed("heartbeat", &error);
                all_is_well = false;
            }
        }
    }
    if all_is_well {
        *reported = begun;
    }
    all_is_well
}

fn lose<T>(worker: &ShardWorker<T>, receipt: &Receipt) {
    if worker.running.lost(receipt) {
        worker.run.metrics.leases_lost.increment(1);
        tracing::warn!(
            queue = %worker.run.core.name,
            id = %receipt.id,
            "a lease was lost while its handler ran; the handler is canceled, another worker may run the job"
        );
    }
}
