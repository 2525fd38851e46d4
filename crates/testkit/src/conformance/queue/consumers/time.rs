//! Due times, leases and the server's clock.

use crate::conformance::queue::rig::{Consumer, Rig, job, plain};
use anyhow::Result;
use evenkeel_protocol::queue::job::{End, JobSpec, Retention};
use evenkeel_protocol::queue::steps::{
    Delivered, Enqueued, Found, NewJob, Outcome, ReadStats, Reschedule, Rescheduled, Reschedules, Verdict, When,
};

/// A published design kept due times in seconds of the client's clock, and one measured peer started jobs up to a second early.
// shows: Q2, queue::Queue
pub async fn job_is_never_delivered_early(rig: &Rig) -> Result<()> {
    let due = rig.time.now() + 5_000;
    rig.given(&[NewJob { when: When::At(due), ..job("at") }]).await?;
    rig.time.advance(4_999).await?;
    assert!(rig.claimable(10).await?.is_empty());
    assert_eq!(rig.next().await?.due, Some(due));
    rig.time.advance(1).await?;
    assert_eq!(rig.claimable(10).await?, ["at"]);
    Ok(())
}

/// A job for an hour ago that must not start late expired without having run, overtook older jobs, and was counted as an hour late; a time
/// in seconds was 20,785 days ago.
// shows: hazard SF5
pub async fn time_in_the_past_means_now(rig: &Rig) -> Result<()> {
    let now = rig.time.now();
    let past = |name: &str| NewJob {
        when: When::At(now - 3_600_000),
        spec: JobSpec { late_ms_max: Some(5_000), ..job(name).spec },
        ..job(name)
    };
    rig.given(&[job("a"), past("b")]).await?;
    rig.given(&[NewJob { when: When::In(9_000), ..past("c") }]).await?;
    let moved = Reschedule { id: job("c").id, when: Some(When::At(now - 1)), body: None, codec: None };
    assert_eq!(rig.run(&Reschedules(vec![moved.clone()])).await?, [Rescheduled::Changed]);
    let claimed = rig.claim(&mut Consumer::default(), 10).await?;
    let due: Vec<(String, u64)> = claimed.iter().map(|delivered| (plain(delivered), delivered.due_at)).collect();
    assert_eq!(due, ["a", "b", "c"].map(|name| (name.to_owned(), now)));
    let seconds = When::At(now / 1_000);
    let refused = rig.enqueue(NewJob { when: seconds, ..job("d") }).await;
    assert!(matches!(&refused, Err(error) if error.to_string().contains("multiply it by 1,000")), "{refused:?}");
    assert!(rig.run(&Reschedules(vec![Reschedule { when: Some(seconds), ..moved }])).await.is_err());
    assert_eq!(rig.enqueue(NewJob { when: When::At(0), ..job("e") }).await?, Enqueued::Created);
    Ok(())
}

/// (A10) Producers with skewed clocks would reorder jobs, so the server adds the delay to its own time.
// shows: Q2
pub async fn delay_counts_from_the_server_clock(rig: &Rig) -> Result<()> {
    rig.given(&[NewJob { when: When::In(90_000), ..job("in") }]).await?;
    assert_eq!(rig.next().await?.due, Some(rig.time.now() + 90_000));
    rig.time.advance(89_999).await?;
    assert!(rig.claimable(10).await?.is_empty());
    rig.time.advance(1).await?;
    assert_eq!(rig.claimable(10).await?, ["in"]);
    Ok(())
}

/// A server clock that was set back by an hour would keep a dead worker's jobs from all others for an hour.
// shows: spec/queue.md
pub async fn clock_set_back_does_not_extend_a_lease(rig: &Rig) -> Result<()> {
    rig.given(&[job("a")]).await?;
    rig.claim_one(&mut Consumer::default()).await?;
    rig.time.advance(10_000).await?;
    assert!(rig.rescue().await?.jobs.is_empty());
    rig.time.set_back(3_600_000).await?;
    assert!(rig.rescue().await?.jobs.is_empty());
    rig.time.advance(20_000).await?;
    assert_eq!(rig.rescue().await?.jobs.len(), 1, "thirty seconds have passed, whatever the clock says");
    Ok(())
}

/// (A2) Bodies had a time to live of the delay plus an hour: with consumers down for longer, the id was delivered without one.
// shows: Q6
pub async fn body_outlives_any_delay(rig: &Rig) -> Result<()> {
    let retention = Retention::AfterEnd(1_000);
    rig.given(&[NewJob { spec: JobSpec { retention, ..job("old").spec }, ..job("old") }]).await?;
    rig.time.advance(365 * 24 * 3_600_000).await?;
    let mut consumer = Consumer::default();
    let delivered = rig.claim_one(&mut consumer).await?;
    assert_eq!(plain(&delivered), "old");
    assert_eq!(rig.settle(&mut consumer, delivered.receipt, Outcome::Done).await?, Verdict::Settled);
    Ok(())
}

