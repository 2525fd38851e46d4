//! Replays and deletes dead letters of a group of a stream.

use super::{Answers, Done, Failure, Operation, changed_meanwhile};
use crate::kind::UNKNOWN_LETTER;
use crate::roles::Action;
use evenkeel::stream::admin::{DeadLetters, LetterId, Replayed};
use serde_json::json;
use web::Problem;

/// A stream and a group of it.
pub(crate) type Names<'a> = (&'a str, &'a str);

/// Appends letters again, for their group only. The name of the group is typed for `are_all` that match, not for those that were chosen one by one.
pub(crate) fn replay<'a>(
    dead: &'a DeadLetters,
    of: Names<'a>,
    ids: &'a [LetterId],
    are_all: bool,
) -> Operation<'a, Answers> {
    let answer = |replayed| match replayed {
        Replayed::Appended(id) => Ok(Done::new("replayed", format!("Replayed as {id}."), format!("replayed as {id}"))),
        Replayed::Unknown => Err(unknown()),
        Replayed::Parked => Err(changed_meanwhile(
            "Its key is parked: later entries would overtake it. Nothing was changed.",
            "not replayed: later entries of its key are dead letters, too, and would overtake it",
        )),
    };
    let replay = of_letters((Action::Redrive, "replay"), of, ids, async move {
        Ok(Answers::of(dead.replay_all(ids).await?, answer))
    });
    if are_all { replay.confirmed_by("the group's name", of.1) } else { replay }
}

pub(crate) fn delete<'a>(dead: &'a DeadLetters, of: Names<'a>, ids: &'a [LetterId]) -> Operation<'a, Answers> {
    let answer = |existed| if existed { Ok(Done::new("deleted", "Deleted.", "deleted")) } else { Err(unknown()) };
    let run = async move { Ok(Answers::of(dead.remove_all(ids).await?, answer)) };
    of_letters((Action::Delete, "delete"), of, ids, run).confirmed_by("the group's name", of.1)
}

fn of_letters<'a>(
    action: (Action, &'static str),
    (stream, group): Names<'a>,
    ids: &[LetterId],
    run: impl Future<Output = Result<Answers, Failure>> + Send + 'a,
) -> Operation<'a, Answers> {
    let first: Vec<String> = ids.iter().take(LOGGED_MAX).map(ToString::to_string).collect();
    let target = json!({ "stream": stream, "group": group, "letters": first, "count": ids.len() });
    Operation::new(action, stream, target, run)
}

/// Ids in the log.
const LOGGED_MAX: usize = 500;

fn unknown() -> Failure {
    Failure::refused(Problem::plain(UNKNOWN_LETTER), "not a dead letter")
}

/// What has become of letters that were to be replayed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) replayed: usize,
    /// Later entries of their keys are dead letters, too, and would overtake them.
    pub(crate) parked: usize,
    /// They were no dead letters any more.
    pub(crate) gone: usize,
}

impl Tally {
    pub(crate) fn of(answers: &Answers) -> Self {
        let count = |word| answers.results("parked").filter(|result| *result == word).count();
        Self { replayed: count("replayed"), parked: count("parked"), gone: count("unknown") }
    }

    /// A line for each number that is not 0; that of the replayed ones always.
    pub(crate) fn lines(self) -> Vec<String> {
        let mut lines = vec![format!("{} replayed", self.replayed)];
        if self.parked > 0 {
            lines.push(format!(
                "{} not replayed: later entries of their keys are dead letters, too, and would overtake them",
                self.parked
            ));
        }
        if self.gone > 0 {
            lines.push(format!("{} are no longer dead letters", self.gone));
        }
        lines
    }
}
