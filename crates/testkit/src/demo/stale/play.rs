//! Runs a schedule against a contestant and counts the results.

use super::contestant::Contestant;
use super::schedule::{Act, Event};
use super::simulation::Simulation;
use serde::Serialize;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// The counts of one contestant in one schedule.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Score {
    /// Reads.
    pub reads: u64,
    /// Reads that returned less than a write that had been acknowledged before they began.
    pub stale_reads: u64,
    /// The longest time between that acknowledgement and such a read, in ms.
    pub staleness_ms_max: u64,
    /// Reads that returned a value no transaction ever committed.
    pub phantom_reads: u64,
    /// Loads from the database.
    pub loads: u64,
    /// Maximum number of concurrent loads.
    pub loads_at_once_max: u64,
    /// Reads that failed.
    pub failed_reads: u64,
}

/// Runs `events` in their order and at their times, each in a task of its own.
pub(super) async fn play(simulation: &Arc<Simulation>, contestant: Arc<dyn Contestant>, events: &[Event]) -> Score {
    let score = Rc::new(RefCell::new(Score::default()));
    let tasks = tokio::task::LocalSet::new();
    let began = simulation.clock().now();
    tasks
        .run_until(async {
            for event in events.iter().copied() {
                simulation.clock().sleep_until(began + event.at).await;
                let (simulation, contestant, score) =
                    (Arc::clone(simulation), Arc::clone(&contestant), Rc::clone(&score));
                tokio::task::spawn_local(async move { act(&simulation, contestant.as_ref(), event, &score).await });
            }
        })
        .await;
    tasks.await;
    let mut score = score.borrow().clone();
    (score.loads, score.loads_at_once_max) = simulation.loads();
    score
}

async fn act(simulation: &Simulation, contestant: &dyn Contestant, event: Event, score: &RefCell<Score>) {
    let Act::Read { load } = event.act else {
        return contestant.write(event.process, event.key, event.act).await;
    };
    let began = simulation.clock().now();
    let outcome = contestant.read(event.process, event.key, load).await;
    let mut score = score.borrow_mut();
    score.reads += 1;
    match outcome {
        Err(_) => score.failed_reads += 1,
        Ok(version) => {
            if let Some(behind) = simulation.staleness(event.key, version, began) {
                score.stale_reads += 1;
                score.staleness_ms_max = score.staleness_ms_max.max(millis(behind));
            }
            if !simulation.was_committed(event.key, version) {
                score.phantom_reads += 1;
            }
        }
    }
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
