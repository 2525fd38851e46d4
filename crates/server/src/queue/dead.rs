//! `dead ls|redrive|rm`: lists, redrives and deletes dead letters.

use super::Servers;
use super::jobs::{self, PageArguments};
use crate::output::Output;
use crate::time;
use anyhow::{Result, bail};
use evenkeel::queue::topic::{DryRun, Filter, JobState, RedriveReport, TopicRedrive};
use serde_json::json;
use std::io::{IsTerminal, Write, stderr};

#[derive(clap::Subcommand)]
pub(super) enum Command {
    /// List dead letters, page by page
    Ls(ListArguments),
    /// Redrive dead letters: make them ready again, with the full number of attempts
    Redrive(RedriveArguments),
    /// Delete dead letters
    Rm(RemoveArguments),
}

#[derive(clap::Args)]
pub(super) struct ListArguments {
    /// Topic
    topic: String,
    #[command(flatten)]
    page: PageArguments,
}

#[derive(clap::Args)]
pub(super) struct RedriveArguments {
    /// Topic
    topic: String,
    /// Only these jobs: 32 hexadecimal digits each, or the ids that their senders chose
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Name of the redrive; running the same name again continues it and redrives no dead letter twice (default: a new name)
    #[arg(long)]
    name: Option<String>,
    /// Only dead letters whose last error contains this text
    #[arg(long, value_name = "TEXT")]
    error: Option<String>,
    /// Only dead letters whose body contains this text
    #[arg(long, value_name = "TEXT")]
    body: Option<String>,
    /// Only dead letters whose worker crashed (with =false: only those whose handler failed)
    #[arg(long, num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    crashed: Option<bool>,
    /// Only jobs that died at this time or later
    #[arg(long, value_name = "TIME", value_parser = time::read_time)]
    from: Option<u64>,
    /// Only jobs that died at this time or earlier
    #[arg(long, value_name = "TIME", value_parser = time::read_time)]
    until: Option<u64>,
    /// Maximum number of jobs that become due per second (default: all at once)
    #[arg(long, value_name = "PER_SECOND")]
    rate: Option<u32>,
    /// Stop after this many dead letters
    #[arg(long, value_name = "NUMBER")]
    limit: Option<u64>,
    /// Only count the matching dead letters
    #[arg(long)]
    dry_run: bool,
}

#[derive(clap::Args)]
pub(super) struct RemoveArguments {
    /// Topic
    topic: String,
    /// Job ids: 32 hexadecimal digits each, or the ids that their senders chose
    #[arg(value_name = "ID", required_unless_present = "all")]
    ids: Vec<String>,
    /// Delete all dead letters of the topic; requires --confirm
    #[arg(long, conflicts_with = "ids")]
    all: bool,
    /// Confirm by repeating the name of the topic
    #[arg(long, value_name = "TOPIC")]
    confirm: Option<String>,
}

pub(super) async fn run(servers: &Servers<'_>, command: Command, output: Output) -> Result<bool> {
    match command {
        Command::Ls(arguments) => jobs::page(servers, &arguments.topic, JobState::Dead, &arguments.page, output).await,
        Command::Redrive(arguments) => redrive(servers, arguments, output).await,
        Command::Rm(arguments) => remove(servers, &arguments, output).await,
    }
}

async fn redrive(servers: &Servers<'_>, arguments: RedriveArguments, output: Output) -> Result<bool> {
    let topic = super::topic(servers, &arguments.topic).await?;
    let name = arguments.name.clone().unwrap_or_else(|| time::text(topic.now_ms()));
    let mut redrive = configured(topic.redrive(&name), &arguments);
    if !arguments.ids.is_empty() {
        redrive = redrive.only(super::job_ids(&topic, &arguments.ids).await?);
    }
    if arguments.dry_run {
        let found = redrive.dry_run().await?;
        let first: Vec<String> = found.first.iter().map(ToString::to_string).collect();
        let DryRun { matching, dead, .. } = found;
        let text = format!("{matching} of {dead} dead letters would be redriven\n");
        output.print(&json!({ "dry_run": true, "matching": matching, "dead": dead, "first": first }), &text)?;
        return Ok(true);
    }
    let live = stderr().is_terminal() && !output.json;
    let ran = redrive
        .run_with(|report| {
            if live {
                progress(report);
            }
        })
        .await;
    if live {
        eprintln!();
    }
    let report = match ran {
        Ok(report) => report,
        Err(error) => bail!("{error}; to continue this redrive, add --name '{name}'"),
    };
    let RedriveReport { taken, taken_in_all, seen, taken_before, died_later, began_at, filter } = report;
    let value = json!({
        "name": name, "taken": taken, "taken_in_all": taken_in_all, "seen": seen, "taken_before": taken_before,
        "died_later": died_later, "began_ms": began_at, "filter": filter,
    });
    let mut text = format!("{taken} redriven by '{name}' ({taken_in_all} in total)\n");
    if taken_before > 0 {
        text.push_str(&format!(
            "{taken_before} skipped: this redrive has already redriven them, and they died again\n"
        ));
    }
    if died_later > 0 {
        text.push_str(&format!("{died_later} skipped: they died after the redrive began ({})\n", time::text(began_at)));
    }
    if filter != filter_of(&arguments) {
        text.push_str("this filter was ignored: a redrive keeps the filter that it began with\n");
    }
    output.print(&value, &text)?;
    Ok(true)
}

fn configured(redrive: TopicRedrive, arguments: &RedriveArguments) -> TopicRedrive {
    let mut redrive = redrive.filter(filter_of(arguments));
    if let Some(rate) = arguments.rate {
        redrive = redrive.per_second(rate);
    }
    if let Some(limit) = arguments.limit {
        redrive = redrive.limit(limit);
    }
    redrive
}

fn filter_of(arguments: &RedriveArguments) -> Filter {
    Filter {
        error_contains: arguments.error.clone(),
        body_contains: arguments.body.clone(),
        crashed: arguments.crashed,
        died_from: arguments.from,
        died_until: arguments.until,
    }
}

/// Overwrites the progress line. It goes to standard error, so that standard output has only the result.
fn progress(report: &RedriveReport) {
    // A closed terminal does not stop the redrive.
    let _ = write!(stderr(), "\r{} seen, {} redriven", report.seen, report.taken).and_then(|()| stderr().flush());
}

async fn remove(servers: &Servers<'_>, arguments: &RemoveArguments, output: Output) -> Result<bool> {
    let topic = super::topic(servers, &arguments.topic).await?;
    if arguments.all {
        let Some(again) = &arguments.confirm else {
            bail!("this deletes every dead letter of {0} for good; to delete, add --all --confirm {0}", topic.name());
        };
        let deleted = topic.purge(JobState::Dead, again).await?;
        output.print(
            &json!({ "topic": topic.name(), "deleted": deleted }),
            &format!("{deleted} dead letters deleted\n"),
        )?;
        return Ok(true);
    }
    let ids = super::job_ids(&topic, &arguments.ids).await?;
    let answers = topic.delete_dead(&ids).await?;
    let result = |deleted: &bool| (*deleted, if *deleted { "deleted" } else { "not a dead letter" }.to_owned());
    output.report(&arguments.ids, answers.iter().map(result))
}
