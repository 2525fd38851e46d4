//! Waiting jobs are due at another time, or now.

use super::failure::no_room;
use super::{Answer, Answers, Done, Operation, not_waiting};
use crate::roles::Action;
use evenkeel::queue::topic::Topic;
use evenkeel::queue::{JobId, Rescheduled, When};

pub(crate) fn run_now<'a>(topic: &'a Topic, ids: &'a [JobId]) -> Operation<'a, Answers> {
    let run = async move { Ok(Answers::of(topic.run_now(ids).await?, |moved| answer(moved, DUE_NOW))) };
    Operation::of_jobs((Action::Run, "run"), topic, ids, run)
}

pub(crate) fn reschedule(topic: &Topic, id: JobId, when: When) -> Operation<'_> {
    let run = async move { rescheduled(topic.reschedule(id, when).await?) };
    Operation::of_jobs((Action::Reschedule, "reschedule"), topic, &[id], run).with("when", format!("{when:?}"))
}

/// What has become of a job: for people, and on a line.
type Words = (&'static str, &'static str);
const DUE_NOW: Words = ("The due time was changed", "due now");
const CHANGED: Words = ("The due time was changed", "changed");
pub(super) const STORED: Words = ("The new body is stored", "the new body is stored");

/// What has become of a waiting job whose due time, body or both were to be changed.
pub(crate) fn rescheduled(moved: Rescheduled) -> Answer {
    answer(moved, CHANGED)
}

pub(super) fn answer(answer: Rescheduled, (text, line): Words) -> Answer {
    let refused = |line: &str| Err(not_waiting(&answer, line));
    match answer {
        Rescheduled::Changed => Ok(Done::new("changed", format!("{text}."), line)),
        Rescheduled::ChangedAfterLeaseExpiry => Ok(Done::new(
            "changed-after-lease-expiry",
            format!("{text}; a worker whose lease has expired may have started the job."),
            format!("{line}; a worker whose lease has expired may have started it"),
        )),
        Rescheduled::Full => Err(no_room()),
        Rescheduled::Running => refused("not changed: the job is running"),
        Rescheduled::Dead => refused("not changed: the job is a dead letter (see `dead redrive` and `amend`)"),
        Rescheduled::Ended(end) => refused(&format!("not changed: the job has ended ({end:?})")),
        Rescheduled::Unknown => refused("not changed: no such job, or its completion record has expired"),
    }
}
