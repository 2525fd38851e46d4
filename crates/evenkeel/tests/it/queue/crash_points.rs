//! A connection that is cut before every command and before every reply of a life that uses every step.

use anyhow::Result;
use testkit::conformance::queue::crash_points::{AfterTheCut, enumerate};

/// Fewer would mean that the scenario has shrunk.
const POINTS_MIN: usize = 140;

/// (A5) A process that died between two of its calls left half a job, or an id without a body. Wherever this process dies, a new
/// process finds every accepted job, and none that was settled or revoked.
// shows: Q1, queue::Queue
#[tokio::test]
async fn no_job_is_lost_wherever_a_process_dies() -> Result<()> {
    let points = enumerate(AfterTheCut::Dies).await?;
    println!("{points} cut points, each followed by the process's death");
    assert!(points >= POINTS_MIN, "only {points} cut points");
    Ok(())
}

/// (asynq) A lost reply could not be requested again: the task ran twice, or used up an attempt. Wherever this connection breaks,
/// repeating the call ends in the same state as without the break.
// shows: Q1, queue::Queue, queue::Queue::now, queue::Queue::at, queue::Queue::delay, queue::Queue::enqueue_all
// shows: queue::JobBuilder::enqueue
#[tokio::test]
async fn repeated_call_after_any_lost_connection_changes_nothing() -> Result<()> {
    let points = enumerate(AfterTheCut::Repeats).await?;
    println!("{points} cut points, each followed by the same call again");
    assert!(points >= POINTS_MIN, "only {points} cut points");
    Ok(())
}
