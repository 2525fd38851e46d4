//! `release`, `retry`, `purge`.

use crate::operations::release::Parked;
use crate::operations::{self, Failure};
use crate::output::{Output, confirm, foreign};
use crate::time;
use anyhow::{Result, bail};
use evenkeel::sql::relay::operate::Outbox;
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
    /// Confirm --skip by the topic of the key, or the first eight digits of the id
    #[arg(long, value_name = "NAME")]
    confirm: Option<String>,
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

pub(super) async fn release(
    database: &crate::database::Database,
    arguments: &ReleaseArguments,
    output: Output,
) -> Result<bool> {
    if !arguments.resend && !arguments.skip {
        bail!("add --resend to try again, or --skip to give up for good");
    }
    let work = arguments.work.map(|work| (work, work.to_string()));
    let (parked, what) = match (&work, &arguments.topic, &arguments.key) {
        (Some((work, text)), ..) => (Parked::Work(*work, text), text.clone()),
        (None, Some(topic), Some(key)) => (Parked::Key { topic, key }, format!("{topic} {key}")),
        _ => bail!("add the id of a unit of work, or --topic TOPIC --key KEY"),
    };
    decide(database, (parked, &what), arguments.skip, arguments.confirm.as_deref(), output).await
}

/// Releases something that is parked, or gives it up.
pub(crate) async fn decide(
    database: &crate::database::Database,
    (parked, what): (Parked<'_>, &str),
    gives_up: bool,
    typed: Option<&str>,
    output: Output,
) -> Result<bool> {
    let decision = operations::release::release(database, parked, gives_up);
    confirm(&decision, typed, &format!("this gives up {what} for good"))?;
    let (released, answer) = match decision.run.await {
        Ok(done) => (true, done.line),
        Err(Failure::Refused(_, line)) => (false, line),
        Err(failure) => return Err(failure.into()),
    };
    let value = json!({ "what": what, "released": released, "answer": answer });
    output.print(&value, &format!("{}: {answer}\n", foreign(what)))?;
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
