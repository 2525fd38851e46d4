//! The loop that takes expired leases back. Every consumer runs it for each of its shards.

use super::ShardWorker;
use evenkeel_protocol::queue::steps::{Fate, Rescue};
use std::sync::Arc;
use std::time::Duration;

/// The most leases taken back in one call; after a full call the next one follows at once.
const LIMIT: usize = 100;
/// The longest pause between two calls.
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// The shortest pause between two calls.
const PAUSE_MIN: Duration = Duration::from_millis(100);

/// Rescues jobs until the task is dropped.
pub(crate) async fn keep_rescuing<T: Send + Sync + 'static>(worker: Arc<ShardWorker<T>>) {
    loop {
        let pause = run_once(&worker).await;
        worker.run.core.clock.sleep(pause).await;
    }
}

/// Takes expired leases back once; returns the pause until the next call.
async fn run_once<T: Send + Sync + 'static>(worker: &ShardWorker<T>) -> Duration {
    let core = &worker.run.core;
    // A lease granted after this call does not expire before this.
    let pause_max = PAUSE_MAX.min(core.settings.visibility);
    let rescue = Rescue {
        limit: LIMIT,
        crash_max: worker.run.crash_max,
        crash_delay_ms: worker.run.crash_delay_ms,
        row_decides: core.has_rows(),
    };
    match core.store.run(&worker.shard, &rescue).await {
        Ok(rescued) => {
            for (id, fate) in &rescued.jobs {
                worker.run.metrics.rescued(*fate);
                match fate {
                    Fate::LeaseExpired => {
                        tracing::warn!(
                            queue = %core.name,
                            %id,
                            "a lease expired before its job started, or while its worker also ran a suspect"
                        );
                    }
                    Fate::Crashed => {
                        tracing::warn!(queue = %core.name, %id, "a lease expired while its worker ran the job");
                    }
                    Fate::Died => {
                        tracing::error!(queue = %core.name, %id, "a job has crashed too often and has become a dead letter");
                    }
                    Fate::Discarded => {
                        tracing::error!(queue = %core.name, %id, "a job has crashed too often and was discarded");
                    }
                }
            }
            if rescued.jobs.len() == LIMIT {
                return Duration::ZERO;
            }
            // Jitter, so that the consumers of a shard do not all call at the same time.
            let jitter = 1.0 + rand::random::<f64>() / 4.0;
            let next = rescued.next_lease_expiry_ms.map_or(pause_max, Duration::from_millis);
            next.mul_f64(jitter).clamp(PAUSE_MIN, pause_max.max(PAUSE_MIN))
        }
        Err(error) => {
            worker.run.metrics.failed("rescue", &error);
            pause_max
        }
    }
}
