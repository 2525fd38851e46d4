//! `dead ls|groups|redrive|rm`: lists, counts, redrives and deletes dead letters.

mod redrive;

use super::change::TopicArgument;
use super::jobs::{self, PageArguments};
use super::letters::{self, Naming};
use super::{ITEMS_MAX, Servers};
use crate::operations;
use crate::output::{Output, confirm, table_or};
use anyhow::Result;
use evenkeel::queue::JobId;
use evenkeel::queue::topic::{JobState, Topic};
use redrive::RedriveArguments;
use serde_json::{Value, json};

#[derive(clap::Subcommand)]
pub(super) enum Command {
    /// List dead letters, page by page
    Ls(ListArguments),
    /// Count the newest dead letters by error; numbers and ids in errors do not count as differences
    Groups(TopicArgument),
    /// Redrive dead letters: make them ready again, with the full number of attempts
    Redrive(RedriveArguments),
    /// Delete dead letters
    Rm(RemoveArguments),
}

#[derive(clap::Args)]
pub(super) struct ListArguments {
    /// Topic
    topic: String,
    /// Only dead letters whose last error contains this text
    #[arg(long, value_name = "TEXT")]
    error: Option<String>,
    #[command(flatten)]
    page: PageArguments,
}

#[derive(clap::Args)]
pub(super) struct RemoveArguments {
    /// Topic
    topic: String,
    /// Job ids: 32 hexadecimal digits each, or the ids that their senders chose
    #[arg(value_name = "ID", required_unless_present_any = ["all", "error"])]
    ids: Vec<String>,
    /// Delete all dead letters of the topic
    #[arg(long, conflicts_with = "ids")]
    all: bool,
    /// Delete all dead letters whose last error contains this text
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["ids", "all"])]
    error: Option<String>,
    /// Confirm by repeating the name of the topic
    #[arg(long, value_name = "TOPIC")]
    confirm: Option<String>,
}

pub(super) async fn run(servers: &Servers<'_>, command: Command, output: Output) -> Result<bool> {
    match command {
        Command::Ls(ListArguments { topic, error, page }) => {
            jobs::page(servers, &topic, (JobState::Dead, error.as_deref()), &page, output).await
        }
        Command::Groups(arguments) => groups(servers, &arguments.topic, output).await,
        Command::Redrive(arguments) => redrive::redrive(servers, arguments, output).await,
        Command::Rm(arguments) => remove(servers, &arguments, output).await,
    }
}

async fn groups(servers: &Servers<'_>, topic: &str, output: Output) -> Result<bool> {
    let topic = super::topic(servers, topic).await?;
    let read = letters::read(&topic, Naming::Text, letters::SHOWN_MAX).await?;
    let mut groups: Vec<(String, usize)> = read.groups.into_iter().collect();
    groups.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let rows: Vec<Vec<String>> = groups.iter().map(|(group, count)| vec![count.to_string(), group.clone()]).collect();
    let mut text = table_or(&["LETTERS", "ERROR"], &rows, &format!("queue {}: no dead letters", topic.name()));
    if read.is_cut {
        text.push_str(&format!("the newest {} were read; there are more\n", read.read));
    }
    if !groups.is_empty() {
        let list = format!("`evenkeel queue dead ls {} --error TEXT`", topic.name());
        text.push_str(&format!("{list} lists those of an error; TEXT is a part of it without NUMBER\n"));
    }
    let values: Vec<Value> = groups.iter().map(|(group, count)| json!({ "error": group, "letters": count })).collect();
    output.print(&json!({ "groups": values, "read": read.read, "is_cut": read.is_cut }), &text)?;
    Ok(true)
}

async fn remove(servers: &Servers<'_>, arguments: &RemoveArguments, output: Output) -> Result<bool> {
    let topic = super::topic(servers, &arguments.topic).await?;
    let (name, typed) = (topic.name(), arguments.confirm.as_deref());
    if arguments.all {
        let purge = operations::dead::purge(&topic);
        confirm(&purge, typed, &format!("this deletes every dead letter of {name} for good"))?;
        let deleted = purge.run.await?;
        output.print(&json!({ "topic": name, "deleted": deleted }), &format!("{deleted} dead letters deleted\n"))?;
        return Ok(true);
    }
    let ids = match &arguments.error {
        Some(error) => with_error(&topic, error).await?,
        None => super::job_ids(&topic, &arguments.ids).await?,
    };
    let delete = operations::dead::delete(&topic, &ids);
    confirm(&delete, typed, &format!("this deletes {} dead letters of {name} for good", ids.len()))?;
    let deleted = delete.run.await?;
    if arguments.error.is_none() {
        return output.answers(&arguments.ids, deleted);
    }
    let deleted = deleted.done();
    output.print(&json!({ "topic": name, "deleted": deleted }), &format!("{deleted} dead letters deleted\n"))?;
    Ok(true)
}

/// The dead letters with this text in their error: all are found before the first is deleted, so none that dies meanwhile is.
async fn with_error(topic: &Topic, error: &str) -> Result<Vec<JobId>> {
    let (mut ids, mut after) = (Vec::new(), None);
    loop {
        let page = letters::with_error(topic, error, after, ITEMS_MAX).await?;
        ids.extend(page.jobs.iter().map(|seen| seen.id));
        after = page.next;
        if after.is_none() {
            return Ok(ids);
        }
    }
}
