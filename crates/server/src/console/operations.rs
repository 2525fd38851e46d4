//! [`Operations`]: redrives that run in slices after their form was answered, so that they can be watched and stopped.
//!
//! They live in this process. A redrive whose process ends stops where it is; the same group can be redriven again, and no letter is taken
//! that is no longer dead.

use super::app::App;
use super::kind::PARTIAL;
use super::rights::Visitor;
use super::source::shards_problem;
use evenkeel::clock::Clock;
use evenkeel::queue::JobId;
use evenkeel::queue::topic::{Filter, Topic};
use parking_lot::Mutex;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::watch;
use web::Problem;

/// Operations that are remembered.
const KEPT_MAX: usize = 100;
/// Letters of a slice without a rate, and the pause after it.
const SLICE: u64 = 500;
const PAUSE: Duration = Duration::from_millis(100);
/// The time of a slice with a rate: what Stop cannot take back.
const SLICE_SECONDS: u32 = 10;

/// The operations of this process, oldest first.
#[derive(Default)]
pub(crate) struct Operations(Mutex<Vec<Arc<Operation>>>);

/// What a redrive is to do.
pub(crate) struct Plan {
    /// The name of the form: the same form is the same operation.
    pub(crate) name: String,
    pub(crate) topic: Topic,
    pub(crate) group: String,
    pub(crate) ids: Vec<JobId>,
    pub(crate) until: u64,
    /// Letters per second.
    pub(crate) rate: Option<u32>,
    /// For the audit log.
    pub(crate) target: Value,
}

/// A redrive.
pub(crate) struct Operation {
    pub(crate) name: String,
    pub(crate) topic: String,
    pub(crate) group: String,
    pub(crate) total: u64,
    done: AtomicU64,
    state: Mutex<State>,
    stop: watch::Sender<bool>,
}

/// Where an operation is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Running,
    Done,
    /// An operator stopped it.
    Stopped,
    Failed(String),
}

impl Operations {
    pub(crate) fn get(&self, name: &str) -> Option<Arc<Operation>> {
        self.0.lock().iter().find(|operation| operation.name == name).cloned()
    }

    /// All of them, newest first.
    pub(crate) fn all(&self) -> Vec<Arc<Operation>> {
        self.0.lock().iter().rev().cloned().collect()
    }

    /// Begins a redrive, unless its form has begun it before.
    pub(crate) fn begin(&self, app: &App, visitor: &Visitor, plan: Plan) {
        let mut operations = self.0.lock();
        if operations.iter().any(|operation| operation.name == plan.name) {
            return;
        }
        let operation = Arc::new(Operation {
            name: plan.name.clone(),
            topic: plan.topic.name().to_owned(),
            group: plan.group.clone(),
            total: plan.ids.len() as u64,
            done: AtomicU64::new(0),
            state: Mutex::new(State::Running),
            stop: watch::Sender::new(false),
        });
        operations.push(Arc::clone(&operation));
        let excess = operations.len().saturating_sub(KEPT_MAX);
        let mut left = excess;
        operations.retain(|operation| {
            let is_dropped = left > 0 && operation.state() != State::Running;
            left -= usize::from(is_dropped);
            !is_dropped
        });
        drop(operations);
        tokio::spawn(run(app.clone(), visitor.clone(), plan, operation));
    }
}

impl Operation {
    pub(crate) fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    pub(crate) fn state(&self) -> State {
        self.state.lock().clone()
    }

    /// Stops it after its current slice.
    pub(crate) fn stop(&self) {
        self.stop.send_replace(true);
    }
}

async fn run(app: App, visitor: Visitor, plan: Plan, operation: Arc<Operation>) {
    let target = plan.target.clone();
    let act = async {
        let state = slices(&plan, &operation).await.map_err(|error| {
            let (problem, done) = (shards_problem(error), operation.done());
            let kind = if done > 0 { PARTIAL } else { problem.kind() };
            Problem::new(kind, format!("{} {done} of {} were redriven before.", problem.detail(), operation.total))
        })?;
        *operation.state.lock() = state.clone();
        let done = operation.done();
        Ok(format!("{done} of {} redriven: {state:?}.", operation.total).to_lowercase())
    };
    let answer: Result<String, Problem> = app.act(&visitor, "redrive", target, act).await;
    if let Err(problem) = answer {
        *operation.state.lock() = State::Failed(problem.detail().to_owned());
    }
    app.collector.run_once().await;
}

async fn slices(plan: &Plan, operation: &Operation) -> Result<State, evenkeel::queue::QueueError> {
    let (clock, mut stop) = (Clock::system(), operation.stop.subscribe());
    let slice = plan.rate.map_or(SLICE, |rate| u64::from(rate) * u64::from(SLICE_SECONDS));
    let pause = plan.rate.map_or(PAUSE, |_| Duration::from_secs(u64::from(SLICE_SECONDS)));
    loop {
        if *stop.borrow() {
            return Ok(State::Stopped);
        }
        let filter = Filter { died_until: Some(plan.until), ..Filter::default() };
        let mut redrive = plan.topic.redrive(&plan.name).filter(filter).only(plan.ids.iter().copied()).limit(slice);
        if let Some(rate) = plan.rate {
            redrive = redrive.per_second(rate);
        }
        let report = redrive.run().await?;
        operation.done.store(report.taken_in_all, Ordering::Relaxed);
        if report.taken < slice {
            return Ok(State::Done);
        }
        tokio::select! {
            () = clock.sleep(pause) => {}
            _ = stop.changed() => {}
        }
    }
}
