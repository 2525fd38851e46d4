//! `revoke`, `reschedule`, `run`, `pause`, `resume`.

use super::Desk;
use super::output::Output;
use super::time;
use anyhow::{Result, bail};
use evenkeel::queue::steps::{Reschedule, Rescheduled, Revoked};
use serde_json::{Value, json};

/// A topic and some of its jobs.
#[derive(clap::Args)]
pub(super) struct Ids {
    /// Which topic
    topic: String,
    /// Ids: 32 hexadecimal digits each, or the ids their senders gave them
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
}

/// A topic.
#[derive(clap::Args)]
pub(super) struct TopicArgument {
    /// Which topic
    topic: String,
}

/// What `pause` was asked for.
#[derive(clap::Args)]
pub(super) struct PauseArguments {
    /// Which topic
    topic: String,
    /// For how long, like 15m (default: until `resume`)
    #[arg(long = "for", value_name = "SPAN", value_parser = time::read_span)]
    span: Option<u64>,
}

/// What `reschedule` was asked for.
#[derive(clap::Args)]
pub(super) struct RescheduleArguments {
    /// Which topic
    topic: String,
    /// The job's id: 32 hexadecimal digits, or the id its sender gave it
    id: String,
    /// New due time, like 2026-11-21T18:00:00Z
    #[arg(long, value_name = "TIME", value_parser = time::read_time, conflicts_with = "after")]
    at: Option<u64>,
    /// New delay from now, like 90s, 5m, 2h or 1d
    #[arg(long = "in", value_name = "SPAN", value_parser = time::read_span)]
    after: Option<u64>,
    /// New body, in the topic's encoding (usually JSON)
    #[arg(long)]
    body: Option<String>,
}

pub(super) async fn revoke(desk: &Desk<'_>, arguments: &Ids, output: Output) -> Result<bool> {
    let topic = super::topic(desk, &arguments.topic).await?;
    let ids: Vec<_> = arguments.ids.iter().map(|id| super::job_id(id)).collect();
    let answers = topic.revoke(&ids).await?;
    let said = |answer: &Revoked| match answer {
        Revoked::Revoked => (true, "revoked".to_owned()),
        Revoked::RevokedAfterLapse => (true, "revoked; a worker that fell silent may have begun it".to_owned()),
        Revoked::Running => (false, "not revoked: it is running".to_owned()),
        Revoked::Dead => (false, "not revoked: it is a dead letter".to_owned()),
        Revoked::Ended(end) => (false, format!("not revoked: it ended before ({end:?})")),
        Revoked::Unknown => (
            false,
            "not revoked: it has ended (jobs without an id of their own are not remembered), or there was never one"
                .to_owned(),
        ),
    };
    report(&arguments.ids, answers.iter().map(said), output)
}

pub(super) async fn run_now(desk: &Desk<'_>, arguments: &Ids, output: Output) -> Result<bool> {
    let topic = super::topic(desk, &arguments.topic).await?;
    let ids: Vec<_> = arguments.ids.iter().map(|id| super::job_id(id)).collect();
    let answers = topic.run_now(&ids).await?;
    report(&arguments.ids, answers.iter().map(|answer| moved(*answer, "due now")), output)
}

pub(super) async fn reschedule(desk: &Desk<'_>, arguments: RescheduleArguments, output: Output) -> Result<bool> {
    let when = time::when(arguments.at, arguments.after);
    if when.is_none() && arguments.body.is_none() {
        bail!("say what shall change: --at TIME, --in SPAN or --body BODY");
    }
    let topic = super::topic(desk, &arguments.topic).await?;
    let body = arguments.body.map(|body| body.into_bytes().into());
    let change = Reschedule { id: super::job_id(&arguments.id), when, body, codec: Some(topic.codec()) };
    let answer = topic.change(change).await?;
    report(&[arguments.id], [moved(answer, "changed")].into_iter(), output)
}

pub(super) async fn pause(desk: &Desk<'_>, arguments: &PauseArguments, output: Output) -> Result<bool> {
    let topic = super::topic(desk, &arguments.topic).await?;
    let until = arguments.span.map(|span| topic.now_ms() + span);
    topic.pause(until).await?;
    let sentence = match until {
        Some(until) => format!("{}: paused until {}\n", topic.name(), time::text(until)),
        None => format!("{}: paused until it is resumed\n", topic.name()),
    };
    output.print(&json!({ "topic": topic.name(), "paused": true, "until_ms": until }), &sentence)?;
    Ok(true)
}

pub(super) async fn resume(desk: &Desk<'_>, arguments: &TopicArgument, output: Output) -> Result<bool> {
    let topic = super::topic(desk, &arguments.topic).await?;
    topic.resume().await?;
    output.print(&json!({ "topic": topic.name(), "paused": false }), &format!("{}: resumed\n", topic.name()))?;
    Ok(true)
}

fn moved(answer: Rescheduled, yes: &str) -> (bool, String) {
    match answer {
        Rescheduled::Changed => (true, yes.to_owned()),
        Rescheduled::ChangedAfterLapse => (true, format!("{yes}; a worker that fell silent may have begun it")),
        Rescheduled::Running => (false, "not changed: it is running".to_owned()),
        Rescheduled::Dead => (false, "not changed: it is a dead letter (see `dead redrive`)".to_owned()),
        Rescheduled::Ended(end) => (false, format!("not changed: it ended before ({end:?})")),
        Rescheduled::Unknown => (false, "not changed: unknown, or not remembered any more".to_owned()),
    }
}

/// A line for each id; the answer is yes if it is for all.
pub(super) fn report(ids: &[String], answers: impl Iterator<Item = (bool, String)>, output: Output) -> Result<bool> {
    let answers: Vec<(&String, bool, String)> =
        ids.iter().zip(answers).map(|(id, (yes, text))| (id, yes, text)).collect();
    let values: Vec<Value> =
        answers.iter().map(|(id, yes, text)| json!({ "id": id, "ok": yes, "answer": text })).collect();
    let text: String = answers.iter().map(|(id, _, text)| format!("{id} {text}\n")).collect();
    output.print(&Value::Array(values), &text)?;
    Ok(answers.iter().all(|(_, yes, _)| *yes))
}
