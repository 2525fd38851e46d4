//! The loop that extends the leases of a shard, all in one call.

use super::lane::Lane;
use crate::queue::steps::{Beat, ITEMS_MAX, QueueSteps, Receipt};
use std::sync::Arc;

/// Extends leases until it is dropped.
pub(super) async fn keep_beating<T: Send + Sync + 'static>(lane: Arc<Lane<T>>) {
    let core = &lane.run.core;
    let visibility = core.settings.visibility;
    let mut all_is_well = true;
    loop {
        // After a failure there is time for several more attempts before a lease ends.
        let interval = if all_is_well { visibility / 3 } else { visibility / 12 };
        tokio::select! {
            () = core.clock.sleep(interval) => {}
            () = lane.beat_now.notified() => {}
        }
        all_is_well = run_once(&lane).await;
    }
}

/// Extends all leases once, and cancels the handlers of those that are lost. Whether the store answered.
async fn run_once<T: Send + Sync + 'static>(lane: &Lane<T>) -> bool {
    let core = &lane.run.core;
    let mut all_is_well = true;
    for deliveries in lane.running.leases().chunks(ITEMS_MAX) {
        let beat =
            Beat { worker: lane.worker(), lease_ms: core.settings.visibility_ms(), deliveries: deliveries.to_vec() };
        match core.store.beat(&lane.shard, &beat).await {
            Ok(held) => {
                let lost = deliveries.iter().zip(held).filter(|(_, held)| !held);
                lost.for_each(|((receipt, _), _)| lose(lane, receipt));
            }
            Err(error) => {
                lane.run.metrics.failed("beat", &error);
                all_is_well = false;
            }
        }
    }
    all_is_well
}

fn lose<T>(lane: &Lane<T>, receipt: &Receipt) {
    if lane.running.lost(receipt) {
        lane.run.metrics.leases_lost.increment(1);
        tracing::warn!(
            queue = %lane.run.core.name,
            id = %receipt.id,
            "a lease ended while its handler ran; the handler is cancelled, another worker has the job"
        );
    }
}
