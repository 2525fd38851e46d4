//! `create`: registers a topic, for teams whose programs use the API.

use super::Servers;
use crate::output::Output;
use anyhow::Result;
use evenkeel::Keel;
use evenkeel::queue::{QueueError, Retries};
use serde_json::{Value, json};

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Topic: 1 to 64 letters, digits, `-`, `_` or `.`
    topic: String,
    /// Number of shards; each is claimed from by itself (default: 1)
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    shards: Option<u16>,
    /// How many attempts follow a failed first one (default: 5)
    #[arg(long, value_name = "NUMBER")]
    retries: Option<u16>,
}

/// Exit code 1 if the topic exists.
pub(super) async fn run(servers: &Servers<'_>, arguments: &Arguments, output: Output) -> Result<bool> {
    let Arguments { topic, shards, retries } = arguments;
    let is_new = create(&servers.keel, topic, *shards, *retries).await?;
    let text = if is_new { "created" } else { "exists; nothing was changed" };
    output.print(&json!({ "topic": topic, "created": is_new }), &format!("{topic}: {text}\n"))?;
    Ok(is_new)
}

/// Registers a topic whose bodies are JSON. Returns whether it is new: one that exists keeps its settings.
pub(crate) async fn create(
    keel: &Keel,
    name: &str,
    shards: Option<u16>,
    retries: Option<u16>,
) -> Result<bool, QueueError> {
    match keel.topic(name).await {
        Ok(_) => return Ok(false),
        Err(QueueError::UnknownTopic { .. }) => {}
        Err(error) => return Err(error),
    }
    let mut queue = keel.queue::<Value>(name);
    if let Some(shards) = shards {
        queue = queue.shards(shards);
    }
    if let Some(retries) = retries {
        queue = queue.retries(Retries::Limited(retries));
    }
    queue.open().await.map(|_| true)
}
