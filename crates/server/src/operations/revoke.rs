//! Revokes jobs: they never start.

use super::{Answer, Answers, Done, Operation, not_waiting};
use crate::roles::Action;
use evenkeel::queue::topic::Topic;
use evenkeel::queue::{JobId, Revoked};

pub(crate) fn revoke<'a>(topic: &'a Topic, ids: &'a [JobId]) -> Operation<'a, Answers> {
    let run = async move { Ok(Answers::of(topic.revoke(ids).await?, answer)) };
    Operation::of_jobs((Action::Revoke, "revoke"), topic, ids, run)
}

fn answer(answer: Revoked) -> Answer {
    let refused = |line: &str| Err(not_waiting(&answer, line));
    match answer {
        Revoked::Revoked => Ok(Done::new("revoked", "Revoked: the job never starts.", "revoked")),
        Revoked::RevokedAfterLeaseExpiry => Ok(Done::new(
            "revoked-after-lease-expiry",
            "Revoked; a worker whose lease has expired may have started the job.",
            "revoked; a worker whose lease has expired may have started it",
        )),
        Revoked::Running => refused("not revoked: the job is running"),
        Revoked::Dead => refused("not revoked: the job is a dead letter"),
        Revoked::Ended(end) => refused(&format!("not revoked: the job has ended ({end:?})")),
        Revoked::Unknown => {
            refused("not revoked: no such job (a job whose sender chose no id leaves no completion record)")
        }
    }
}
