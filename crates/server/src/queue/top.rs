//! `top`: a live table of topics.

use super::Servers;
use super::stats::{HEADINGS, rows};
use crate::output::{Output, table_or, write};
use crate::time;
use anyhow::Result;
use evenkeel::queue::topic::Topic;
use serde_json::Value;
use std::collections::HashMap;
use std::time::Duration;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Only these topics
    #[arg(value_name = "TOPIC")]
    topics: Vec<String>,
    /// Refresh interval, for example 1s or 500ms; at least 100ms
    #[arg(long, value_name = "SPAN", value_parser = time::read_span, default_value = "1s")]
    every: u64,
}

// Each refresh overwrites the previous table line by line, which flickers less than clearing the screen.
const HOME: &str = "\x1b[H";
const END_OF_LINE: &str = "\x1b[K\n";
const END_OF_SCREEN: &str = "\x1b[J";
const CLEAR: &str = "\x1b[2J";

const NO_QUEUE: &str = "no queues under this prefix; `evenkeel queue ls` lists the prefixes that have queues";

/// Refreshes the table until interrupted; if the output is not a terminal, prints it once.
#[expect(clippy::disallowed_methods, reason = "the refresh interval")]
pub(super) async fn run(servers: &Servers<'_>, arguments: &Arguments, output: Output) -> Result<bool> {
    if !output.is_live() {
        let topics = super::topics(servers, &arguments.topics).await?;
        let (rows, values) = rows(&topics).await?;
        output.print(&Value::Array(values), &table_or(&HEADINGS, &rows, NO_QUEUE))?;
        return Ok(true);
    }
    let mut done_before = HashMap::new();
    write(CLEAR)?;
    loop {
        let topics = super::topics(servers, &arguments.topics).await?;
        let screen = match screen(&topics, &mut done_before).await {
            Ok(screen) => screen,
            Err(error) => format!("{error:#}; retrying\n"),
        };
        write(&format!("{HOME}{}{END_OF_SCREEN}", screen.replace('\n', END_OF_LINE)))?;
        tokio::time::sleep(Duration::from_millis(arguments.every.max(100))).await;
    }
}

/// The table of `ls`, with the jobs completed per second since the previous refresh.
async fn screen(topics: &[Topic], done_before: &mut HashMap<String, (u64, u64)>) -> Result<String> {
    let (mut rows, values) = rows(topics).await?;
    for (row, value) in rows.iter_mut().zip(&values) {
        let number = |pointer: &str| value.pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
        let (now, done) = (number("/now_ms"), number("/totals/done"));
        let before = done_before.insert(row[0].clone(), (now, done));
        let rate = before
            .filter(|(then, _)| *then < now)
            .map(|(then, before)| done.saturating_sub(before) * 1_000 / (now - then));
        row.insert(row.len() - 1, rate.map_or_else(|| "-".to_owned(), |rate| rate.to_string()));
    }
    let mut headings = HEADINGS.to_vec();
    headings.insert(headings.len() - 1, "DONE/S");
    let now = values.iter().filter_map(|value| value["now_ms"].as_u64()).max();
    Ok(format!("{}\n\n{}", now.map(time::text).unwrap_or_default(), table_or(&headings, &rows, NO_QUEUE)))
}
