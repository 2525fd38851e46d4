//! `evenkeel ps`: the processes that report on a Redis. `figures.rs` adds their reports up, for the console, too.

pub(crate) mod figures;

use crate::connect::OnRedis;
use crate::output::{Output, table_or, truncated};
use crate::time::{distance, span};
use anyhow::Result;
use evenkeel::Keel;
use evenkeel::process::{Process, Processes};
use figures::{ignored, slots};
use serde_json::{Value, json};
use std::process::ExitCode;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    on: OnRedis,
}

pub(crate) async fn run(arguments: Arguments) -> ExitCode {
    arguments.on.run(list).await
}

const HEADINGS: [&str; 10] = ["HOST", "PID", "STATE", "SEEN", "UP", "VERSION", "EPOCH", "SLOTS", "JOBS", "LOCKS"];

async fn list(keel: &Keel, output: Output) -> Result<bool> {
    let found = keel.processes().await?;
    let rows: Vec<Vec<String>> = found.processes.iter().map(|process| row(process, found.now_ms)).collect();
    let prefix = keel.link().map(|link| link.prefix()).unwrap_or_default();
    let empty = format!(
        "no process has reported under the prefix {prefix:?} within the last hour; a process reports ten seconds after its start, unless it \
         has switched that off"
    );
    let mut text = table_or(&HEADINGS, &rows, &empty);
    if found.further > 0 {
        text.push_str(&format!("{} further processes reported earlier\n", found.further));
    }
    if let Some(warning) = ignored(&found) {
        text.push_str(&format!("{warning}\n"));
    }
    output.print(&json(&found), &text)?;
    Ok(true)
}

fn row(process: &Process, now_ms: u64) -> Vec<String> {
    let state = if process.is_alive(now_ms) { "alive" } else { "stale" };
    let seen = distance(process.seen_ms, now_ms);
    let Some(report) = &process.report else {
        let [host, pid] = figures::host_and_pid(process);
        return [host.as_str(), &pid, state, &seen, "-", "-", "-", "-", "-", "-"].map(str::to_owned).to_vec();
    };
    let used = slots(report);
    vec![
        truncated(&report.host, 64),
        report.pid.to_string(),
        state.to_owned(),
        seen,
        span(now_ms.saturating_sub(report.started_ms)),
        truncated(&report.version, 20),
        report.epoch.map_or_else(|| "-".to_owned(), |epoch| epoch.to_string()),
        used.map_or_else(|| "-".to_owned(), |(used, of)| format!("{used}/{of}")),
        report.jobs.len().to_string(),
        report.locks.len().to_string(),
    ]
}

fn json(found: &Processes) -> Value {
    let process = |process: &Process| {
        json!({
            "id": process.id,
            "seen_ms": process.seen_ms,
            "alive": process.is_alive(found.now_ms),
            "report": process.report,
        })
    };
    json!({
        "now_ms": found.now_ms,
        "processes": found.processes.iter().map(process).collect::<Vec<_>>(),
        "further": found.further,
        "ignored": found.ignored,
    })
}
