//! `job`: one job, live or ended, and its history.

use super::{JobArguments, allowed, names, priority};
use crate::output::{Output, body_json, printable, table};
use crate::queue::{Servers, job_id, topic};
use crate::time;
use anyhow::{Result, bail};
use evenkeel::queue::{CompletionRecord, ErrorClass, Found, Job, JobId, Note, Retries, RetryDelay, State};
use serde_json::{Value, json};

pub(crate) async fn job(servers: &Servers<'_>, arguments: &JobArguments, output: Output) -> Result<bool> {
    let topic = topic(servers, &arguments.topic).await?;
    let id = job_id(&topic, &arguments.id).await?;
    let now = topic.now_ms();
    match topic.job(id).await? {
        None => bail!(
            "queue {}: no job {} (unknown id, or its completion record has expired)",
            arguments.topic,
            arguments.id
        ),
        Some(Found::Ended(record)) => output.print(&ended_json(id, &record), &ended_text(id, &record, now))?,
        Some(Found::Live { state, score, job }) => {
            output.print(&live_json(id, state, score, &job), &live_text(id, state, score, &job, now))?;
        }
    }
    Ok(true)
}

fn ended_text(id: JobId, record: &CompletionRecord, now: u64) -> String {
    let expires = record.until.map_or_else(|| "no fixed time".to_owned(), |until| time::distance(until, now));
    let rows = vec![
        vec!["state".to_owned(), format!("ended ({:?})", record.end)],
        vec!["ended".to_owned(), format!("{} ({})", time::text(record.ended_at), time::distance(record.ended_at, now))],
        vec!["record expires".to_owned(), expires],
    ];
    table(&["JOB", &id.to_string()], &rows)
}

fn ended_json(id: JobId, record: &CompletionRecord) -> Value {
    json!({
        "id": id.to_string(),
        "state": "ended",
        "end": names::end(record.end),
        "ended_ms": record.ended_at,
        "remembered_until_ms": record.until,
        "version": record.version,
    })
}

fn live_text(id: JobId, state: State, score: u64, job: &Job, now: u64) -> String {
    let moment = |ms: u64| format!("{} ({})", time::text(ms), time::distance(ms, now));
    let (state, of_score) = match state {
        State::Waiting(_) => ("waiting", "due"),
        State::Leased if job.started => ("running", "lease ends"),
        State::Leased => ("claimed, start not yet reported", "lease ends"),
        State::Dead => ("dead", "died"),
    };
    let mut rows: Vec<(&str, String)> = vec![("state", state.to_owned()), (of_score, moment(score))];
    rows.push(("enqueued", moment(job.enqueued_at)));
    rows.push(("priority", priority(job)));
    rows.push(("errors", format!("{} of {} ({} crashes in a row)", job.errors, allowed(job), job.crashes)));
    if let Some(expires) = job.expires_at {
        rows.push(("expires unless started by", moment(expires)));
    }
    if job.fence > 0 {
        rows.push(("fencing token", job.fence.to_string()));
    }
    rows.extend(job.spec.notes.iter().map(note));
    rows.push(("body", printable(&job.spec.body)));
    let rows: Vec<Vec<String>> = rows.into_iter().map(|(name, text)| vec![name.to_owned(), text]).collect();
    table(&["JOB", &id.to_string()], &rows)
}

/// A note as a line of the job's history.
fn note(note: &Note) -> (&'static str, String) {
    match note {
        Note::Name(name) => ("sender's id", printable(name)),
        Note::Trace(trace) => ("trace", printable(trace)),
        Note::Headers(headers) => ("headers", printable(headers)),
        Note::Error(error) => {
            let what = match error.class {
                ErrorClass::Failed => format!("attempt {} failed", error.attempt),
                ErrorClass::Crashed => format!("attempt {} crashed: its lease expired", error.attempt),
                ErrorClass::LeaseExpired => "the lease expired before the job was started".to_owned(),
                ErrorClass::Dead => format!("attempt {} failed permanently", error.attempt),
            };
            let text = printable(&error.text);
            let colon = if text.is_empty() { "" } else { ": " };
            ("error", format!("{} {what}{colon}{text}", time::text(error.at)))
        }
        Note::Redriven { at, errors, .. } => ("redriven", format!("{} after {errors} errors", time::text(*at))),
        Note::Progress(text) => ("progress", printable(text)),
        Note::RetryDelay(delay) => ("retry delay", retry_delay(*delay)),
    }
}

fn retry_delay(delay: RetryDelay) -> String {
    match delay {
        RetryDelay::Fixed { ms } => time::span(ms),
        RetryDelay::Exponential { first_ms, max_ms } => {
            format!(
                "exponential with jitter: up to {}, doubled per failure to {}",
                time::span(first_ms),
                time::span(max_ms)
            )
        }
    }
}

fn retry_delay_json(delay: RetryDelay) -> Value {
    match delay {
        RetryDelay::Fixed { ms } => json!({ "fixed_ms": ms }),
        RetryDelay::Exponential { first_ms, max_ms } => json!({ "first_ms": first_ms, "max_ms": max_ms }),
    }
}

pub(super) fn live_json(id: JobId, state: State, score: u64, job: &Job) -> Value {
    let (state, of_score) = match state {
        State::Waiting(_) => ("waiting", "due_ms"),
        State::Leased => ("running", "lease_ends_ms"),
        State::Dead => ("dead", "died_ms"),
    };
    let errors: Vec<Value> = job
        .error_notes()
        .map(|error| {
            let class = names::class(error.class);
            json!({ "at_ms": error.at, "class": class, "attempt": error.attempt, "text": printable(&error.text) })
        })
        .collect();
    let redriven: Vec<Value> = job
        .spec
        .notes
        .iter()
        .filter_map(|note| match note {
            Note::Redriven { at, errors, .. } => Some(json!({ "at_ms": at, "errors": errors })),
            _ => None,
        })
        .collect();
    let name =
        job.spec.notes.iter().find_map(|note| if let Note::Name(name) = note { Some(printable(name)) } else { None });
    let notes = &job.spec.notes;
    let progress =
        notes.iter().find_map(|note| if let Note::Progress(text) = note { Some(printable(text)) } else { None });
    let delay = notes
        .iter()
        .find_map(|note| if let Note::RetryDelay(delay) = note { Some(retry_delay_json(*delay)) } else { None });
    json!({
        "id": id.to_string(),
        "name": name,
        "progress": progress,
        "retry_delay": delay,
        "state": state,
        of_score: score,
        "enqueued_ms": job.enqueued_at,
        "priority": priority(job),
        "errors_used": job.errors,
        "retries": match job.spec.retries { Retries::Limited(retries) => Some(retries), Retries::Unlimited => None },
        "crashes": job.crashes,
        "started": job.started,
        "fence": job.fence,
        "version": job.spec.version,
        "expires_ms": job.expires_at,
        "errors": errors,
        "redriven": redriven,
        "body": body_json(&job.spec.body),
    })
}
