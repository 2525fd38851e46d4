//! [`Operations`]: redrives and deletions of a group of dead letters. Each has a name, that of its form or of its `Idempotency-Key`: the
//! same name is the same operation, so a second click or a resend finds it and starts nothing.
//!
//! They live in this process, and run on after their form was answered, so that they can be watched and stopped. An operation whose process
//! ends stops where it is. The same request begins it again, and it takes no letter beyond its [`Bounds`].

use super::app::App;
use super::kind::{PARTIAL, invalid};
use super::rights::Visitor;
use super::source::{queue_problem, shards_problem};
use crate::queue::letters::{Bounds, Naming, select};
use crate::queue::slices::Slices;
use evenkeel::clock::Clock;
use evenkeel::queue::topic::{Filter, Topic};
use evenkeel::queue::{JobId, QueueError};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::watch;
use web::Problem;

/// Operations that are remembered.
const KEPT_MAX: usize = 1_000;
/// The total of an operation that still looks for its letters.
const UNKNOWN: u64 = u64::MAX;

/// The operations of this process, oldest first.
#[derive(Default)]
pub(crate) struct Operations(Mutex<Vec<Arc<Operation>>>);

/// What an operation does to its letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Redrive {
        /// Letters per second; `None`: at once.
        rate: Option<u32>,
    },
    Delete,
}

/// What an operation is to do.
pub(crate) struct Plan {
    pub(crate) name: String,
    pub(crate) topic: Topic,
    pub(crate) what: What,
    pub(crate) naming: Naming,
    pub(crate) group: String,
    pub(crate) bounds: Bounds,
    /// For the audit log.
    pub(crate) target: Value,
}

/// A redrive or a deletion.
pub(crate) struct Operation {
    pub(crate) name: String,
    pub(crate) topic: String,
    pub(crate) what: What,
    pub(crate) group: String,
    /// What it was asked to do: a name that comes with something else is refused.
    target: Value,
    total: AtomicU64,
    /// Letters that its name had taken before it began, in this process or another.
    earlier: AtomicU64,
    read: AtomicUsize,
    done: AtomicU64,
    state: watch::Sender<State>,
    stop: watch::Sender<bool>,
}

/// An operation that a request has begun or found.
pub(crate) struct Begun {
    pub(crate) operation: Arc<Operation>,
    /// Letters that it had taken before.
    pub(crate) done: u64,
}

/// Where an operation is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum State {
    Running,
    Done,
    /// An operator stopped it.
    Stopped,
    Failed(Problem),
}

impl What {
    /// What the audit log calls it.
    fn action(self) -> &'static str {
        match self {
            Self::Redrive { .. } => "redrive",
            Self::Delete => "delete",
        }
    }

    /// What it acts on, for the audit log and to recognize a resend.
    pub(crate) fn target(self, topic: &Topic, group: &str, Bounds { from, until }: Bounds) -> Value {
        let from = from.map(|from| format!("{}:{}", from.score, from.id));
        let mut target = json!({ "topic": topic.name(), "group": group, "from": from, "until": until });
        if let Self::Redrive { rate } = self {
            target["rate"] = rate.into();
        }
        target
    }

    /// What has become of its letters.
    pub(crate) fn past(self) -> &'static str {
        match self {
            Self::Redrive { .. } => "sent back",
            Self::Delete => "deleted",
        }
    }
}

impl Operations {
    pub(crate) fn get(&self, name: &str) -> Option<Arc<Operation>> {
        self.0.lock().iter().find(|operation| operation.name == name).cloned()
    }

    /// All of them, newest first.
    pub(crate) fn all(&self) -> Vec<Arc<Operation>> {
        self.0.lock().iter().rev().cloned().collect()
    }

    /// Begins an operation, or returns the one of this name. One that failed is continued.
    ///
    /// # Errors
    /// The name belongs to an operation on something else: nothing was changed.
    pub(crate) fn begin(&self, app: &App, visitor: &Visitor, plan: Plan) -> Result<Begun, Problem> {
        let mut operations = self.0.lock();
        let known = operations.iter().position(|operation| operation.name == plan.name);
        let mut done = 0;
        if let Some(place) = known {
            let known = &operations[place];
            if known.target != plan.target || known.what != plan.what {
                let detail = "This key was sent before with another action or other letters. Choose a new key. Nothing was changed.";
                return Err(invalid("Idempotency-Key", detail));
            }
            done = known.done();
            if !matches!(known.state(), State::Failed(_)) {
                return Ok(Begun { operation: Arc::clone(known), done });
            }
            operations.remove(place);
        }
        let operation = Arc::new(Operation {
            name: plan.name.clone(),
            topic: plan.topic.name().to_owned(),
            what: plan.what,
            group: plan.group.clone(),
            target: plan.target.clone(),
            total: AtomicU64::new(UNKNOWN),
            earlier: AtomicU64::new(done),
            read: AtomicUsize::new(0),
            done: AtomicU64::new(done),
            state: watch::Sender::new(State::Running),
            stop: watch::Sender::new(false),
        });
        operations.push(Arc::clone(&operation));
        let mut excess = operations.len().saturating_sub(KEPT_MAX);
        operations.retain(|operation| {
            let is_dropped = excess > 0 && operation.state() != State::Running;
            excess -= usize::from(is_dropped);
            !is_dropped
        });
        drop(operations);
        tokio::spawn(run(app.clone(), visitor.clone(), plan, Arc::clone(&operation)));
        Ok(Begun { operation, done })
    }
}

