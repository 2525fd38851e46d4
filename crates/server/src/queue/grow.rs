//! `grow`: increases the number of shards of a topic.

use super::Servers;
use crate::output::Output;
use anyhow::Result;
use serde_json::json;
use std::io::IsTerminal;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Topic
    topic: String,
    /// New number of shards: a multiple of the current one
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1024))]
    shards: u16,
}

pub(super) async fn run(servers: &Servers<'_>, arguments: &Arguments, output: Output) -> Result<bool> {
    let topic = super::topic(servers, &arguments.topic).await?;
    let before = topic.shards();
    let live = std::io::stderr().is_terminal();
    let grown = topic
        .grow_with(arguments.shards, |grown| {
            if live {
                eprintln!("{} jobs moved, waiting for {} running jobs", grown.moved, grown.running);
            }
        })
        .await?;
    let (name, shards, moved) = (topic.name(), grown.shards, grown.moved);
    output.print(
        &json!({ "topic": name, "shards_before": before, "shards": shards, "moved": moved }),
        &format!("{name}: {shards} shards (before: {before}), {moved} jobs moved\n"),
    )?;
    Ok(true)
}
