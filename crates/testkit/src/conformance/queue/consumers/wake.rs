//! Markers: what wakes a consumer that waits, and what does not.

use crate::conformance::queue::world::{Consumer, World, job};
use anyhow::Result;
use evenkeel_protocol::queue::steps::{MARKERS_MAX, NewJob, Outcome, QueueSteps, Reschedule, SettleAndClaim, When};

fn after(name: &str, delay_ms: u64) -> NewJob {
    NewJob { when: When::In(delay_ms), ..job(name) }
}

/// (BullMQ #1656, Redisson #4088) Due jobs waited for the next poll. As many consumers wake as there are jobs.
pub async fn claimable_jobs_leave_wake_up_markers<Q: QueueSteps>(world: &World<Q>) -> Result<()> {
    world.given(&[job("a"), job("b")]).await?;
    assert_eq!(world.markers().await?, 2);
    let many: Vec<NewJob> = (0..20).map(|number| job(&format!("n{number}"))).collect();
    world.given(&many).await?;
    assert_eq!(world.markers().await?, MARKERS_MAX);
    let mut consumer = Consumer::default();
    world.claim(&mut consumer, 19).await?;
    assert_eq!(world.markers().await?, 3, "what one consumer leaves, others may take");
    let last = world.claim(&mut consumer, 3).await?;
    assert_eq!(world.markers().await?, 0);
    world.settle(&mut consumer, last[0].receipt, Outcome::Released).await?;
    assert_eq!(world.markers().await?, 1);
    world.expire_leases().await?;
    assert_eq!(world.markers().await?, MARKERS_MAX);
    Ok(())
}

/// A consumer that sleeps until noon must be notified of a job that is due at eleven.
pub async fn earlier_job_leaves_one_wake_up_marker<Q: QueueSteps>(world: &World<Q>) -> Result<()> {
    world.given(&[after("noon", 12_000)]).await?;
    assert_eq!(world.markers().await?, 1);
    world.given(&[after("one", 13_000)]).await?;
    assert_eq!(world.markers().await?, 0, "a later job needs no wake-up");
    world.given(&[after("eleven", 11_000)]).await?;
    assert_eq!(world.markers().await?, 1);
    let change = Reschedule { id: job("one").id, when: Some(When::In(10_000)), body: None, codec: None };
    world.queue.reschedule(&world.shard, &[change]).await?;
    assert_eq!(world.markers().await?, 1);
    let mut consumer = Consumer::default();
    world.given(&[job("a")]).await?;
    world.markers().await?;
    let delivered = world.claim_one(&mut consumer).await?;
    let snooze = Outcome::Snoozed { after_ms: 5_000 };
    let call = SettleAndClaim { settlements: vec![(delivered.receipt, snooze)], ..consumer.call(0) };
    world.settle_and_claim(&call).await?;
    assert_eq!(world.markers().await?, 1, "its worker may die before it sets its timer");
    Ok(())
}

/// A marker for a topic that delivers nothing would wake consumers endlessly.
pub async fn idle_and_paused_calls_leave_no_markers<Q: QueueSteps>(world: &World<Q>) -> Result<()> {
    let mut consumer = Consumer::default();
    world.claim(&mut consumer, 10).await?;
    assert_eq!(world.markers().await?, 0);
    world.queue.pause(&world.shard, None).await?;
    world.given(&[job("a"), after("b", 5)]).await?;
    world.claim(&mut consumer, 10).await?;
    assert_eq!(world.markers().await?, 0);
    Ok(())
}

/// Jobs held back by a pause start when it ends, not at the next poll.
pub async fn resume_leaves_wake_up_markers<Q: QueueSteps>(world: &World<Q>) -> Result<()> {
    world.queue.pause(&world.shard, None).await?;
    world.queue.resume(&world.shard).await?;
    assert_eq!(world.markers().await?, 0);
    world.queue.pause(&world.shard, None).await?;
    world.given(&[after("a", 5)]).await?;
    world.queue.resume(&world.shard).await?;
    assert_eq!(world.markers().await?, 1, "a consumer must set a timer");
    world.queue.pause(&world.shard, None).await?;
    world.given(&[job("b"), job("c")]).await?;
    world.queue.resume(&world.shard).await?;
    assert_eq!(world.markers().await?, 2);
    Ok(())
}
