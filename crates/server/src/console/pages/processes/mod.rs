//! What the processes report: `/workers`, `/schedules`, and parts of `/caches` and `/locks`.
//!
//! Any program that may write to Redis may write a report: its texts are escaped and cut like bodies of jobs.

pub(super) mod caches;
pub(super) mod locks;
pub(super) mod schedules;
pub(super) mod workers;

use crate::console::collector::Reports;
use crate::output::truncated;
use crate::process::figures::{host_and_pid, ignored, living};
use crate::time::span;
use evenkeel::process::{Process, ProcessReport};
use maud::{Markup, html};

/// Rows of one table. Further ones are counted.
const ROWS_MAX: usize = 500;
/// Characters of a name.
const NAME_MAX: usize = 128;

/// What a page says about the reports as a whole: that they could not be read, that there are none, or that there are more.
fn notes(reports: &Reports) -> Markup {
    let found = &reports.found;
    html! {
        @if let Some(reason) = &reports.failed { div.notice.bad { p { "✕ The process reports could not be read: " (reason) } } }
        @if let Some(warning) = ignored(found) { div.notice.warn { p { "! " (warning) "." } } }
        @if found.further > 0 { p.hint { (super::number(found.further)) " further processes reported earlier; the 200 that reported last are counted here." } }
    }
}

/// What stands in place of a table if no process reports.
fn not_reported(reports: &Reports) -> Markup {
    html! {
        div.empty {
            h3 { "Not reported" }
            @if reports.failed.is_some() && reports.found.now_ms == 0 { p { "The process reports were never read." } }
            @else { p { "No process has reported this. A process reports ten seconds after its start, unless it has switched that off (" code { "KeelBuilder::process_reports" } ") or runs an older version." } }
        }
    }
}

/// How many rows a table leaves out.
fn left_out(rows: usize) -> Markup {
    let further = rows.saturating_sub(ROWS_MAX);
    html! { @if further > 0 { p.hint { "The first " (ROWS_MAX) " rows; " (super::number(further as u64)) " further ones are not shown." } } }
}

/// A name from a report.
fn name(text: &str) -> String {
    truncated(text, NAME_MAX)
}

/// A process by its host and process id.
fn process_name(process: &Process) -> String {
    let [host, pid] = match &process.report {
        Some(report) => [report.host.clone(), report.pid.to_string()],
        None => host_and_pid(process),
    };
    format!("{} / {}", name(&host), name(&pid))
}

/// The living process that has reported that it runs this job.
pub(super) fn running_in(reports: &Reports, topic: &str, id: &str) -> Option<String> {
    let mut living = living(&reports.found);
    let runs = |report: &ProcessReport| report.jobs.iter().any(|job| job.topic == topic && job.id == id);
    living.find(|(_, report)| runs(report)).map(|(process, _)| process_name(process))
}

/// For how long, by the store's time.
fn since(since_ms: u64, now_ms: u64) -> String {
    span(now_ms.saturating_sub(since_ms))
}
