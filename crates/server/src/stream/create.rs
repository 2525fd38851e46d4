//! `create`: registers a stream, for teams whose programs use the API.

use crate::operations::create;
use crate::output::Output;
use anyhow::Result;
use evenkeel::Keel;
use serde_json::json;

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
    let done = create::stream(keel, stream, *partitions).run.await?;
    let is_new = done.result == "created";
    output.print(&json!({ "stream": stream, "created": is_new }), &format!("{stream}: {}\n", done.line))?;
    Ok(is_new)
}