/// A job with a limit of lateness that is exceeded ends as expired and does not run.
pub async fn job_past_its_deadline_expires(rig: &Rig) -> Result<()> {
    let spec = JobSpec { late_ms_max: Some(600), retention: Retention::AfterEnd(60_000), ..job("late").spec };
    let late = NewJob { when: When::In(1_000), spec, ..job("late") };
    let in_time = NewJob { id: job("in time").id, ..late.clone() };
    rig.given(std::slice::from_ref(&late)).await?;
    rig.time.advance(1_600).await?;
    rig.given(&[NewJob { when: When::In(0), ..in_time }, job("plain")]).await?;
    assert_eq!(rig.claimable(1).await?, ["late"], "600 ms late is not more than 600");
    let later = NewJob { id: job("later").id, ..late };
    rig.given(std::slice::from_ref(&later)).await?;
    rig.time.advance(1_601).await?;
    assert_eq!(rig.claimable(10).await?, ["plain"]);
    let found = rig.queue.job(&rig.shard, later.id).await?;
    assert!(matches!(found, Some(Found::Ended(completion)) if completion.end == End::Expired), "{found:?}");
    assert_eq!(rig.enqueue(later).await?, Enqueued::Ended(End::Expired));
    assert_eq!(rig.run(&ReadStats).await?.totals.expired, 2);
    Ok(())
}

/// A job whose first attempt began in time, and whose process died or that failed or was snoozed, was dropped at its next attempt: the
/// limit is of the time until it starts. A new due time, and a redrive, set it again.
// shows: hazard T14, queue::JobBuilder::drop_if_later_than
pub async fn started_job_is_retried_however_late(rig: &Rig) -> Result<()> {
    let late = |name: &str| NewJob { spec: JobSpec { late_ms_max: Some(600), ..job(name).spec }, ..job(name) };
    rig.given(&["a", "b", "c"].map(late)).await?;
    let mut consumer = Consumer::default();
    let failed = rig.claim_one(&mut consumer).await?;
    let snoozed = rig.claim_one(&mut consumer).await?;
    let crashed = rig.claim_one(&mut consumer).await?;
    assert_eq!(rig.fail(&mut consumer, failed.receipt, 1_000).await?, Verdict::Settled);
    let snooze = Outcome::Snoozed { after_ms: 1_000 };
    assert_eq!(rig.settle(&mut consumer, snoozed.receipt, snooze).await?, Verdict::Settled);
    assert!(rig.heartbeat(&consumer, crashed.receipt, true).await?);
    assert_eq!(rig.expire_leases().await?.jobs.len(), 1);
    rig.time.advance(10_000).await?;
    let mut back: Vec<Delivered> = rig.claim(&mut consumer, 10).await?;
    back.sort_by_key(plain);
    assert_eq!(back.iter().map(plain).collect::<Vec<_>>(), ["a", "b", "c"]);
    assert_eq!(rig.live(job("a").id).await?.expires_at, None, "the limit no longer applies");
    rig.fail(&mut consumer, back[0].receipt, 0).await?;
    let moved = Reschedule { id: job("a").id, when: Some(When::In(100)), body: None, codec: None };
    assert_eq!(rig.run(&Reschedules(vec![moved])).await?, [Rescheduled::Changed]);
    assert_eq!(rig.live(job("a").id).await?.expires_at, Some(rig.time.now() + 700), "a new due time sets it again");
    rig.time.advance(701).await?;
    assert!(rig.claimable(10).await?.is_empty());
    let found = rig.queue.job(&rig.shard, job("a").id).await?;
    assert!(!matches!(found, Some(Found::Live { .. })), "{found:?}");
    Ok(())
}

/// A delivery that did not start, because its process ended, does not lift the limit.
// shows: hazard T14, queue::JobBuilder::drop_if_later_than
pub async fn released_job_may_be_too_late(rig: &Rig) -> Result<()> {
    let spec = JobSpec { late_ms_max: Some(600), ..job("a").spec };
    rig.given(&[NewJob { spec: spec.clone(), ..job("a") }, NewJob { spec, ..job("b") }]).await?;
    let mut consumer = Consumer::default();
    let released = rig.claim_one(&mut consumer).await?;
    rig.claim_one(&mut consumer).await?;
    assert_eq!(rig.settle(&mut consumer, released.receipt, Outcome::Released).await?, Verdict::Settled);
    assert_eq!(rig.expire_leases().await?.jobs.len(), 1);
    assert!(rig.claimable(10).await?.is_empty());
    assert_eq!(rig.run(&ReadStats).await?.totals.expired, 2);
    Ok(())
}
