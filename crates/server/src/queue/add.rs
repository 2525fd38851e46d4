//! `add`: enqueues a job.

use super::Servers;
use super::jobs::names::PriorityName;
use crate::output::{JSON, Output};
use crate::time;
use anyhow::{Result, bail};
use evenkeel::queue::topic::{NewTopicJob, Topic};
use evenkeel::queue::{Enqueued, Retries, When};
use serde_json::json;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Topic
    topic: String,
    /// Body, in the topic's encoding (usually JSON)
    body: String,
    /// Due time, for example 2026-11-21T18:00:00Z (default: now)
    #[arg(long, value_name = "TIME", value_parser = time::read_time, conflicts_with = "after", allow_hyphen_values = true)]
    at: Option<u64>,
    /// Delay from now, for example 90s, 5m, 2h or 1d
    #[arg(long = "in", value_name = "SPAN", value_parser = time::read_span, allow_hyphen_values = true)]
    after: Option<u64>,
    /// Idempotency key: enqueueing the same id again has no effect
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Priority
    #[arg(long, value_enum, default_value = "normal")]
    priority: PriorityName,
    /// Retries after a failed first attempt (default: the topic's setting)
    #[arg(long, value_name = "NUMBER")]
    retries: Option<u16>,
}

/// Refuses a body that no consumer of the topic could decode.
pub(super) fn check_body(topic: &Topic, body: &str) -> Result<()> {
    if topic.codec() == JSON
        && let Err(error) = serde_json::from_str::<serde_json::Value>(body)
    {
        bail!(
            "queue {} expects JSON, and the body is not valid JSON ({error}); write a string with quotes: '\"text\"'",
            topic.name()
        );
    }
    Ok(())
}

pub(super) async fn run(servers: &Servers<'_>, arguments: Arguments, output: Output) -> Result<bool> {
    let topic = super::topic(servers, &arguments.topic).await?;
    check_body(&topic, &arguments.body)?;
    let new = NewTopicJob {
        body: arguments.body.into_bytes().into(),
        when: time::when(arguments.at, arguments.after).unwrap_or(When::In(0)),
        name: arguments.id,
        unique: None,
        priority: arguments.priority.into(),
        retries: arguments.retries.map(Retries::Limited),
    };
    let (id, answer) = topic.add(new).await?;
    let (word, text) = match answer {
        Enqueued::Created => ("created", "created".to_owned()),
        Enqueued::Duplicate => ("duplicate", "not added: a job with this id is waiting or running".to_owned()),
        Enqueued::Taken(other) => ("taken", format!("not added: job {other} has the same unique key")),
        Enqueued::Dead => ("dead", "not added: a job with this id is a dead letter".to_owned()),
        Enqueued::Ended(end) => ("ended", format!("not added: a job with this id has ended ({end:?})")),
        Enqueued::Elsewhere => {
            ("elsewhere", "not added: the number of shards of the topic is changing; try again".to_owned())
        }
        Enqueued::Full => ("full", "not added: the queue is full".to_owned()),
    };
    output.print(&json!({ "id": id.to_string(), "answer": word }), &format!("{id}: {text}\n"))?;
    Ok(answer == Enqueued::Created)
}
