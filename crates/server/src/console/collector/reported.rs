//! What is wrong in the processes, from their reports.

use super::problems::{Trouble, trouble};
use crate::console::pages::{SEGMENT, topic_path};
use crate::output::truncated;
use crate::process::figures::{host_and_pid, ignored, living};
use crate::time::span;
use evenkeel::process::{ProcessReport, Processes, RelayReport};
use percent_encoding::utf8_percent_encode;
use std::collections::BTreeMap;

/// A schedule whose next tick passed longer ago than this is late. A report may be ten seconds old.
const TICK_LATE_MS: u64 = 60_000;
/// A relay whose last pass succeeded longer ago than this gets nowhere.
const PASS_MS: u64 = 120_000;
/// A handler that runs for longer than this may hang.
const HANDLER_MS: u64 = 3_600_000;
/// Problems of one kind that are shown.
const SHOWN_MAX: usize = 20;
/// Characters shown of a text of a report.
const TEXT_MAX: usize = 80;

/// A living process.
struct Alive<'a> {
    /// Its host and process id.
    name: String,
    report: &'a ProcessReport,
}

/// The problems that the reports of living processes show.
pub(super) fn find(found: &Processes, problems: &mut Vec<Trouble>) {
    let alive = living(found).map(|(process, report)| {
        let [host, pid] = host_and_pid(process);
        Alive { name: format!("{} / {}", cut(&host), cut(&pid)), report }
    });
    of_reports(&alive.collect::<Vec<_>>(), found.now_ms, problems);
    if let Some(text) = ignored(found) {
        problems.push(trouble("reports ignored", false, text, workers()));
    }
}

fn of_reports(alive: &[Alive<'_>], now_ms: u64, problems: &mut Vec<Trouble>) {
    late_schedules(alive, now_ms, problems);
    stuck_relays(alive, now_ms, problems);
    long_jobs(alive, now_ms, problems);
}

/// Each process of a schedule advances its next tick, so it is late if none has.
fn late_schedules(alive: &[Alive<'_>], now_ms: u64, problems: &mut Vec<Trouble>) {
    let mut latest: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for schedule in alive.iter().flat_map(|process| &process.report.schedules) {
        let Some(next_ms) = schedule.next_ms else { continue };
        let latest = latest.entry((&schedule.topic, &schedule.schedule)).or_default();
        *latest = next_ms.max(*latest);
    }
    let late = latest.into_iter().map(|(name, next_ms)| (name, now_ms.saturating_sub(next_ms)));
    for ((topic, name), late) in late.filter(|(_, late)| *late > TICK_LATE_MS).take(SHOWN_MAX) {
        let text = format!(
            "{}: the schedule {} has not enqueued the job after its tick of {} ago; see the log of its processes",
            cut(topic),
            cut(name),
            span(late)
        );
        let link = Some(("/schedules".to_owned(), "See schedules"));
        problems.push(trouble(&format!("tick {topic} {name}"), false, text, link).with_duration());
    }
}

fn stuck_relays(alive: &[Alive<'_>], now_ms: u64, problems: &mut Vec<Trouble>) {
    let stuck = alive.iter().flat_map(|process| process.report.relays.iter().map(move |relay| (process, relay)));
    let waits = |process: &Alive<'_>, relay: &RelayReport| {
        now_ms.saturating_sub(relay.passed_ms.unwrap_or(process.report.started_ms))
    };
    let stuck = stuck.filter(|(process, relay)| waits(process, relay) > PASS_MS);
    for (process, relay) in stuck.take(SHOWN_MAX) {
        let text = format!(
            "{}: its relay on {} has not passed over the outbox for {}; see its log",
            process.name,
            cut(&relay.database),
            span(waits(process, relay))
        );
        let id = format!("relay {} {}", process.name, relay.database);
        problems.push(trouble(&id, false, text, workers()).with_duration());
    }
}

fn long_jobs(alive: &[Alive<'_>], now_ms: u64, problems: &mut Vec<Trouble>) {
    let jobs = alive.iter().flat_map(|process| process.report.jobs.iter().map(move |job| (process, job)));
    let mut long: Vec<_> = jobs.filter(|(_, job)| now_ms.saturating_sub(job.since_ms) > HANDLER_MS).collect();
    long.sort_by_key(|(_, job)| job.since_ms);
    for (process, job) in long.into_iter().take(SHOWN_MAX) {
        let text = format!(
            "{}: job {} has been running for {} in {}",
            cut(&job.topic),
            cut(&job.id),
            span(now_ms.saturating_sub(job.since_ms)),
            process.name
        );
        let page = format!("{}/jobs/{}", topic_path(&job.topic), utf8_percent_encode(&job.id, SEGMENT));
        let id = format!("long {} {}", job.topic, job.id);
        problems.push(trouble(&id, false, text, Some((page, "See job"))).with_duration());
    }
}

fn cut(text: &str) -> String {
    truncated(text, TEXT_MAX)
}

fn workers() -> Option<(String, &'static str)> {
    Some(("/workers".to_owned(), "See workers"))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const NOW: u64 = 100_000_000;

    fn texts(reports: &[Value]) -> Vec<String> {
        let reports: Vec<ProcessReport> =
            reports.iter().map(|report| serde_json::from_value(report.clone()).unwrap()).collect();
        let alive: Vec<_> = reports.iter().map(|report| Alive { name: "web / 7".to_owned(), report }).collect();
        let mut problems = Vec::new();
        of_reports(&alive, NOW, &mut problems);
        problems.into_iter().map(|problem| problem.text).collect()
    }

    #[test]
    fn late_schedules_stuck_relays_and_long_jobs_are_problems() {
        let report = json!({
            "started_ms": 1,
            "schedules": [{ "topic": "mail", "schedule": "nightly", "next_ms": NOW - 61_000 }, { "topic": "mail", "schedule": "new" }],
            "relays": [{ "database": "sqlite", "passed_ms": NOW - 121_000 }],
            "jobs": [{ "topic": "mail", "id": "a\u{1b}b", "since_ms": NOW - 3_601_000 }, { "topic": "mail", "id": "c", "since_ms": NOW }],
        });
        let found = texts(&[report]);
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].starts_with("mail: the schedule nightly has not enqueued"), "{found:?}");
        assert!(found[1].starts_with("web / 7: its relay on sqlite has not passed"), "{found:?}");
        assert!(found[2].starts_with("mail: job a b has been running for 1 h"), "{found:?}");
    }

    #[test]
    fn schedule_that_one_process_advances_is_no_problem() {
        let next =
            |next_ms: u64| json!({ "schedules": [{ "topic": "mail", "schedule": "nightly", "next_ms": next_ms }] });
        assert!(texts(&[next(NOW - 90_000), next(NOW + 1)]).is_empty());
        assert!(texts(&[next(u64::MAX), json!({ "relays": [{}], "started_ms": u64::MAX })]).is_empty());
    }
}
