//! `/workers`: the processes, whether they are alive, and what they run.

use super::{ROWS_MAX, left_out, name, not_reported, notes, process_name, since};
use crate::console::app::App;
use crate::console::collector::Reports;
use crate::console::pages::layout::page;
use crate::console::pages::wrapping::wrapping;
use crate::console::pages::{SEGMENT, number, stream_path, topic_path};
use crate::console::rights::Visitor;
use crate::process::figures::{living, slots};
use crate::time::distance;
use axum::extract::State;
use evenkeel::process::{JobReport, Process, Processes};
use maud::{Markup, html};
use percent_encoding::utf8_percent_encode;

pub(crate) async fn show(State(app): State<App>, visitor: Visitor) -> Markup {
    let reports = app.collector.reports().await;
    let found = &reports.found;
    let body = html! {
        h1 { "Workers" }
        (notes(&reports))
        section.card { h2 { "Processes" }
            @if found.processes.is_empty() { (not_reported(&reports)) } @else { (processes(&reports)) }
        }
        @if living(found).any(|(_, report)| !report.consumers.is_empty() || !report.stream_consumers.is_empty()) {
            section.card { h2 { "Consumers" } (consumers(found)) }
        }
        @if !found.processes.is_empty() { section.card { h2 { "Running jobs" } (jobs(found)) } }
        @if living(found).any(|(_, report)| !report.relays.is_empty()) { section.card { h2 { "Relays" } (relays(found)) } }
    };
    page(&app, &visitor, "Workers", &body)
}

/// For the overview: how many processes are alive.
pub(crate) fn summary(reports: &Reports) -> String {
    let found = &reports.found;
    let alive = found.processes.iter().filter(|process| process.is_alive(found.now_ms)).count();
    match found.processes.len() - alive {
        0 if alive == 0 => "not reported".to_owned(),
        0 => format!("{} alive", number(alive as u64)),
        stale => format!("{} alive, {} stale", number(alive as u64), number(stale as u64)),
    }
}

fn processes(reports: &Reports) -> Markup {
    let found = &reports.found;
    html! {
        div.scroll tabindex="0" { table.rows.many {
            thead { tr {
                th scope="col" { "Host / process id" } th scope="col" { "State" } th.number scope="col" { "Last report" } th.number scope="col" { "Up for" }
                th scope="col" { "Version" } th.number scope="col" { "Epoch" } th.number scope="col" { "Slots" } th.number scope="col" { "Jobs" } th.number scope="col" { "Locks" }
            } }
            tbody { @for process in &found.processes {
                @let is_alive = process.is_alive(found.now_ms);
                tr.stale[!is_alive] {
                    td data-label="Process" { (wrapping(&process_name(process))) }
                    td data-label="State" { (if is_alive { "✓ alive" } else { "! stale" }) }
                    td.number data-label="Last report" { (distance(process.seen_ms, found.now_ms)) }
                    (of_report(process, found.now_ms))
                }
            } }
        } }
        p.hint { "A process is stale when its last report is more than 30 s old: it was killed, or does not reach Redis. Its report is kept for a minute, its name for an hour." }
        @let left_out = living(found).fold(0_u64, |sum, (_, report)| sum.saturating_add(report.left_out));
        @if left_out > 0 { p.hint { (number(left_out)) " items did not fit into the reports and are missing on these pages." } }
    }
}

fn of_report(process: &Process, now_ms: u64) -> Markup {
    let report = process.report.as_ref();
    let dash = || "-".to_owned();
    let used = report.and_then(slots).map_or_else(dash, |(used, of)| format!("{} / {}", number(used), number(of)));
    let count = |count: Option<usize>| count.map_or_else(dash, |count| number(count as u64));
    html! {
        td.number data-label="Up for" { (report.map_or_else(dash, |report| since(report.started_ms, now_ms))) }
        td data-label="Version" { (report.map_or_else(dash, |report| name(&report.version))) }
        td.number data-label="Epoch" { (report.and_then(|report| report.epoch).map_or_else(dash, number)) }
        td.number data-label="Slots" { (used) }
        td.number data-label="Jobs" { (count(report.map(|report| report.jobs.len()))) }
        td.number data-label="Locks" { (count(report.map(|report| report.locks.len()))) }
    }
}

