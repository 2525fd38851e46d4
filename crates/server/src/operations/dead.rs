//! Redrives and deletes dead letters of a topic by their ids.

use super::{Answers, Done, Failure, Operation, changed_meanwhile};
use crate::kind::UNKNOWN_JOB;
use crate::roles::Action;
use evenkeel::queue::JobId;
use evenkeel::queue::topic::{JobState, Topic};
use web::Problem;

/// Sends a letter back. One that has died again is sent back again under another `name` only.
pub(crate) fn redrive<'a>(topic: &'a Topic, id: JobId, name: &'a str) -> Operation<'a> {
    let run = async move {
        let report = topic.redrive(name).only([id]).run().await.map_err(Failure::Shards)?;
        if report.taken_in_all > 0 {
            return Ok(Done::new("redriven", "Redriven: the job waits with all its attempts.", "redriven"));
        }
        let problem = Problem::new(UNKNOWN_JOB, "The job is no longer a dead letter. Nothing was changed.");
        Err(Failure::refused(problem, "not a dead letter"))
    };
    Operation::of_jobs((Action::Redrive, "redrive"), topic, &[id], run)
}

pub(crate) fn delete<'a>(topic: &'a Topic, ids: &'a [JobId]) -> Operation<'a, Answers> {
    let answer = |was_dead| match was_dead {
        true => Ok(Done::new("deleted", "Deleted.", "deleted")),
        false => {
            Err(changed_meanwhile("The job is no longer a dead letter. Nothing was deleted.", "not a dead letter"))
        }
    };
    let run = async move {
        let mut deleted = Vec::with_capacity(ids.len());
        for some in ids.chunks(IDS_MAX) {
            deleted.extend(topic.delete_dead(some).await?);
        }
        Ok(Answers::of(deleted, answer))
    };
    Operation::of_jobs((Action::Delete, "delete"), topic, ids, run).confirmed_by("the topic's name", topic.name())
}

/// Ids of one call.
const IDS_MAX: usize = 500;

/// Deletes all letters, and returns how many.
pub(crate) fn purge(topic: &Topic) -> Operation<'_, u64> {
    let run = async move { Ok(topic.purge(JobState::Dead, topic.name()).await?) };
    Operation::of_jobs((Action::Delete, "purge"), topic, &[], run).confirmed_by("the topic's name", topic.name())
}
