//! `top`: all topics in a table that renews itself.

use super::Desk;
use super::figures::{HEADINGS, look};
use super::output::{Output, table_or, write};
use super::time;
use anyhow::Result;
use evenkeel::queue::topic::Topic;
use serde_json::Value;
use std::collections::HashMap;
use std::time::Duration;

/// What `top` was asked for.
#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Only these topics
    #[arg(value_name = "TOPIC")]
    topics: Vec<String>,
    /// How often, like 1s or 500ms
    #[arg(long, value_name = "SPAN", value_parser = time::read_span, default_value = "1s")]
    every: u64,
}

/// The cursor goes home, what was there is erased line by line as it is written over, and below the last line.
const HOME: &str = "\x1b[H";
const END_OF_LINE: &str = "\x1b[K\n";
const END_OF_SCREEN: &str = "\x1b[J";
const CLEAR: &str = "\x1b[2J";

const NO_QUEUE: &str = "no program has opened a queue under this prefix; evenkeel queue ls names the prefixes under which there are queues";

/// On a terminal it goes on until it is interrupted; otherwise it prints once.
pub(super) async fn run(desk: &Desk<'_>, arguments: &Arguments, output: Output) -> Result<bool> {
    if !output.is_live() {
        let topics = super::topics(desk, &arguments.topics).await?;
        let (rows, values) = look(&topics).await?;
        output.print(&Value::Array(values), &table_or(&HEADINGS, &rows, NO_QUEUE))?;
        return Ok(true);
    }
    let mut done_before = HashMap::new();
    write(CLEAR)?;
    loop {
        let topics = super::topics(desk, &arguments.topics).await?;
        let picture = match picture(&topics, &mut done_before).await {
            Ok(picture) => picture,
            Err(error) => format!("{error:#}; trying again\n"),
        };
        write(&format!("{HOME}{}{END_OF_SCREEN}", picture.replace('\n', END_OF_LINE)))?;
        tokio::time::sleep(Duration::from_millis(arguments.every.max(100))).await;
    }
}

/// The table of `ls`, with the jobs done per second since the picture before.
async fn picture(topics: &[Topic], done_before: &mut HashMap<String, (u64, u64)>) -> Result<String> {
    let (mut rows, values) = look(topics).await?;
    for (row, value) in rows.iter_mut().zip(&values) {
        let figure = |pointer: &str| value.pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
        let (now, done) = (figure("/now_ms"), figure("/totals/done"));
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
