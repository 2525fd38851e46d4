//! `peek` and `job`: the jobs of a topic, and the history of one job.

use super::{Servers, names};
use crate::output::{Output, body_json, next_page, printable, table, table_or, truncated};
use crate::time;
use anyhow::{Result, bail};
use evenkeel::queue::RetryDelay;
use evenkeel::queue::topic::{JobState, Seen};
use evenkeel::queue::{CompletionRecord, ErrorClass, Job, JobId, Note, Retries};
use evenkeel::queue::{Found, Listed, State};
use serde_json::{Value, json};

/// Maximum width of a body or an error in a table.
pub(super) const CELL_MAX: usize = 48;

#[derive(clap::Args)]
pub(super) struct PeekArguments {
    /// Topic
    topic: String,
    /// State of the jobs
    #[arg(long, value_enum, default_value = "waiting")]
    state: StateName,
    #[command(flatten)]
    page: PageArguments,
}

#[derive(clap::Args)]
pub(super) struct PageArguments {
    /// Jobs per page
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=500))]
    pub(super) limit: u16,
    /// Continue after this job: the cursor printed at the end of the previous page
    #[arg(long, value_name = "TIME:ID", value_parser = read_cursor)]
    pub(super) after: Option<Listed>,
}

/// The states on the command line.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(super) enum StateName {
    /// Waiting jobs, by due time
    Waiting,
    /// Running jobs, by the end of their lease
    Running,
    /// Dead letters, by time of death
    Dead,
}

impl From<StateName> for JobState {
    fn from(name: StateName) -> Self {
        match name {
            StateName::Waiting => Self::Waiting,
            StateName::Running => Self::Leased,
            StateName::Dead => Self::Dead,
        }
    }
}

#[derive(clap::Args)]
pub(super) struct JobArguments {
    /// Topic
    pub(super) topic: String,
    /// Job id: 32 hexadecimal digits, or the id that its sender chose
    pub(super) id: String,
}

fn read_cursor(text: &str) -> Result<Listed, String> {
    names::listed(text).ok_or_else(|| "use the cursor that the previous page printed: TIME:ID".to_owned())
}

pub(super) async fn peek(servers: &Servers<'_>, arguments: &PeekArguments, output: Output) -> Result<bool> {
    page(servers, &arguments.topic, arguments.state.into(), &arguments.page, output).await
}

/// Prints one page of the jobs in one state.
pub(super) async fn page(
    servers: &Servers<'_>,
    topic: &str,
    place: JobState,
    arguments: &PageArguments,
    output: Output,
) -> Result<bool> {
    let topic = super::topic(servers, topic).await?;
    let page = topic.peek(place, arguments.after, usize::from(arguments.limit)).await?;
    let now = topic.now_ms();
    let next = page.next.map(|next| format!("{}:{}", next.score, next.id));
    let jobs: Vec<Value> = page.jobs.iter().map(seen_json).collect();
    let time_heading = match place {
        JobState::Waiting => "DUE",
        JobState::Leased => "LEASE ENDS",
        JobState::Dead => "DIED",
    };
    let rows: Vec<Vec<String>> = page.jobs.iter().map(|seen| row(seen, now)).collect();
    let headings = ["ID", time_heading, "PRIORITY", "ERRORS", "BODY", "LAST ERROR"];
    let mut text = table_or(&headings, &rows, &empty_page(topic.name(), place, arguments.after.is_some()));
    text.push_str(&next_page(next.as_deref()));
    text.push_str(super::redis_only(&topic));
    output.print(&json!({ "jobs": jobs, "next": next, "redis_only": topic.needs_database() }), &text)?;
    Ok(true)
}

pub(super) fn empty_page(topic: &str, place: JobState, is_later_page: bool) -> String {
    if is_later_page {
        return "no more jobs; omit --after to start from the beginning".to_owned();
    }
    match place {
        JobState::Waiting => format!("queue {topic}: no waiting jobs (see also --state running and --state dead)"),
        JobState::Leased => format!("queue {topic}: no running jobs (see also --state waiting and --state dead)"),
        JobState::Dead => format!("queue {topic}: no dead letters"),
    }
}

fn row(seen: &Seen, now: u64) -> Vec<String> {
    let time = time::distance(seen.score, now);
    match &seen.job {
        Ok(job) => vec![
            seen.id.to_string(),
            time,
            priority(job),
            format!("{} of {}", job.errors, allowed(job)),
            truncated(&printable(&job.spec.body), CELL_MAX),
            last_error(job).map(|text| truncated(&text, CELL_MAX)).unwrap_or_default(),
        ],
        Err(unreadable) => {
            vec![seen.id.to_string(), time, String::new(), String::new(), String::new(), unreadable.to_string()]
        }
    }
}

fn seen_json(seen: &Seen) -> Value {
    match &seen.job {
        Ok(job) => live_json(seen.id, seen.state, seen.score, job),
        Err(unreadable) => json!({ "id": seen.id.to_string(), "unreadable": unreadable.to_string() }),
    }
}

pub(super) async fn job(servers: &Servers<'_>, arguments: &JobArguments, output: Output) -> Result<bool> {
    let topic = super::topic(servers, &arguments.topic).await?;
    let id = super::job_id(&arguments.id);
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

pub(super) fn priority(job: &Job) -> String {
    format!("{:?}", job.spec.priority).to_lowercase()
}

pub(super) fn allowed(job: &Job) -> String {
    match job.spec.retries {
        Retries::Limited(retries) => (u32::from(retries) + 1).to_string(),
        Retries::Unlimited => "unlimited".to_owned(),
    }
}

pub(super) fn last_error(job: &Job) -> Option<String> {
    let error = job.error_notes().last()?;
    Some(if error.text.is_empty() { names::class_text(error.class).to_owned() } else { printable(&error.text) })
}
