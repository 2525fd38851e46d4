//! `top`: a live table of topics. `evenkeel top` has it as a tab.

use super::Servers;
use crate::output::Output;
use crate::time;
use crate::top::{Source, Tab, show};
use anyhow::Result;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Only these topics
    #[arg(value_name = "TOPIC")]
    topics: Vec<String>,
    /// Refresh interval, for example 1s or 500ms; at least 100ms
    #[arg(long, value_name = "SPAN", value_parser = time::read_span, default_value = "1s")]
    every: u64,
}

/// Refreshes the table until the user ends it; if the output is not a terminal, prints it once.
pub(super) async fn run(servers: &Servers<'_>, arguments: &Arguments, output: Output) -> Result<bool> {
    if output.is_live() {
        // An unknown topic is an error of the command. Later errors are shown in place of the table.
        super::topics(servers, &arguments.topics).await?;
    }
    show(&mut Source::new(servers, &arguments.topics), &[Tab::Topics], Tab::Topics, arguments.every, output).await
}
