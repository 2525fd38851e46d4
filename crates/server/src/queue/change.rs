//! `revoke`, `reschedule`, `run`, `pause`, `resume`.

use super::Servers;
use super::jobs::JobArguments;
use crate::operations::{self, Answers, Done, Of, Operation};
use crate::output::Output;
use crate::time;
use anyhow::{Result, bail};
use evenkeel::queue::topic::Topic;
use evenkeel::queue::{JobId, Reschedule};
use serde_json::{Value, json};

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

/// Does an operation to each of some jobs.
pub(super) async fn each(
    servers: &Servers<'_>,
    Ids { topic, ids: names }: &Ids,
    operation: impl for<'a> Fn(&'a Topic, &'a [JobId]) -> Operation<'a, Answers>,
    output: Output,
) -> Result<bool> {
    let topic = super::topic(servers, topic).await?;
    let ids = super::job_ids(&topic, names).await?;
    output.answers(names, operation(&topic, &ids).run.await?)
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
    output.answers(&[arguments.job.id], Answers(vec![operations::rescheduled(answer)]))
}

pub(super) async fn pause(servers: &Servers<'_>, arguments: &PauseArguments, output: Output) -> Result<bool> {
    let topic = super::topic(servers, &arguments.topic).await?;
    let now = topic.now_ms();
    pause_of(Of::Topic(&topic), arguments.span, now, output).await
}

/// Pauses a topic or a group.
pub(crate) async fn pause_of(of: Of<'_>, span: Option<u64>, now: u64, output: Output) -> Result<bool> {
    let until = span.map(|span| now.saturating_add(span));
    let done = operations::pause(of, until, now)?.run.await?;
    print(of, &done, &json!({ "paused": true, "until_ms": until }), output)
}

pub(super) async fn resume(servers: &Servers<'_>, arguments: &TopicArgument, output: Output) -> Result<bool> {
    resume_of(Of::Topic(&super::topic(servers, &arguments.topic).await?), output).await
}

/// Resumes a topic or a group.
pub(crate) async fn resume_of(of: Of<'_>, output: Output) -> Result<bool> {
    print(of, &operations::resume(of).run.await?, &json!({ "paused": false }), output)
}

fn print(of: Of<'_>, done: &Done, state: &Value, output: Output) -> Result<bool> {
    let mut value = of.target();
    value.as_object_mut().into_iter().for_each(|value| value.extend(state.as_object().cloned().unwrap_or_default()));
    output.print(&value, &format!("{}: {}\n", of.line(), done.line))?;
    Ok(true)
}
