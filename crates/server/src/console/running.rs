//! [`Operations`]: redrives and deletions of a [group](crate::operations::group) of dead letters. Each has a name, that of its form or of its
//! `Idempotency-Key`: the same name is the same operation, so a second click or a resend finds it and starts nothing.
//!
//! They live in this process, and run on after their form was answered, so that they can be watched and stopped. An operation whose process
//! ends stops where it is. The same request begins it again, and it takes no letter beyond its bounds.

use super::app::App;
use super::rights::Visitor;
use crate::kind::invalid;
use crate::operations::group::{Group, Progress, What, take};
use evenkeel::clock::Clock;
use parking_lot::Mutex;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use web::Problem;

/// Operations that are remembered.
const KEPT_MAX: usize = 1_000;

/// The operations of this process, oldest first.
#[derive(Default)]
pub(crate) struct Operations(Mutex<Vec<Arc<Running>>>);

/// An operation that was begun.
pub(crate) struct Running {
    pub(crate) group: Group,
    progress: Progress,
    state: watch::Sender<State>,
}

/// An operation that a request has begun or found.
pub(crate) struct Begun {
    pub(crate) operation: Arc<Running>,
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

impl Operations {
    pub(crate) fn get(&self, name: &str) -> Option<Arc<Running>> {
        self.0.lock().iter().find(|operation| operation.group.name == name).cloned()
    }

    /// All of them, newest first.
    pub(crate) fn all(&self) -> Vec<Arc<Running>> {
        self.0.lock().iter().rev().cloned().collect()
    }

    /// Begins an operation, or returns the one of this name. One that failed is continued. `typed` is what was typed to confirm it.
    ///
    /// # Errors
    /// It is not permitted, not confirmed, or the name belongs to an operation on something else: nothing was changed.
    pub(crate) fn begin(&self, app: &App, visitor: &Visitor, group: Group, typed: &str) -> Result<Begun, Problem> {
        let fresh = Progress::new(0);
        let target = app.permit(visitor, take(&group, &fresh), typed)?.target;
        let mut operations = self.0.lock();
        let known = operations.iter().position(|operation| operation.group.name == group.name);
        let mut done = 0;
        if let Some(place) = known {
            let known = &operations[place];
            if take(&known.group, known).target != target || known.group.what != group.what {
                let detail = "This key was sent before with another action or other letters. Choose a new key. Nothing was changed.";
                return Err(invalid("Idempotency-Key", detail));
            }
            done = known.done();
            if !matches!(known.state(), State::Failed(_)) {
                return Ok(Begun { operation: Arc::clone(known), done });
            }
            operations.remove(place);
        }
        let operation =
            Arc::new(Running { group, progress: Progress::new(done), state: watch::Sender::new(State::Running) });
        operations.push(Arc::clone(&operation));
        let mut excess = operations.len().saturating_sub(KEPT_MAX);
        operations.retain(|operation| {
            let is_dropped = excess > 0 && operation.state() != State::Running;
            excess -= usize::from(is_dropped);
            !is_dropped
        });
        drop(operations);
        tokio::spawn(run(app.clone(), visitor.clone(), Arc::clone(&operation), typed.to_owned()));
        Ok(Begun { operation, done })
    }
}

impl Deref for Running {
    type Target = Progress;

    fn deref(&self) -> &Progress {
        &self.progress
    }
}

impl Running {
    pub(crate) fn what(&self) -> What {
        self.group.what
    }

    pub(crate) fn state(&self) -> State {
        self.state.borrow().clone()
    }

    /// Waits until it has ended, or for this long.
    pub(crate) async fn wait(&self, longest: Duration) -> State {
        let mut states = self.state.subscribe();
        let ended = async { states.wait_for(|state| *state != State::Running).await.map(drop) };
        let _ = Clock::system().timeout(longest, ended).await;
        self.state()
    }
}

async fn run(app: App, visitor: Visitor, operation: Arc<Running>, typed: String) {
    let ended = app.perform(&visitor, take(&operation.group, &operation), &typed).await;
    app.collector.run_once().await;
    operation.state.send_replace(match ended {
        Ok(done) if done.result == "stopped" => State::Stopped,
        Ok(_) => State::Done,
        Err(problem) => State::Failed(problem),
    });
}
