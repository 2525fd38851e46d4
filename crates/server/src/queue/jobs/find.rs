//! `find`: the jobs of a topic in one state that contain a text, the newest first.

use super::{StateName, read_cursor, row, seen_json};
use crate::output::{Output, Progress, next_page, printable, table_or};
use crate::queue::search::Part;
use crate::queue::{Servers, topic};
use anyhow::Result;
use evenkeel::queue::Listed;
use evenkeel::queue::topic::{JobState, Seen};
use serde_json::{Value, json};

const HEADINGS: [&str; 6] = ["ID", "TIME", "PRIORITY", "ERRORS", "BODY", "LAST ERROR"];

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Topic
    topic: String,
    /// Text in the body or in an error
    text: String,
    /// State of the jobs
    #[arg(long, value_enum, default_value = "waiting")]
    state: StateName,
    /// Continue after this job: the cursor printed below the jobs that were found
    #[arg(long, value_name = "TIME:ID", value_parser = read_cursor)]
    after: Option<Listed>,
}

/// Reads on until a part of the search has found something, or a signal stops it.
pub(crate) async fn find(servers: &Servers<'_>, arguments: &Arguments, output: Output) -> Result<bool> {
    let topic = topic(servers, &arguments.topic).await?;
    let place = JobState::from(arguments.state);
    let mut stop = std::pin::pin!(web::stop_requested()?);
    let (mut read, mut after, progress) = (0, arguments.after, Progress::new(output));
    let (found, is_stopped) = loop {
        let mut part = Part::new(after);
        let is_stopped = tokio::select! {
            searched = part.search(&topic, place, |seen| has(seen, &arguments.text)) => {
                searched?;
                false
            }
            () = &mut stop => true,
        };
        read += part.read;
        after = part.next;
        if is_stopped || after.is_none() || !part.found.is_empty() {
            break (part.found, is_stopped);
        }
        progress.show(format_args!("{read} jobs read; Ctrl-C stops it"));
    };
    drop(progress);
    let now = topic.now_ms();
    let next = after.map(|next| format!("{}:{}", next.score, next.id));
    let rows: Vec<Vec<String>> = found.iter().map(|seen| row(seen, now)).collect();
    let empty = format!("none of {read} jobs contains {:?} (see also --state)", arguments.text);
    let mut text = table_or(&HEADINGS, &rows, &empty);
    match &next {
        Some(next) if is_stopped => {
            text.push_str(&format!("stopped: the rest was not searched; to continue, add --after {next}\n"));
        }
        None if is_stopped => {
            text.push_str("stopped before the first job was read; to begin again, repeat the command\n");
        }
        next => text.push_str(&next_page(next.as_deref())),
    }
    text.push_str(crate::queue::redis_only(&topic));
    let jobs: Vec<Value> = found.iter().map(seen_json).collect();
    let redis_only = topic.needs_database();
    let value = json!({ "jobs": jobs, "next": next, "read": read, "stopped": is_stopped, "redis_only": redis_only });
    output.print(&value, &text)?;
    Ok(!found.is_empty() && !is_stopped)
}

fn has(seen: &Seen, text: &str) -> bool {
    let Ok(job) = &seen.job else { return false };
    printable(&job.spec.body).contains(text) || job.error_notes().any(|error| printable(&error.text).contains(text))
}
