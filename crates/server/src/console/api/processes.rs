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

/// Views of the reports of the library: each field with its type and its value.
macro_rules! views {
    ($($(#[$doc:meta])* struct $view:ident($of:ident: $report:ident) { $($(#[$note:meta])* $field:ident: $type:ty = $value:expr,)+ })+) => {$(
        $(#[$doc])*
        #[derive(Serialize, ToSchema)]
        struct $view {
            $($(#[$note])* $field: $type,)+
        }

        impl From<&$report> for $view {
            fn from($of: &$report) -> Self {
                Self { $($field: $value,)+ }
            }
        }
    )+};
}

views! {
    struct Report(report: ProcessReport) {
        version: String = report.version.clone(),
        /// When the handle was opened, in ms since 1970.
        started: Wide = Wide(report.started_ms),
        /// The epoch of the link.
        epoch: Option<Wide> = report.epoch.map(Wide),
        caches: Vec<Cache> = views(&report.caches),
        consumers: Vec<Consumer> = views(&report.consumers),
        jobs: Vec<Running> = views(&report.jobs),
        stream_consumers: Vec<StreamConsumer> = views(&report.stream_consumers),
        locks: Vec<Held> = views(&report.locks),
        schedules: Vec<Schedule> = views(&report.schedules),
        relays: Vec<Relay> = views(&report.relays),
        /// How many items of these lists the process left out.
        left_out: Wide = Wide(report.left_out),
    }

    /// Counters since the cache was opened.
    struct Cache(cache: CacheReport) {
        name: String = cache.cache.clone(),
        hits: Wide = Wide(cache.hits),
        stale_hits: Wide = Wide(cache.stale_hits),
        near_hits: Wide = Wide(cache.near_hits),
        misses: Wide = Wide(cache.misses),
        loads: Wide = Wide(cache.loads),
        loads_failed: Wide = Wide(cache.loads_failed),
        shed: Wide = Wide(cache.shed),
    }

    struct Consumer(consumer: ConsumerReport) {
        topic: String = consumer.topic.clone(),
        slots: Wide = Wide(consumer.slots),
        used: Wide = Wide(consumer.used),
        /// The handlers that have returned since it started.
        handled: Wide = Wide(consumer.handled),
        /// The time that they took together.
        handled_ms: Wide = Wide(consumer.handled_ms),
    }

    struct StreamConsumer(consumer: StreamConsumerReport) {
        stream: String = consumer.stream.clone(),
        group: String = consumer.group.clone(),
        slots: Wide = Wide(consumer.slots),
        used: Wide = Wide(consumer.used),
    }

    /// A job whose handler runs.
    struct Running(job: JobReport) {
        topic: String = job.topic.clone(),
        id: String = job.id.clone(),
        /// When the handler was called, in ms since 1970.
        since: Wide = Wide(job.since_ms),
        attempt: u32 = job.attempt,
    }

    /// A held lock, read/write lock or semaphore.
    struct Held(lock: LockReport) {
        name: String = lock.lock.clone(),
        fence: Wide = Wide(lock.fence),
        /// When it was acquired, in ms since 1970.
        since: Wide = Wide(lock.since_ms),
    }

    struct Schedule(schedule: ScheduleReport) {
        topic: String = schedule.topic.clone(),
        name: String = schedule.schedule.clone(),
        cron: String = schedule.cron.clone(),
        /// The next tick, in ms since 1970.
        next: Option<Wide> = schedule.next_ms.map(Wide),
    }

    struct Relay(relay: RelayReport) {
        /// The kind of the database.
        database: String = relay.database.clone(),
        outbox: Option<String> = relay.outbox.clone(),
        /// The last pass that succeeded, in ms since 1970.
        passed: Option<Wide> = relay.passed_ms.map(Wide),
    }
}

fn views<'a, T, V: From<&'a T>>(items: &'a [T]) -> Vec<V> {
    items.iter().map(V::from).collect()
}

#[utoipa::path(
    get, path = "/api/v1/sources/{source}/processes", operation_id = "list_processes",
    tag = "processes", summary = "List the processes with what they run and hold",
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
