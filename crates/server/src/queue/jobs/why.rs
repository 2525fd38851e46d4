//! `why`: the reason why a job is where it is.

use super::JobArguments;
use crate::output::{Output, foreign};
use crate::queue::{Servers, job_id, topic};
use anyhow::Result;
use evenkeel::queue::topic::Why;
use serde_json::json;

/// Exit code 1 if the job is unknown.
pub(crate) async fn why(servers: &Servers<'_>, arguments: &JobArguments, output: Output) -> Result<bool> {
    let topic = topic(servers, &arguments.topic).await?;
    let id = job_id(&topic, &arguments.id).await?;
    let why = topic.why(id).await?;
    let value = json!({ "id": id.to_string(), "reason": reason(&why), "text": why.to_string() });
    output.print(&value, &format!("{}: {}\n", foreign(&arguments.id), foreign(&why.to_string())))?;
    Ok(why != Why::Unknown)
}

/// The reason in JSON: programs compare it, so it stays as it is.
fn reason(why: &Why) -> &'static str {
    match why {
        Why::Unreadable => "unreadable",
        Why::InSql { .. } => "in_sql",
        Why::NotRestored { .. } => "not_restored",
        Why::Unknown => "unknown",
        Why::Ended { .. } => "ended",
        Why::Dead { .. } => "dead",
        Why::Silent { .. } => "silent",
        Why::Running { .. } => "running",
        Why::Claimed { .. } => "claimed",
        Why::Retrying { .. } => "retrying",
        Why::NotDue { .. } => "not_due",
        Why::Expired => "expired",
        Why::Paused { .. } => "paused",
        Why::NoConsumer => "no_consumer",
        Why::Suspect { .. } => "suspect",
        Why::Behind { .. } => "behind",
        Why::Next => "next",
        _ => "other",
    }
}
