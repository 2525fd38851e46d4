//! The processes that report (docs/spec/process.md).

use super::OnSource;
use super::openapi::ReadProblems;
use super::wide::Wide;
use crate::process::figures::host_and_pid;
use axum::Json;
use evenkeel::process::{
    CacheReport, ConsumerReport, JobReport, LockReport, Process, ProcessReport, RelayReport, ScheduleReport,
    StreamConsumerReport,
};
use serde::Serialize;
use utoipa::ToSchema;
use web::Problem;

/// The processes that have reported, the latest first.
#[derive(Serialize, ToSchema)]
pub(super) struct Processes {
    /// Redis's time of the reading, in ms since 1970.
    now: Wide,
    /// Why the last reading failed, while the reports are those of an earlier one.
    failed: Option<String>,
    processes: Vec<ProcessView>,
    /// How many processes reported earlier than those of the list.
    further: Wide,
    /// How many values of other programs are under the keys of the reports.
    ignored: Wide,
}

#[derive(Serialize, ToSchema)]
struct ProcessView {
    id: String,
    host: String,
    pid: String,
    /// The last report, in ms since 1970.
    seen: Wide,
    is_alive: bool,
    /// Absent: it has expired.
    report: Option<Report>,
}

#[derive(Serialize, ToSchema)]
struct Report {
    version: String,
    /// When the handle was opened, in ms since 1970.
    started: Wide,
    /// The epoch of the link.
    epoch: Option<Wide>,
    caches: Vec<Cache>,
    consumers: Vec<Consumer>,
    jobs: Vec<Running>,
    stream_consumers: Vec<StreamConsumer>,
    locks: Vec<Held>,
    schedules: Vec<Schedule>,
    relays: Vec<Relay>,
    /// How many items of these lists the process left out.
    left_out: Wide,
}

/// Counters since the cache was opened.
#[derive(Serialize, ToSchema)]
struct Cache {
    name: String,
    hits: Wide,
    stale_hits: Wide,
    near_hits: Wide,
    misses: Wide,
    loads: Wide,
    loads_failed: Wide,
    shed: Wide,
}

#[derive(Serialize, ToSchema)]
struct Consumer {
    topic: String,
    slots: Wide,
    used: Wide,
}

#[derive(Serialize, ToSchema)]
struct StreamConsumer {
    stream: String,
    group: String,
    slots: Wide,
    used: Wide,
}

/// A job whose handler runs.
#[derive(Serialize, ToSchema)]
struct Running {
    topic: String,
    id: String,
    /// When the handler was called, in ms since 1970.
    since: Wide,
    attempt: u32,
}

/// A held lock, read/write lock or semaphore.
#[derive(Serialize, ToSchema)]
struct Held {
    name: String,
    fence: Wide,
    /// When it was acquired, in ms since 1970.
    since: Wide,
}

#[derive(Serialize, ToSchema)]
struct Schedule {
    topic: String,
    name: String,
    cron: String,
    /// The next tick, in ms since 1970.
    next: Option<Wide>,
}

#[derive(Serialize, ToSchema)]
struct Relay {
    /// The kind of the database.
    database: String,
    outbox: Option<String>,
    /// The last pass that succeeded, in ms since 1970.
    passed: Option<Wide>,
}

#[utoipa::path(
    get, path = "/api/v1/sources/{source}/processes", operation_id = "list_processes",
    tag = "processes", summary = "List the processes with what they run and hold",
    params(("source" = String, Path)),
    responses((status = 200, description = "Done", body = Processes), ReadProblems)
)]
pub(super) async fn list(at: OnSource) -> Result<Json<Processes>, Problem> {
    at.source()?;
    let reports = at.app.collector.reports().await;
    let found = &reports.found;
    Ok(Json(Processes {
        now: Wide(found.now_ms),
        failed: reports.failed.clone(),
        processes: found.processes.iter().map(|process| ProcessView::of(process, found.now_ms)).collect(),
        further: found.further.into(),
        ignored: found.ignored.into(),
    }))
}

impl ProcessView {
    fn of(process: &Process, now_ms: u64) -> Self {
        let [host, pid] = host_and_pid(process);
        Self {
            id: process.id.clone(),
            host,
            pid,
            seen: Wide(process.seen_ms),
            is_alive: process.is_alive(now_ms),
            report: process.report.as_ref().map(Report::from),
        }
    }
}

impl From<&ProcessReport> for Report {
    fn from(report: &ProcessReport) -> Self {
        Self {
            version: report.version.clone(),
            started: Wide(report.started_ms),
            epoch: report.epoch.map(Wide),
            caches: views(&report.caches),
            consumers: views(&report.consumers),
            jobs: views(&report.jobs),
            stream_consumers: views(&report.stream_consumers),
            locks: views(&report.locks),
            schedules: views(&report.schedules),
            relays: views(&report.relays),
            left_out: Wide(report.left_out),
        }
    }
}

fn views<'a, T, V: From<&'a T>>(items: &'a [T]) -> Vec<V> {
    items.iter().map(V::from).collect()
}

impl From<&CacheReport> for Cache {
    fn from(cache: &CacheReport) -> Self {
        Self {
            name: cache.cache.clone(),
            hits: Wide(cache.hits),
            stale_hits: Wide(cache.stale_hits),
            near_hits: Wide(cache.near_hits),
            misses: Wide(cache.misses),
            loads: Wide(cache.loads),
            loads_failed: Wide(cache.loads_failed),
            shed: Wide(cache.shed),
        }
    }
}

impl From<&ConsumerReport> for Consumer {
    fn from(consumer: &ConsumerReport) -> Self {
        Self { topic: consumer.topic.clone(), slots: Wide(consumer.slots), used: Wide(consumer.used) }
    }
}

impl From<&StreamConsumerReport> for StreamConsumer {
    fn from(consumer: &StreamConsumerReport) -> Self {
        Self {
            stream: consumer.stream.clone(),
            group: consumer.group.clone(),
            slots: Wide(consumer.slots),
            used: Wide(consumer.used),
        }
    }
}

impl From<&JobReport> for Running {
    fn from(job: &JobReport) -> Self {
        Self { topic: job.topic.clone(), id: job.id.clone(), since: Wide(job.since_ms), attempt: job.attempt }
    }
}

impl From<&LockReport> for Held {
    fn from(lock: &LockReport) -> Self {
        Self { name: lock.lock.clone(), fence: Wide(lock.fence), since: Wide(lock.since_ms) }
    }
}

impl From<&ScheduleReport> for Schedule {
    fn from(schedule: &ScheduleReport) -> Self {
        Self {
            topic: schedule.topic.clone(),
            name: schedule.schedule.clone(),
            cron: schedule.cron.clone(),
            next: schedule.next_ms.map(Wide),
        }
    }
}

impl From<&RelayReport> for Relay {
    fn from(relay: &RelayReport) -> Self {
        Self { database: relay.database.clone(), outbox: relay.outbox.clone(), passed: relay.passed_ms.map(Wide) }
    }
}
