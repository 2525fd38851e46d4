//! `newest`: the jobs of a topic in one state, the newest first, with the beginning of each body.

use super::show::live_json;
use super::{CELL_MAX, PeekArguments, allowed, empty_page, last_error, priority};
use crate::output::{Output, next_page, printable, table_or, truncated};
use crate::queue::{Servers, redis_only, topic};
use crate::time;
use anyhow::Result;
use evenkeel::queue::topic::{JobState, Preview, Previewed};
use serde_json::{Value, json};

const HEADINGS: [&str; 7] = ["ID", "TIME", "PRIORITY", "ERRORS", "BYTES", "BODY", "LAST ERROR"];

pub(crate) async fn newest(servers: &Servers<'_>, arguments: &PeekArguments, output: Output) -> Result<bool> {
    let topic = topic(servers, &arguments.topic).await?;
    let (place, after) = (JobState::from(arguments.state), arguments.page.after);
    let page = topic.previews(place, after, usize::from(arguments.page.limit)).await?;
    let now = topic.now_ms();
    let next = page.next.map(|next| format!("{}:{}", next.score, next.id));
    let rows: Vec<Vec<String>> = page.jobs.iter().map(|job| row(job, now)).collect();
    let mut text = table_or(&HEADINGS, &rows, &empty_page(topic.name(), place, after.is_some()));
    text.push_str(&next_page(next.as_deref()));
    text.push_str(redis_only(&topic));
    let values: Vec<Value> = page.jobs.iter().map(value).collect();
    output.print(&json!({ "jobs": values, "next": next, "redis_only": topic.needs_database() }), &text)?;
    Ok(true)
}

fn row(previewed: &Previewed, now: u64) -> Vec<String> {
    let (id, time) = (previewed.listed.id.to_string(), time::distance(previewed.listed.score, now));
    match &previewed.preview {
        Preview::Live { job, body_bytes, .. } => vec![
            id,
            time,
            priority(job),
            format!("{} of {}", job.errors, allowed(job)),
            body_bytes.to_string(),
            truncated(&printable(&job.spec.body), CELL_MAX),
            last_error(job).map(|text| truncated(&text, CELL_MAX)).unwrap_or_default(),
        ],
        Preview::Ended(_) => vec![id, time],
        Preview::Unreadable(unreadable) => {
            let blank = String::new;
            vec![id, time, blank(), blank(), blank(), blank(), unreadable.to_string()]
        }
    }
}

/// As in `peek`; a body that was cut is `body_start`, a string, instead of `body`.
fn value(previewed: &Previewed) -> Value {
    let id = previewed.listed.id;
    match &previewed.preview {
        Preview::Live { state, score, job, body_bytes } => {
            let mut value = live_json(id, *state, *score, job);
            value["body_bytes"] = (*body_bytes).into();
            if u64::try_from(job.spec.body.len()).is_ok_and(|bytes| bytes < *body_bytes) {
                value["body_start"] = String::from_utf8_lossy(&job.spec.body).into();
                value["body"] = Value::Null;
            }
            value
        }
        Preview::Ended(_) => json!({ "id": id.to_string(), "state": "ended" }),
        Preview::Unreadable(unreadable) => json!({ "id": id.to_string(), "unreadable": unreadable.to_string() }),
    }
}
