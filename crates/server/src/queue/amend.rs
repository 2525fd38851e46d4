//! `amend`: replaces the body of a waiting job or of a dead letter.

use super::jobs::JobArguments;
use super::{Servers, add};
use crate::operations::{Answers, digest, edit};
use crate::output::Output;
use anyhow::{Result, bail};
use bytes::Bytes;

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
    if topic.job(id).await?.is_none() {
        bail!("queue {}: no job {} (unknown id, or its completion record has expired)", topic.name(), arguments.job.id);
    }
    let seen = arguments.seen.map(|seen| digest(seen.as_bytes()));
    let edit = edit(&topic, id, seen.as_deref(), Bytes::from(arguments.body));
    output.answers(&[arguments.job.id], Answers(vec![edit.run.await]))
}
