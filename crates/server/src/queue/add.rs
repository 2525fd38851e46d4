//! `add`: a job by hand.

use super::Desk;
use super::output::Output;
use super::time;
use anyhow::{Result, bail};
use evenkeel::queue::job::{Priority, Retries};
use evenkeel::queue::steps::{Enqueued, When};
use evenkeel::queue::topic::NewTopicJob;
use serde_json::json;

/// The id of the JSON codec, which most topics use.
const JSON: u8 = 1;

/// What `add` was asked for.
#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Which topic
    topic: String,
    /// Body, in the topic's encoding (usually JSON)
    body: String,
    /// Due time, like 2026-11-21T18:00:00Z (default: now)
    #[arg(long, value_name = "TIME", value_parser = time::read_time, conflicts_with = "after")]
    at: Option<u64>,
    /// Delay from now, like 90s, 5m, 2h or 1d
    #[arg(long = "in", value_name = "SPAN", value_parser = time::read_span)]
    after: Option<u64>,
    /// Idempotency key: enqueueing it again changes nothing
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Priority
    #[arg(long, value_enum, default_value = "normal")]
    priority: PriorityName,
    /// Retries after a failed first attempt (default: the topic's own)
    #[arg(long, value_name = "NUMBER")]
    retries: Option<u16>,
}

/// Priorities as operators write them.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum PriorityName {
    Urgent,
    High,
    Normal,
    Low,
}

impl From<PriorityName> for Priority {
    fn from(name: PriorityName) -> Self {
        match name {
            PriorityName::Urgent => Self::Urgent,
            PriorityName::High => Self::High,
            PriorityName::Normal => Self::Normal,
            PriorityName::Low => Self::Low,
        }
    }
}

pub(super) async fn run(desk: &Desk<'_>, arguments: Arguments, output: Output) -> Result<bool> {
    let topic = super::topic(desk, &arguments.topic).await?;
    if topic.codec() == JSON
        && let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(&arguments.body)
    {
        bail!(
            "queue {} holds JSON, and the body is none ({error}); a text needs quotes of its own: '\"text\"'",
            topic.name()
        );
    }
    let new = NewTopicJob {
        body: arguments.body.into_bytes().into(),
        when: time::when(arguments.at, arguments.after).unwrap_or(When::In(0)),
        name: arguments.id,
        priority: arguments.priority.into(),
        retries: arguments.retries.map(Retries::Limited),
    };
    let (id, answer) = topic.add(new).await?;
    let (word, sentence) = match answer {
        Enqueued::Created => ("created", "created".to_owned()),
        Enqueued::Duplicate => ("duplicate", "not added: a job of this id waits or runs".to_owned()),
        Enqueued::Taken(other) => ("taken", format!("not added: its unique key belongs to {other}")),
        Enqueued::Dead => ("dead", "not added: a job of this id is among the dead letters".to_owned()),
        Enqueued::Ended(end) => ("ended", format!("not added: a job of this id ended before ({end:?})")),
        Enqueued::Elsewhere => {
            ("elsewhere", "not added: the topic is being spread over other shards; try again".to_owned())
        }
        Enqueued::Full => ("full", "not added: the queue has reached its limit".to_owned()),
    };
    output.print(&json!({ "id": id.to_string(), "answer": word }), &format!("{id} {sentence}\n"))?;
    Ok(answer == Enqueued::Created)
}