impl Operation {
    /// Letters that it has sent back or deleted.
    pub(crate) fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Letters that its name had taken before it began.
    pub(crate) fn earlier(&self) -> u64 {
        self.earlier.load(Ordering::Relaxed)
    }

    /// Letters that it takes; `None`: it still looks for them.
    pub(crate) fn total(&self) -> Option<u64> {
        Some(self.total.load(Ordering::Relaxed)).filter(|total| *total != UNKNOWN)
    }

    /// Letters that it has read.
    pub(crate) fn read(&self) -> usize {
        self.read.load(Ordering::Relaxed)
    }

    pub(crate) fn state(&self) -> State {
        self.state.borrow().clone()
    }

    /// Stops it after its current slice.
    pub(crate) fn stop(&self) {
        self.stop.send_replace(true);
    }

    /// Waits until it has ended, or for this long.
    pub(crate) async fn wait(&self, longest: Duration) -> State {
        let mut states = self.state.subscribe();
        let ended = async { states.wait_for(|state| *state != State::Running).await.map(drop) };
        let _ = Clock::system().timeout(longest, ended).await;
        self.state()
    }
}

async fn run(app: App, visitor: Visitor, plan: Plan, operation: Arc<Operation>) {
    let target = plan.target.clone();
    let act = async {
        let state = take(&plan, &operation).await?;
        let (done, past) = (operation.done(), plan.what.past());
        let of = operation.total().map(|total| format!(" of {total}")).unwrap_or_default();
        let end = if state == State::Stopped { "stopped" } else { "done" };
        Ok((state, format!("{done}{of} {past}: {end}")))
    };
    let logged = async { act.await.map(|(state, answer)| Logged { state, answer }) };
    let ended = app.act(&visitor, plan.what.action(), target, logged).await;
    app.collector.run_once().await;
    operation.state.send_replace(ended.map_or_else(State::Failed, |logged| logged.state));
}

/// What the audit log gets, and the state for the operation.
struct Logged {
    state: State,
    answer: String,
}

impl serde::Serialize for Logged {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.answer)
    }
}

/// Finds the letters, all of them before anything is changed, and takes them.
async fn take(plan: &Plan, operation: &Operation) -> Result<State, Problem> {
    let go_on = |read: usize| {
        operation.read.store(read, Ordering::Relaxed);
        !*operation.stop.borrow()
    };
    let found = select(&plan.topic, (plan.naming, &plan.group), plan.bounds, go_on).await.map_err(queue_problem)?;
    let Some(ids) = found else { return Ok(State::Stopped) };
    let rate = match plan.what {
        What::Redrive { rate } => rate,
        What::Delete => None,
    };
    if let What::Redrive { .. } = plan.what {
        let earlier = redrive(plan, rate, &[]).await.map_err(queue_problem)?;
        operation.earlier.store(earlier, Ordering::Relaxed);
        operation.done.store(earlier, Ordering::Relaxed);
    }
    operation.total.store(operation.done() + ids.len() as u64, Ordering::Relaxed);
    let mut slices = Slices::new(&ids, rate, operation.stop.subscribe());
    while let Some(some) = slices.next().await {
        let done = match plan.what {
            What::Redrive { rate } => redrive(plan, rate, some).await,
            What::Delete => delete(&plan.topic, some).await.map(|deleted| operation.done() + deleted),
        };
        let done = done.map_err(|error| {
            let (problem, done) = (shards_problem(error), operation.done());
            let kind = if done > 0 { PARTIAL } else { problem.kind() };
            Problem::new(kind, format!("{} {done} were {} before.", problem.detail(), plan.what.past()))
        })?;
        operation.done.store(done, Ordering::Relaxed);
    }
    Ok(if slices.is_stopped() { State::Stopped } else { State::Done })
}

/// Returns how many were sent back under the name, by earlier slices and by processes that have ended, too. None of them is sent back again.
async fn redrive(plan: &Plan, rate: Option<u32>, ids: &[JobId]) -> Result<u64, QueueError> {
    let filter = Filter { died_until: Some(plan.bounds.until), ..Filter::default() };
    let mut redrive = plan.topic.redrive(&plan.name).filter(filter).only(ids.iter().copied());
    if let Some(rate) = rate {
        redrive = redrive.per_second(rate);
    }
    Ok(redrive.run().await?.taken_in_all)
}

async fn delete(topic: &Topic, ids: &[JobId]) -> Result<u64, QueueError> {
    let deleted = topic.delete_dead(ids).await?;
    Ok(deleted.into_iter().filter(|was_dead| *was_dead).count() as u64)
}
