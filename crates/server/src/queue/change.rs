//! `revoke`, `reschedule`, `run`, `pause`, `resume`.

use super::Servers;
use super::jobs::JobArguments;
use crate::output::Output;
use crate::time;
use anyhow::{Result, bail};
use evenkeel::queue::{Reschedule, Rescheduled, Revoked};
use serde_json::json;

#[derive(clap::Args)]
pub(super) struct Ids {
    /// Topic
    topic: String,
    /// Job ids: 32 hexadecimal digits each, or the ids that their senders chose
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
}

#[derive(clap::Args)]
pub(super) struct TopicArgument {
    /// Topic
    pub(super) topic: String,
}

#[derive(clap::Args)]
pub(super) struct PauseArguments {
    /// Topic
    topic: String,
    /// Duration, for example 15m (default: until `resume`)
    #[arg(long = "for", value_name = "SPAN", value_parser = time::read_span)]
    span: Option<u64>,
}

#[derive(clap::Args)]
pub(super) struct RescheduleArguments {
    #[command(flatten)]
    job: JobArguments,
    /// New due time, for example 2026-11-21T18:00:00Z
    #[arg(long, value_name = "TIME", value_parser = time::read_time, conflicts_with = "after", allow_hyphen_values = true)]
    at: Option<u64>,
    /// New delay from now, for example 90s, 5m, 2h or 1d
    #[arg(long = "in", value_name = "SPAN", value_parser = time::read_span, allow_hyphen_values = true)]
    after: Option<u64>,
    /// New body, in the topic's encoding (usually JSON)
    #[arg(long)]
    body: Option<String>,
}

pub(super) async fn revoke(servers: &Servers<'_>, arguments: &Ids, output: Output) -> Result<bool> {
    let topic = super::topic(servers, &arguments.topic).await?;
    let ids = super::job_ids(&topic, &arguments.ids).await?;
    let answers = topic.revoke(&ids).await?;
    let result = |answer: &Revoked| match answer {
        Revoked::Revoked => (true, "revoked".to_owned()),
        Revoked::RevokedAfterLeaseExpiry => {
            (true, "revoked; a worker whose lease has expired may have started it".to_owned())
        }
        Revoked::Running => (false, "not revoked: the job is running".to_owned()),
        Revoked::Dead => (false, "not revoked: the job is a dead letter".to_owned()),
        Revoked::Ended(end) => (false, format!("not revoked: the job has ended ({end:?})")),
        Revoked::Unknown => {
            (false, "not revoked: no such job (a job whose sender chose no id leaves no completion record)".to_owned())
        }
    };
    output.report(&arguments.ids, answers.iter().map(result))
}

pub(super) async fn run_now(servers: &Servers<'_>, arguments: &Ids, output: Output) -> Result<bool> {
    let topic = super::topic(servers, &arguments.topic).await?;
    let ids = super::job_ids(&topic, &arguments.ids).await?;
    let answers = topic.run_now(&ids).await?;
    output.report(&arguments.ids, answers.iter().map(|answer| moved(*answer, "due now")))
}

pub(super) async fn reschedule(servers: &Servers<'_>, arguments: RescheduleArguments, output: Output) -> Result<bool> {
    let when = time::when(arguments.at, arguments.after);
    if when.is_none() && arguments.body.is_none() {
        bail!("nothing to change: add --at TIME, --in SPAN or --body BODY");
    }
    let topic = super::topic(servers, &arguments.job.topic).await?;
    let body = arguments.body.map(|body| body.into_bytes().into());
    let id = super::job_id(&topic, &arguments.job.id).await?;
    let change = Reschedule { id, when, body, codec: Some(topic.codec()) };
    let answer = topic.change(change).await?;
    output.report(&[arguments.job.id], [moved(answer, "changed")].into_iter())
}

pub(super) async fn pause(servers: &Servers<'_>, arguments: &PauseArguments, output: Output) -> Result<bool> {
    let topic = super::topic(servers, &arguments.topic).await?;
    let until = time::pause_end(arguments.span, topic.now_ms())?;
    topic.pause(until).await?;
    let text = match until {
        Some(until) => format!("{}: paused until {}\n", topic.name(), time::text(until)),
        None => format!("{}: paused until resumed\n", topic.name()),
    };
    output.print(&json!({ "topic": topic.name(), "paused": true, "until_ms": until }), &text)?;
    Ok(true)
}

pub(super) async fn resume(servers: &Servers<'_>, arguments: &TopicArgument, output: Output) -> Result<bool> {
    let topic = super::topic(servers, &arguments.topic).await?;
    topic.resume().await?;
    output.print(&json!({ "topic": topic.name(), "paused": false }), &format!("{}: resumed\n", topic.name()))?;
    Ok(true)
}

/// Whether a waiting job was changed, and what happened.
pub(super) fn moved(answer: Rescheduled, yes: &str) -> (bool, String) {
    match answer {
        Rescheduled::Changed => (true, yes.to_owned()),
        Rescheduled::ChangedAfterLeaseExpiry => {
            (true, format!("{yes}; a worker whose lease has expired may have started it"))
        }
        Rescheduled::Full => {
            (false, "not changed: with this body the topic would be above its limit of bytes".to_owned())
        }
        Rescheduled::Running => (false, "not changed: the job is running".to_owned()),
        Rescheduled::Dead => {
            (false, "not changed: the job is a dead letter (see `dead redrive` and `amend`)".to_owned())
        }
        Rescheduled::Ended(end) => (false, format!("not changed: the job has ended ({end:?})")),
        Rescheduled::Unknown => (false, "not changed: no such job, or its completion record has expired".to_owned()),
    }
}
