//! [`ProcessReport`]: the form of a report. It is stored as JSON, so that an operator can read it.
//!
//! Programs of different versions read each other's reports: a field is only ever added, an unknown one is ignored, and a missing one has
//! its default.

use serde::{Deserialize, Serialize};

/// What one process says about itself. All times are Redis's, in ms since 1970.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ProcessReport {
    /// The name of its host.
    pub host: String,
    /// Its process id on that host.
    pub pid: u32,
    /// The version of Evenkeel that it was built with.
    pub version: String,
    /// When its handle was opened.
    pub started_ms: u64,
    /// The epoch of its link, which rises with every reconnection; `None` for an embedded store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
    /// Its open caches.
    pub caches: Vec<CacheReport>,
    /// Its consumers of queues.
    pub consumers: Vec<ConsumerReport>,
    /// The jobs whose handlers run.
    pub jobs: Vec<JobReport>,
    /// Its consumers of streams.
    pub stream_consumers: Vec<StreamConsumerReport>,
    /// The locks that it holds.
    pub locks: Vec<LockReport>,
    /// The schedules that it runs.
    pub schedules: Vec<ScheduleReport>,
    /// The relays that it runs.
    pub relays: Vec<RelayReport>,
    /// The libraries of Redis functions that it calls.
    pub libraries: Vec<String>,
    /// How many items of these lists were left out, because the report would have been too large.
    pub left_out: u64,
}

/// The counters of a cache since it was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct CacheReport {
    /// Its name.
    pub cache: String,
    /// Reads served by the store, stale ones included.
    pub hits: u64,
    /// Those of them that were served a stale value.
    pub stale_hits: u64,
    /// Reads served by the near cache.
    pub near_hits: u64,
    /// Reads that found no value that they may serve.
    pub misses: u64,
    /// Runs of the loader that returned a value, or that there is none.
    pub loads: u64,
    /// Runs of the loader that failed.
    pub loads_failed: u64,
    /// Readers that were rejected because too many were loading or waiting.
    pub shed: u64,
}

/// A consumer of a queue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ConsumerReport {
    /// The topic.
    pub topic: String,
    /// The number of jobs that it runs at once at most.
    pub slots: u64,
    /// The number of its slots in use.
    pub used: u64,
    /// The number of handlers that have returned since it started.
    pub handled: u64,
    /// The time that they took together.
    pub handled_ms: u64,
}

/// A job whose handler runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct JobReport {
    /// The topic.
    pub topic: String,
    /// The id of the job.
    pub id: String,
    /// When its handler was called.
    pub since_ms: u64,
    /// The number of the attempt; the first is 1.
    pub attempt: u32,
}

/// A consumer of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct StreamConsumerReport {
    /// The stream.
    pub stream: String,
    /// The group.
    pub group: String,
    /// The number of entries that it runs at once at most.
    pub slots: u64,
    /// The number of its slots in use.
    pub used: u64,
}

/// A lock that the process holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct LockReport {
    /// The name of the lock, read/write lock or semaphore.
    pub lock: String,
    /// Its fencing token.
    pub fence: u64,
    /// When it was acquired.
    pub since_ms: u64,
}

/// A schedule that the process runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ScheduleReport {
    /// The topic.
    pub topic: String,
    /// The name of the schedule.
    pub schedule: String,
    /// The expression in use.
    pub cron: String,
    /// The next tick, which is enqueued already; `None` before the first was enqueued.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_ms: Option<u64>,
}

/// A relay that the process runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct RelayReport {
    /// The kind of its database.
    pub database: String,
    /// The name of its outbox, once the relay has read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outbox: Option<String>,
    /// When a pass over the outbox last succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passed_ms: Option<u64>,
}
