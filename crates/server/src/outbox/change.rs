//! `release`, `retry`, `purge`.

use crate::output::{Output, foreign};
use crate::time;
use anyhow::{Result, bail};
use evenkeel::sql::relay::operate::{Outbox, ParkedDecision};
use evenkeel::sql::{Database, WorkId};
use serde_json::json;
use std::time::Duration;

#[derive(clap::Args)]
pub(super) struct ReleaseArguments {
    /// Id of a unit of work, as printed by `park ls`
    #[arg(value_name = "WORK", required_unless_present = "key", conflicts_with_all = ["topic", "key"])]
    work: Option<WorkId>,
    /// Topic of a parked key, instead of a unit of work
    #[arg(long, requires = "key")]
    topic: Option<String>,
    /// Parked key
    #[arg(long, requires = "topic")]
    key: Option<String>,
    /// Try again, with the full number of attempts
    #[arg(long, conflicts_with = "skip")]
    resend: bool,
    /// Give up permanently: all effects of the unit of work, or the message of the key that failed
    #[arg(long)]
    skip: bool,
}

#[derive(clap::Args)]
pub(super) struct PurgeArguments {
    /// Delete only units of work completed longer ago than this, for example 2h or 1d; at least 10m
    #[arg(long, value_name = "SPAN", value_parser = read_age, default_value = "1d")]
    older: u64,
    /// Confirm the deletion
    #[arg(long)]
    confirm: bool,
}

/// Younger rows decide commits whose replies were lost.
fn read_age(text: &str) -> Result<u64, String> {
    const AGE_MS_MIN: u64 = 10 * 60_000;
    let age = time::read_span(text)?;
    if age < AGE_MS_MIN { Err("use 10m or more: younger rows are still needed".to_owned()) } else { Ok(age) }
}

pub(super) async fn release<DB: Database>(
    outbox: &Outbox<DB>,
    arguments: &ReleaseArguments,
    output: Output,
) -> Result<bool> {
    let how = match (arguments.resend, arguments.skip) {
        (true, _) => ParkedDecision::Resend,
        (_, true) => ParkedDecision::Skip,
        _ => bail!("add --resend to try again, or --skip to give up for good"),
    };
    let (what, released) = match (&arguments.work, &arguments.topic, &arguments.key) {
        (Some(work), ..) => (work.to_string(), outbox.release(*work, how).await?),
        (None, Some(topic), Some(key)) => (format!("{topic} {key}"), outbox.release_key(topic, key, how).await?),
        _ => bail!("add the id of a unit of work, or --topic TOPIC --key KEY"),
    };
    let answer = match (released, how) {
        (false, _) => "not parked",
        (true, ParkedDecision::Resend) => "due now",
        (true, ParkedDecision::Skip) => "skipped",
    };
    output.print(
        &json!({ "what": what, "released": released, "answer": answer }),
        &format!("{}: {answer}\n", foreign(&what)),
    )?;
    Ok(released)
}

pub(super) async fn retry<DB: Database>(outbox: &Outbox<DB>, output: Output) -> Result<bool> {
    let due = outbox.retry().await?;
    output.print(&json!({ "due": due }), &format!("{due} units of work and keys are due now\n"))?;
    Ok(true)
}

pub(super) async fn purge<DB: Database>(
    outbox: &Outbox<DB>,
    arguments: &PurgeArguments,
    output: Output,
) -> Result<bool> {
    if !arguments.confirm {
        let done = outbox.stats().await?.done;
        let older = time::span(arguments.older);
        bail!(
            "this deletes units of work completed more than {older} ago ({done} are completed); to delete, add --confirm"
        );
    }
    let deleted = outbox.purge(Duration::from_millis(arguments.older)).await?;
    output.print(&json!({ "deleted": deleted }), &format!("{deleted} rows deleted\n"))?;
    Ok(true)
}
