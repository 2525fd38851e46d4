//! Markers: what wakes a consumer that waits, and what does not.

use crate::conformance::queue::rig::{Consumer, Rig, job};
use anyhow::Result;
use evenkeel_protocol::queue::steps::{
    MARKERS_MAX, NewJob, Outcome, Pause, Reschedule, Reschedules, Resume, SettleAndClaim, When,
};

fn after(name: &str, delay_ms: u64) -> NewJob {
    NewJob { when: When::In(delay_ms), ..job(name) }
}

/// (BullMQ #1656, Redisson #4088) Due jobs waited for the next poll. As many consumers wake as there are jobs.
pub async fn claimable_jobs_leave_wake_up_markers(rig: &Rig) -> Result<()> {
    rig.given(&[job("a"), job("b")]).await?;
    assert_eq!(rig.markers().await?, 2);
    let many: Vec<NewJob> = (0..20).map(|number| job(&format!("n{number}"))).collect();
    rig.given(&many).await?;
    assert_eq!(rig.markers().await?, MARKERS_MAX);
    let mut consumer = Consumer::default();
    rig.claim(&mut consumer, 19).await?;
    assert_eq!(rig.markers().await?, 3, "what one consumer leaves, others may take");
    let last = rig.claim(&mut consumer, 3).await?;
    assert_eq!(rig.markers().await?, 0);
    rig.settle(&mut consumer, last[0].receipt, Outcome::Released).await?;
    assert_eq!(rig.markers().await?, 1);
    rig.expire_leases().await?;
    assert_eq!(rig.markers().await?, MARKERS_MAX);
    Ok(())
}

/// A consumer that sleeps until noon must be notified of a job that is due at eleven.
pub async fn earlier_job_leaves_one_wake_up_marker(rig: &Rig) -> Result<()> {
    rig.given(&[after("noon", 12_000)]).await?;
    assert_eq!(rig.markers().await?, 1);
    rig.given(&[after("one", 13_000)]).await?;
    assert_eq!(rig.markers().await?, 0, "a later job needs no wake-up");
    rig.given(&[after("eleven", 11_000)]).await?;
    assert_eq!(rig.markers().await?, 1);
    let change = Reschedule { id: job("one").id, when: Some(When::In(10_000)), body: None, codec: None };
    rig.run(&Reschedules(vec![change])).await?;
    assert_eq!(rig.markers().await?, 1);
    let mut consumer = Consumer::default();
    rig.given(&[job("a")]).await?;
    rig.markers().await?;
    let delivered = rig.claim_one(&mut consumer).await?;
    let snooze = Outcome::Snoozed { after_ms: 5_000 };
    let call = SettleAndClaim { settlements: vec![(delivered.receipt, snooze)], ..consumer.call(0) };
    rig.settle_and_claim(&call).await?;
    assert_eq!(rig.markers().await?, 1, "its worker may die before it sets its timer");
    Ok(())
}

/// A marker for a topic that delivers nothing would wake consumers endlessly.
pub async fn idle_and_paused_calls_leave_no_markers(rig: &Rig) -> Result<()> {
    let mut consumer = Consumer::default();
    rig.claim(&mut consumer, 10).await?;
    assert_eq!(rig.markers().await?, 0);
    rig.run(&Pause(None)).await?;
    rig.given(&[job("a"), after("b", 5)]).await?;
    rig.claim(&mut consumer, 10).await?;
    assert_eq!(rig.markers().await?, 0);
    Ok(())
}

/// Jobs held back by a pause start when it ends, not at the next poll.
pub async fn resume_leaves_wake_up_markers(rig: &Rig) -> Result<()> {
    rig.run(&Pause(None)).await?;
    rig.run(&Resume).await?;
    assert_eq!(rig.markers().await?, 0);
    rig.run(&Pause(None)).await?;
    rig.given(&[after("a", 5)]).await?;
    rig.run(&Resume).await?;
    assert_eq!(rig.markers().await?, 1, "a consumer must set a timer");
    rig.run(&Pause(None)).await?;
    rig.given(&[job("b"), job("c")]).await?;
    rig.run(&Resume).await?;
    assert_eq!(rig.markers().await?, 2);
    Ok(())
}
