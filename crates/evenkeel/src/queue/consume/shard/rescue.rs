//! The loop that takes lapsed leases back. Every consumer does it for every shard it serves.

use super::Lane;
use evenkeel_protocol::queue::steps::{Fate, Rescue};
use std::sync::Arc;
use std::time::Duration;

/// Leases taken back in one call; when there are more, the next call follows at once.
const LIMIT: usize = 100;
/// The longest pause between two looks.
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// The shortest.
const PAUSE_MIN: Duration = Duration::from_millis(100);

/// Rescues until it is dropped.
pub(crate) async fn keep_rescuing<T: Send + Sync + 'static>(lane: Arc<Lane<T>>) {
    loop {
        let pause = run_once(&lane).await;
        lane.run.core.clock.sleep(pause).await;
    }
}

/// Takes back what has lapsed; answers how long to wait until the next look.
async fn run_once<T: Send + Sync + 'static>(lane: &Lane<T>) -> Duration {
    let core = &lane.run.core;
    // A lease that begins after this look does not end before this.
    let pause_max = PAUSE_MAX.min(core.settings.visibility);
    let rescue = Rescue {
        limit: LIMIT,
        crash_max: lane.run.crash_max,
        crash_delay_ms: lane.run.crash_delay_ms,
        is_judged: core.is_judged(),
    };
    match core.store.rescue(&lane.shard, rescue).await {
        Ok(rescued) => {
            for (id, fate) in &rescued.jobs {
                lane.run.metrics.rescued(*fate);
                match fate {
                    Fate::Lapsed => {
                        tracing::warn!(queue = %core.name, %id, "a worker fell silent before it began a job, or while a suspect ran beside it");
                    }
                    Fate::Crashed => {
                        tracing::warn!(queue = %core.name, %id, "a worker fell silent while it ran a job");
                    }
                    Fate::Died => {
                        tracing::error!(queue = %core.name, %id, "a job has crashed too often and is a dead letter");
                    }
                    Fate::Discarded => {
                        tracing::error!(queue = %core.name, %id, "a job has crashed too often and was discarded");
                    }
                }
            }
            if rescued.jobs.len() == LIMIT {
                return Duration::ZERO;
            }
            // So that the consumers of a shard do not all come at the same moment.
            let jitter = 1.0 + rand::random::<f64>() / 4.0;
            let next = rescued.next_lapse_ms.map_or(pause_max, Duration::from_millis);
            next.mul_f64(jitter).clamp(PAUSE_MIN, pause_max.max(PAUSE_MIN))
        }
        Err(error) => {
            lane.run.metrics.failed("rescue", &error);
            pause_max
        }
    }
}
