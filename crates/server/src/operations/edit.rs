//! A waiting job or a dead letter gets another body.

use super::failure::no_room;
use super::reschedule::{STORED, answer};
use super::{Answer, Done, Failure, Operation, changed_meanwhile, not_waiting};
use crate::kind::UNKNOWN_JOB;
use crate::roles::Action;
use bytes::Bytes;
use evenkeel::queue::topic::{Amended, Topic};
use evenkeel::queue::{Found, JobId, State};
use sha2::{Digest, Sha256};
use web::{Problem, hex};

/// Fewer digits of a digest do not identify a body.
const DIGITS_MIN: usize = 32;

/// `seen` is the [`digest`] of the body that is replaced, or its first 32 digits; `None`: whichever it is. A body that is already the new one
/// counts as replaced, so that it can be repeated.
pub(crate) fn edit<'a>(topic: &'a Topic, id: JobId, seen: Option<&'a str>, body: Bytes) -> Operation<'a> {
    let after = digest(&body);
    let edit = Operation::of_jobs((Action::Edit, "edit"), topic, &[id], store(topic, id, seen, body));
    edit.with("before", seen).with("after", after)
}

async fn store(topic: &Topic, id: JobId, seen: Option<&str>, body: Bytes) -> Answer {
    let found = topic.job(id).await?.ok_or_else(|| {
        let line = "no such job (unknown id, or its completion record has expired)";
        Failure::invalid(Problem::plain(UNKNOWN_JOB), format!("queue {}: {line}", topic.name()))
    })?;
    let (state, job) = match found {
        Found::Live { state, job, .. } => (state, job),
        Found::Ended(record) => {
            return Err(not_waiting(&"Ended", &format!("not changed: the job has ended ({:?})", record.end)));
        }
    };
    let is_it = |seen: &str| seen.len() >= DIGITS_MIN && digest(&job.spec.body).starts_with(seen);
    if seen.is_some_and(|seen| !is_it(seen)) && job.spec.body != body {
        return Err(other_body());
    }
    if state != State::Dead {
        return answer(topic.edit(id, body).await?, STORED);
    }
    let amended = topic.amend(id, job.spec.body, body).await?;
    let refused = |line: &str| {
        let detail = format!("The dead letter is not as it was ({amended:?}). Nothing was changed.");
        Err(changed_meanwhile(detail, line))
    };
    match amended {
        Amended::Changed => Ok(Done::new(
            "changed",
            "The new body is stored. The job is still dead: redrive it to run it.",
            "the new body is stored; the job is still dead: redrive it to run it",
        )),
        Amended::Full => Err(no_room()),
        Amended::Other => Err(other_body()),
        Amended::NotDead => refused("not changed: the job is no longer a dead letter; run `amend` again"),
        Amended::Ended(end) => refused(&format!("not changed: the job has ended ({end:?})")),
        Amended::Unknown => refused("not changed: no such job, or its completion record has expired"),
    }
}

fn other_body() -> Failure {
    let detail = "The body was edited by another visitor since it was read. Read it again. Nothing was changed.";
    changed_meanwhile(detail, "not changed: its body is another one by now; read it again with `job`")
}

/// Identifies a body, so that an edit names the one that it replaces.
pub(crate) fn digest(body: &[u8]) -> String {
    hex(&Sha256::digest(body))
}
