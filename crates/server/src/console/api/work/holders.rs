//! [`Holders`]: which workers over HTTP hold which jobs, as far as they call this console. Redis knows their ids only.

use evenkeel::clock::{Clock, Moment};
use evenkeel::queue::JobId;
use evenkeel_protocol::queue::steps::Receipt;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::time::Duration;

/// Jobs that are remembered. If there are more, those whose leases have ended are forgotten, and else the new one is.
const JOBS_MAX: usize = 10_000;
/// Characters of a worker's name that are shown. The rest is its secret.
const NAME_CHARS: usize = 8;

struct Holder {
    fence: u64,
    name: String,
    lease_ends: Moment,
}

/// See the module.
pub(crate) struct Holders {
    clock: Clock,
    jobs: Mutex<BTreeMap<(String, JobId), Holder>>,
}

impl Holders {
    pub(crate) fn new(clock: Clock) -> Self {
        Self { clock, jobs: Mutex::default() }
    }

    /// Notes that the worker of this key holds a job of `topic` for `lease_ms`.
    pub(super) fn note(&self, (topic, receipt): (&str, Receipt), (key, worker): (&str, &str), lease_ms: u64) {
        let now = self.clock.now();
        let worker: String = worker.chars().take(NAME_CHARS).collect();
        let name = format!("worker {worker}… over HTTP, key {key}");
        let mut jobs = self.jobs.lock();
        if jobs.len() >= JOBS_MAX {
            jobs.retain(|_, holder| holder.lease_ends > now);
        }
        if jobs.len() < JOBS_MAX {
            let lease_ends = now + Duration::from_millis(lease_ms);
            jobs.insert((topic.to_owned(), receipt.id), Holder { fence: receipt.fence, name, lease_ends });
        }
    }

    /// Who holds the delivery of a job with this fencing token.
    pub(crate) fn of(&self, topic: &str, id: JobId, fence: u64) -> Option<String> {
        let jobs = self.jobs.lock();
        let holder = jobs.get(&(topic.to_owned(), id))?;
        (holder.fence == fence).then(|| holder.name.clone())
    }
}
