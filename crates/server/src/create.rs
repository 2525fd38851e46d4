//! Creates topics and streams for programs that do not open them with the library: their bodies are JSON, all else is the default.

use crate::output::Output;
use anyhow::{Result, anyhow};
use evenkeel::Keel;
use evenkeel::queue::QueueError;
use evenkeel::stream::StreamError;
use serde_json::{Value, json};
use std::ops::RangeInclusive;

pub(crate) const SHARDS: RangeInclusive<u16> = 1..=1024;
pub(crate) const PARTITIONS: RangeInclusive<u16> = 1..=256;

#[derive(clap::Args)]
pub(crate) struct TopicArguments {
    /// Name of the topic: 1 to 64 letters, digits, `-`, `_` or `.`
    topic: String,
    /// Number of shards (default: 1); `grow` increases it
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=1024))]
    shards: Option<u16>,
}

#[derive(clap::Args)]
pub(crate) struct StreamArguments {
    /// Name of the stream: 1 to 128 letters, digits, `-`, `_` or `.`
    stream: String,
    /// Number of partitions (default: 1); it cannot be changed later
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=256))]
    partitions: Option<u16>,
}

/// `evenkeel queue create`.
pub(crate) async fn run_topic(keel: &Keel, arguments: &TopicArguments, output: Output) -> Result<bool> {
    let TopicArguments { topic: name, shards } = arguments;
    let Created { is_new, parts } = topic(keel, name, *shards).await?.with(*shards, "shards")?;
    output.print(&json!({ "topic": name, "is_new": is_new, "shards": parts }), &text(name, is_new, parts, "shards"))?;
    Ok(true)
}

/// `evenkeel stream create`.
pub(crate) async fn run_stream(keel: &Keel, arguments: &StreamArguments, output: Output) -> Result<bool> {
    let StreamArguments { stream: name, partitions } = arguments;
    let Created { is_new, parts } = stream(keel, name, *partitions).await?.with(*partitions, "partitions")?;
    let value = json!({ "stream": name, "is_new": is_new, "partitions": parts });
    output.print(&value, &text(name, is_new, parts, "partitions"))?;
    Ok(true)
}

fn text(name: &str, is_new: bool, parts: u16, noun: &str) -> String {
    format!("{name}: {}, with {noun}: {parts}\n", if is_new { "created" } else { "exists" })
}

/// What there is now.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Created {
    /// Whether it was created; `false`: it existed, and was not changed.
    pub(crate) is_new: bool,
    /// Its shards or partitions.
    pub(crate) parts: u16,
}

/// Creates the topic, unless it exists.
pub(crate) async fn topic(keel: &Keel, name: &str, shards: Option<u16>) -> Result<Created, QueueError> {
    match keel.topic(name).await {
        // To open it would replace its settings by the defaults.
        Ok(topic) => return Ok(Created { is_new: false, parts: topic.shards() }),
        Err(QueueError::UnknownTopic { .. }) => {}
        Err(error) => return Err(error),
    }
    let builder = keel.queue::<Value>(name);
    shards.into_iter().fold(builder, |builder, shards| builder.shards(shards)).open().await?;
    Ok(Created { is_new: true, parts: keel.topic(name).await?.shards() })
}

/// Creates the stream, unless it exists.
pub(crate) async fn stream(keel: &Keel, name: &str, partitions: Option<u16>) -> Result<Created, StreamError> {
    match keel.stream_admin(name).await {
        Ok(stream) => return Ok(Created { is_new: false, parts: stream.partitions() }),
        Err(StreamError::Unknown { .. }) => {}
        Err(error) => return Err(error),
    }
    let builder = keel.stream::<Value>(name);
    partitions.into_iter().fold(builder, |builder, partitions| builder.partitions(partitions)).open().await?;
    Ok(Created { is_new: true, parts: keel.stream_admin(name).await?.partitions() })
}

impl Created {
    /// An error if it exists with another number of parts than was requested.
    pub(crate) fn with(self, wanted: Option<u16>, noun: &str) -> Result<Self> {
        match wanted {
            Some(wanted) if wanted != self.parts => {
                Err(anyhow!("it exists with another number of {noun}: {}", self.parts))
            }
            _ => Ok(self),
        }
    }
}