fn consumers(found: &Processes) -> Markup {
    let queues = living(found).flat_map(|(process, report)| {
        report.consumers.iter().map(move |consumer| {
            (topic_path(&consumer.topic), name(&consumer.topic), process, consumer.used, consumer.slots)
        })
    });
    let streams = living(found).flat_map(|(process, report)| {
        report.stream_consumers.iter().map(move |consumer| {
            let label = format!("{} / {}", name(&consumer.stream), name(&consumer.group));
            (stream_path(&consumer.stream), label, process, consumer.used, consumer.slots)
        })
    });
    let mut all: Vec<_> = queues.chain(streams).collect();
    all.sort_by(|(_, one, ..), (_, other, ..)| one.cmp(other));
    html! {
        div.scroll tabindex="0" { table.rows {
            thead { tr { th scope="col" { "Topic, or stream / group" } th scope="col" { "Process" } th.number scope="col" { "Slots in use" } th.number scope="col" { "Slots" } } }
            tbody { @for (path, label, process, used, slots) in all.iter().take(ROWS_MAX) { tr {
                td { a href=(path) { (wrapping(label)) } }
                td data-label="Process" { (wrapping(&process_name(process))) }
                td.number data-label="Slots in use" { (number(*used)) }
                td.number data-label="Slots" { (number(*slots)) }
            } } }
        } }
        (left_out(all.len()))
    }
}

fn jobs(found: &Processes) -> Markup {
    let mut all: Vec<(&Process, &JobReport)> =
        living(found).flat_map(|(process, report)| report.jobs.iter().map(move |job| (process, job))).collect();
    all.sort_by(|(_, one), (_, other)| (one.since_ms, &one.id).cmp(&(other.since_ms, &other.id)));
    html! {
        @if all.is_empty() { div.empty { h3 { "No job ran when the processes reported" } p { "Short jobs end between two reports, which are ten seconds apart." } } }
        @else {
            div.scroll tabindex="0" { table.rows {
                thead { tr { th scope="col" { "Job" } th scope="col" { "Topic" } th.number scope="col" { "Running for" } th.number scope="col" { "Attempt" } th scope="col" { "Process" } } }
                tbody { @for (process, job) in all.iter().take(ROWS_MAX) { tr {
                    td.id { a href=(format!("{}/jobs/{}", topic_path(&job.topic), utf8_percent_encode(&job.id, SEGMENT))) { (name(&job.id)) } }
                    td data-label="Topic" { a href=(topic_path(&job.topic)) { (wrapping(&name(&job.topic))) } }
                    td.number data-label="Running for" { (since(job.since_ms, found.now_ms)) }
                    td.number data-label="Attempt" { (job.attempt) }
                    td data-label="Process" { (wrapping(&process_name(process))) }
                } } }
            } }
            (left_out(all.len()))
        }
    }
}

fn relays(found: &Processes) -> Markup {
    let all: Vec<_> =
        living(found).flat_map(|(process, report)| report.relays.iter().map(move |relay| (process, relay))).collect();
    html! {
        div.scroll tabindex="0" { table.rows {
            thead { tr { th scope="col" { "Outbox" } th scope="col" { "Database" } th.number scope="col" { "Last pass" } th scope="col" { "Process" } } }
            tbody { @for (process, relay) in all.iter().take(ROWS_MAX) { tr {
                td { (relay.outbox.as_deref().map_or_else(|| "not read yet".to_owned(), name)) }
                td data-label="Database" { (wrapping(&name(&relay.database))) }
                td.number data-label="Last pass" { (relay.passed_ms.map_or_else(|| "never".to_owned(), |passed| distance(passed, found.now_ms))) }
                td data-label="Process" { (wrapping(&process_name(process))) }
            } } }
        } }
        (left_out(all.len()))
    }
}
