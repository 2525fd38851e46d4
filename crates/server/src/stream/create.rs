//! `create`: registers a stream, for teams whose programs use the API.

use crate::output::Output;
use anyhow::Result;
use evenkeel::Keel;
use evenkeel::stream::StreamError;
use serde_json::{Value, json};

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Stream: 1 to 128 letters, digits, `-`, `_` or `.`
    stream: String,
    /// Number of partitions, which stays as it is: entries of one key are in one partition (default: 1)
    #[arg(long)]
    partitions: Option<u16>,
}

/// Exit code 1 if the stream exists.
pub(super) async fn run(keel: &Keel, arguments: &Arguments, output: Output) -> Result<bool> {
    let Arguments { stream, partitions } = arguments;
    let is_new = create(keel, stream, *partitions).await?;
    let text = if is_new { "created" } else { "exists; nothing was changed" };
    output.print(&json!({ "stream": stream, "created": is_new }), &format!("{stream}: {text}\n"))?;
    Ok(is_new)
}

/// Registers a stream whose values are JSON. Returns whether it is new: one that exists keeps its partitions.
pub(crate) async fn create(keel: &Keel, name: &str, partitions: Option<u16>) -> Result<bool, StreamError> {
    match keel.stream_admin(name).await {
        Ok(_) => return Ok(false),
        Err(StreamError::Unknown { .. }) => {}
        Err(error) => return Err(error),
    }
    let mut stream = keel.stream::<Value>(name);
    if let Some(partitions) = partitions {
        stream = stream.partitions(partitions);
    }
    stream.open().await.map(|_| true)
}
