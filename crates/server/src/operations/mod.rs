//! What an operator does, a file for each operation: on what, who may, which name must be typed, how the log calls it, and what became of it,
//! in the words of each face.
//!
//! A *face* is the command line, the API or a page. It makes an [`Operation`] of what it was sent, runs it, and shows the outcome; it decides
//! nothing. The console checks the right and the typed name, and writes the log, for every operation in one place (`console/app.rs`). Whoever has
//! the address of a server may do everything on the command line, which keeps no log; the typed names are the same.

pub(crate) mod create;
pub(crate) mod dead;
mod edit;
pub(crate) mod failure;
pub(crate) mod group;
mod invalidate;
pub(crate) mod lock;
mod pause;
pub(crate) mod release;
mod reschedule;
mod revoke;
pub(crate) mod seek;
pub(crate) mod stream_dead;
pub(crate) mod unregister;

pub(crate) use edit::{digest, edit};
pub(crate) use failure::Failure;
pub(crate) use invalidate::invalidate;
pub(crate) use pause::{Of, pause, resume};
pub(crate) use reschedule::{reschedule, rescheduled, run_now};
pub(crate) use revoke::revoke;

use crate::kind::{CHANGED_MEANWHILE, UNKNOWN_LETTER};
use crate::roles::Action;
use evenkeel::queue::JobId;
use evenkeel::queue::topic::Topic;
use evenkeel_link::support::guard;
use futures_util::future::BoxFuture;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use std::fmt::Debug;
use web::Problem;

/// Something that an operator does.
pub(crate) struct Operation<'a, T = Done> {
    /// The right that it needs, and what the log calls it.
    pub(crate) action: (Action, &'static str),
    /// The name of what it acts on: a topic, a stream, a cache, a lock. Some rights hold for some names.
    pub(crate) on: &'a str,
    /// What it acts on, and the details, for the log.
    pub(crate) target: Value,
    /// What must be typed before it is done: what it is ("the topic's name"), and the name. `None`: nothing.
    pub(crate) confirmation: Option<(&'static str, &'a str)>,
    /// Does it.
    pub(crate) run: BoxFuture<'a, Result<T, Failure>>,
}

/// What an operation did to one thing.
#[derive(Clone, Debug)]
pub(crate) struct Done {
    /// For programs, which compare it.
    pub(crate) result: &'static str,
    /// A sentence, for pages and the log.
    pub(crate) text: String,
    /// On a line of the command line, after the name of the thing.
    pub(crate) line: String,
}

/// What has become of one thing.
pub(crate) type Answer = Result<Done, Failure>;

/// What has become of several things, in their order.
pub(crate) struct Answers(pub(crate) Vec<Answer>);

impl<'a, T> Operation<'a, T> {
    fn new(
        action: (Action, &'static str),
        on: &'a str,
        target: Value,
        run: impl Future<Output = Result<T, Failure>> + Send + 'a,
    ) -> Self {
        Self { action, on, target, confirmation: None, run: Box::pin(run) }
    }

    fn of_jobs(
        action: (Action, &'static str),
        topic: &'a Topic,
        ids: &[JobId],
        run: impl Future<Output = Result<T, Failure>> + Send + 'a,
    ) -> Self {
        let ids = ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        Self::new(action, topic.name(), json!({ "topic": topic.name(), "job": ids }), run)
    }

    /// The same with a further detail for the log.
    pub(crate) fn with(mut self, detail: &str, value: impl Into<Value>) -> Self {
        self.target[detail] = value.into();
        self
    }

    /// The same if `name` is typed, which is `what`.
    fn confirmed_by(self, what: &'static str, name: &'a str) -> Self {
        Self { confirmation: Some((what, name)), ..self }
    }

    /// Whether this confirms it.
    pub(crate) fn is_confirmed(&self, typed: Option<&str>) -> bool {
        self.confirmation.is_none_or(|(_, name)| {
            // A name that a form leaves empty is not typed.
            (typed == Some(name) && !name.is_empty()) || !guard("operation_confirmed")
        })
    }
}

impl<'a> Operation<'a, Answers> {
    /// The same for one thing, which is refused if it is.
    pub(crate) fn one(self) -> Operation<'a> {
        let Self { action, on, target, confirmation, run } = self;
        let run = async move {
            let no_reply = || Err(not_waiting(&"no reply", "not changed: the store did not reply"));
            run.await?.0.into_iter().next().unwrap_or_else(no_reply)
        };
        Operation { action, on, target, confirmation, run: Box::pin(run) }
    }
}

impl Answers {
    /// The results for programs. That of a thing that is no longer there is `unknown`, that of another one that was refused `refused`.
    pub(crate) fn results<'a>(&'a self, refused: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().map(move |answer| match answer {
            Ok(done) => done.result,
            Err(Failure::Refused(problem, _)) if problem.kind() == UNKNOWN_LETTER => "unknown",
            Err(_) => refused,
        })
    }

    /// How many were done.
    pub(crate) fn done(&self) -> usize {
        self.0.iter().filter(|answer| answer.is_ok()).count()
    }

    fn of<A>(replies: Vec<A>, answer: impl Fn(A) -> Answer) -> Self {
        Self(replies.into_iter().map(answer).collect())
    }
}

impl Done {
    fn new(result: &'static str, text: impl Into<String>, line: impl Into<String>) -> Self {
        Self { result, text: text.into(), line: line.into() }
    }
}

impl Serialize for Done {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

/// How many, for the log.
impl Serialize for Answers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{} of {} done", self.done(), self.0.len()))
    }
}

/// A job that is not in the state that the operation needs.
fn not_waiting(found: &impl Debug, line: &str) -> Failure {
    changed_meanwhile(format!("The job is not waiting ({found:?}). Nothing was changed."), line)
}

fn changed_meanwhile(detail: impl Into<String>, line: &str) -> Failure {
    Failure::refused(Problem::new(CHANGED_MEANWHILE, detail), line)
}
