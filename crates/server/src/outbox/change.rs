//! `release`, `retry`, `purge`.

use crate::queue::output::Output;
use crate::queue::time;
use anyhow::{Result, bail};
use evenkeel::sql::relay::operate::{Outbox, Release};
use evenkeel::sql::{Database, WorkId};
use serde_json::json;
use std::time::Duration;

/// What `release` was asked for.
#[derive(clap::Args)]
pub(super) struct ReleaseArguments {
    /// A work's id, as `park ls` prints it
    #[arg(value_name = "WORK", required_unless_present = "key", conflicts_with_all = ["topic", "key"])]
    work: Option<WorkId>,
    /// Instead of a work, the topic of a key
    #[arg(long, requires = "key")]
    topic: Option<String>,
    /// The key
    #[arg(long, requires = "topic")]
    key: Option<String>,
    /// Try it again, with all its attempts
    #[arg(long, conflicts_with = "skip")]
    resend: bool,
    /// Give it up for good: the work as a whole, or the one message of the key that could not be sent
    #[arg(long)]
    skip: bool,
}

/// What `purge` was asked for.
#[derive(clap::Args)]
pub(super) struct PurgeArguments {
    /// Only what has been done for longer than this, like 2h or 1d; at least 10m
    #[arg(long, value_name = "SPAN", value_parser = time::read_span, default_value = "1d")]
    older: u64,
    /// Really delete
    #[arg(long)]
    confirm: bool,
}

pub(super) async fn release<DB: Database>(
    outbox: &Outbox<DB>,
    arguments: &ReleaseArguments,
    output: Output,
) -> Result<bool> {
    let how = match (arguments.resend, arguments.skip) {
        (true, _) => Release::Resend,
        (_, true) => Release::Skip,
        _ => bail!("say what becomes of it: --resend tries it again, --skip gives it up for good"),
    };
    let (what, released) = match (&arguments.work, &arguments.topic, &arguments.key) {
        (Some(work), ..) => (work.to_string(), outbox.release(*work, how).await?),
        (None, Some(topic), Some(key)) => (format!("{topic} {key}"), outbox.release_key(topic, key, how).await?),
        _ => bail!("say what to release: a work's id, or --topic TOPIC --key KEY"),
    };
    let said = match (released, how) {
        (false, _) => "is not parked",
        (true, Release::Resend) => "is due now",
        (true, Release::Skip) => "is skipped",
    };
    output.print(&json!({ "what": what, "released": released, "answer": said }), &format!("{what} {said}\n"))?;
    Ok(released)
}

pub(super) async fn retry<DB: Database>(outbox: &Outbox<DB>, output: Output) -> Result<bool> {
    let due = outbox.retry().await?;
    output.print(&json!({ "due": due }), &format!("{due} works and keys are due now\n"))?;
    Ok(true)
}

pub(super) async fn purge<DB: Database>(
    outbox: &Outbox<DB>,
    arguments: &PurgeArguments,
    output: Output,
) -> Result<bool> {
    if !arguments.confirm {
        let done = outbox.stats().await?.done;
        bail!("{done} works are done; this deletes those older than {}: add --confirm", time::span(arguments.older));
    }
    let deleted = outbox.purge(Duration::from_millis(arguments.older)).await?;
    output.print(&json!({ "deleted": deleted }), &format!("{deleted} rows deleted\n"))?;
    Ok(true)
}
