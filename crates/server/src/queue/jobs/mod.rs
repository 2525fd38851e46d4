//! The jobs of a topic: `peek`, page by page, `newest`, `find`, `job` and `why`; and how all of them show a job.

pub(super) mod find;
pub(crate) mod names;
pub(super) mod newest;
pub(super) mod show;
pub(super) mod why;

use super::{Servers, letters};
use crate::output::{Output, next_page, printable, table_or, truncated};
use crate::time;
use anyhow::Result;
use evenkeel::queue::topic::{JobState, Seen};
use evenkeel::queue::{Job, Listed, Retries};
use serde_json::{Value, json};
use show::live_json;

/// Maximum width of a body or an error in a table.
const CELL_MAX: usize = 48;

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
    limit: u16,
    /// Continue after this job: the cursor printed at the end of the previous page
    #[arg(long, value_name = "TIME:ID", value_parser = read_cursor)]
    after: Option<Listed>,
}

/// The states on the command line.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum StateName {
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
    page(servers, &arguments.topic, (arguments.state.into(), None), &arguments.page, output).await
}

/// Prints one page of the jobs in one state; with an `error` of the dead letters whose last error contains it.
pub(super) async fn page(
    servers: &Servers<'_>,
    topic: &str,
    (place, error): (JobState, Option<&str>),
    arguments: &PageArguments,
    output: Output,
) -> Result<bool> {
    let topic = super::topic(servers, topic).await?;
    let limit = usize::from(arguments.limit);
    let page = match error {
        Some(error) => letters::with_error(&topic, error, arguments.after, limit).await?,
        None => topic.peek(place, arguments.after, limit).await?,
    };
    let now = topic.now_ms();
    let next = page.next.map(|next| format!("{}:{}", next.score, next.id));
    let jobs: Vec<Value> = page.jobs.iter().map(seen_json).collect();
    let time_heading = match place {
        JobState::Waiting => "DUE",
        JobState::Leased => "LEASE ENDS",
        JobState::Dead => "DIED",
    };
    let rows: Vec<Vec<String>> = page.jobs.iter().map(|seen| row(seen, now)).collect();
    let is_part = arguments.after.is_some() || error.is_some();
    let headings = ["ID", time_heading, "PRIORITY", "ERRORS", "BODY", "LAST ERROR"];
    let mut text = table_or(&headings, &rows, &empty_page(topic.name(), place, is_part));
    text.push_str(&next_page(next.as_deref()));
    text.push_str(super::redis_only(&topic));
    output.print(&json!({ "jobs": jobs, "next": next, "redis_only": topic.needs_database() }), &text)?;
    Ok(true)
}

fn empty_page(topic: &str, place: JobState, is_later_page: bool) -> String {
    if is_later_page {
        return "no more jobs; omit --after and --error to see all from the beginning".to_owned();
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

fn priority(job: &Job) -> String {
    format!("{:?}", job.spec.priority).to_lowercase()
}

/// The attempts that the job has.
pub(crate) fn allowed(job: &Job) -> String {
    match job.spec.retries {
        Retries::Limited(retries) => (u32::from(retries) + 1).to_string(),
        Retries::Unlimited => "unlimited".to_owned(),
    }
}

fn last_error(job: &Job) -> Option<String> {
    let error = job.error_notes().last()?;
    Some(if error.text.is_empty() { names::class_text(error.class).to_owned() } else { printable(&error.text) })
}
