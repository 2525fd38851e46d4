//! Q1 under SIGKILL: consumers are killed while they work, and a SQL ledger of effects shows that no job was lost and that
//! every duplicate effect followed a lease expiry in the job's own record.

mod fleet;
mod ledger;

use fleet::{Fleet, Pace};
use ledger::Tally;
use std::time::Duration;

/// The number of jobs of the long run.
const JOBS: &str = "EVENKEEL_SIM_JOBS";

/// (asynq, BullMQ) A dead worker lost its task, or the task ran twice without a record of why.
// shows: Q1, queue::Queue
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_job_is_lost_when_consumers_are_killed() {
    let tally = run(2_000, 2, Pace::Times(6)).await;
    assert_eq!((tally.kills, tally.effects >= 2_000), (6, true), "{tally:?}");
}

/// The long run of `cargo xtask sim queue`: one line with what it counted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the long run, for `cargo xtask sim queue`"]
async fn long_run() {
    let Ok(jobs) = std::env::var(JOBS) else { return };
    run(jobs.parse().unwrap(), 4, Pace::Every(Duration::from_secs(1))).await;
}

async fn run(jobs: usize, workers: usize, pace: Pace) -> Tally {
    let mut fleet = Fleet::start(jobs, workers).await;
    fleet.work(&pace).await;
    let tally = fleet.end().await;
    println!("{}", serde_json::to_string(&tally).unwrap());
    assert_eq!((tally.lost, tally.strange), (0, 0), "{tally:?}");
    assert_eq!(tally.twice_without_lease_expiry, 0, "{tally:?}");
    assert!(tally.twice <= tally.lease_expiries, "{tally:?}");
    tally
}
