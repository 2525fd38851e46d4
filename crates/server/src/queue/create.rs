//! `create`: registers a topic, for teams whose programs use the API.

use super::Servers;
use crate::operations::create;
use crate::output::Output;
use anyhow::Result;
use serde_json::json;

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
    let done = create::topic(&servers.keel, topic, *shards, *retries).run.await?;
    let is_new = done.result == "created";
    output.print(&json!({ "topic": topic, "created": is_new }), &format!("{topic}: {}\n", done.line))?;
    Ok(is_new)
}
