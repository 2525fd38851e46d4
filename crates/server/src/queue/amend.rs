//! `amend`: replaces the body of a waiting job or of a dead letter.

use super::jobs::JobArguments;
use super::{Servers, add, change};
use crate::output::Output;
use anyhow::{Result, bail};
use bytes::Bytes;
use evenkeel::queue::topic::{Amended, Topic};
use evenkeel::queue::{Found, JobId, State};

#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    job: JobArguments,
    /// New body, in the topic's encoding (usually JSON)
    body: String,
    /// Only if the body is still this one, byte for byte
    #[arg(long, value_name = "BODY")]
    seen: Option<String>,
}

pub(super) async fn run(servers: &Servers<'_>, arguments: Arguments, output: Output) -> Result<bool> {
    let topic = super::topic(servers, &arguments.job.topic).await?;
    add::check_body(&topic, &arguments.body)?;
    let id = super::job_id(&topic, &arguments.job.id).await?;
    let (body, seen) = (Bytes::from(arguments.body), arguments.seen.map(Bytes::from));
    let Some(found) = topic.job(id).await? else {
        bail!("queue {}: no job {} (unknown id, or its completion record has expired)", topic.name(), arguments.job.id);
    };
    let answer = amend(&topic, id, &found, seen, body).await?;
    output.report(&[arguments.job.id], [answer].into_iter())
}

/// Whether the body was replaced, and what happened. A body that is already the new one counts as replaced, so the command can be repeated.
async fn amend(topic: &Topic, id: JobId, found: &Found, seen: Option<Bytes>, body: Bytes) -> Result<(bool, String)> {
    let (state, job) = match found {
        Found::Live { state, job, .. } => (state, job),
        Found::Ended(record) => return Ok((false, format!("not changed: the job has ended ({:?})", record.end))),
    };
    if seen.is_some_and(|seen| seen != job.spec.body) && job.spec.body != body {
        return Ok((false, OTHER_BODY.to_owned()));
    }
    match state {
        State::Leased => Ok((false, "not changed: the job is running".to_owned())),
        State::Waiting(_) => Ok(change::moved(topic.edit(id, body).await?, "the new body is stored")),
        State::Dead => Ok(match topic.amend(id, job.spec.body.clone(), body).await? {
            Amended::Changed => {
                (true, "the new body is stored; the job is still dead: redrive it to run it".to_owned())
            }
            Amended::Other => (false, OTHER_BODY.to_owned()),
            Amended::Full => {
                (false, "not changed: with this body the topic would be above its limit of bytes".to_owned())
            }
            Amended::NotDead => {
                (false, "not changed: the job is no longer a dead letter; run `amend` again".to_owned())
            }
            Amended::Ended(end) => (false, format!("not changed: the job has ended ({end:?})")),
            Amended::Unknown => (false, "not changed: no such job, or its completion record has expired".to_owned()),
        }),
    }
}

const OTHER_BODY: &str = "not changed: its body is another one by now; read it again with `job`";
