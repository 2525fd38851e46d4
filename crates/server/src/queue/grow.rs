//! `grow`: a topic over more shards.

use super::Desk;
use super::output::Output;
use anyhow::Result;
use serde_json::json;
use std::io::IsTerminal;

/// What `grow` was asked for.
#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Which topic
    topic: String,
    /// New number of shards: a multiple of the current one
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1024))]
    shards: u16,
}

pub(super) async fn run(desk: &Desk<'_>, arguments: &Arguments, output: Output) -> Result<bool> {
    let topic = super::topic(desk, &arguments.topic).await?;
    let before = topic.shards();
    let shows = std::io::stderr().is_terminal();
    let grown = topic
        .grow_with(arguments.shards, |grown| {
            if shows {
                eprintln!("{} moved, waiting for {} that run", grown.moved, grown.running);
            }
        })
        .await?;
    let (name, shards, moved) = (topic.name(), grown.shards, grown.moved);
    output.print(
        &json!({ "topic": name, "shards_before": before, "shards": shards, "moved": moved }),
        &format!("{name}: spread over {shards} shards (before: {before}), {moved} moved\n"),
    )?;
    Ok(true)
}
