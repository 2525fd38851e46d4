//! Leases, heartbeats, lease expiry and crashes.

use crate::conformance::queue::rig::{Consumer, Rig, job};
use anyhow::Result;
use evenkeel_protocol::queue::job::{ErrorClass, JobSpec, Retries};
use evenkeel_protocol::queue::steps::{
    Fate, NewJob, Outcome, ReadStats, Report, Rescue, SettleAndClaim, Settled, State, Verdict, WORKER_COUNTED_MS,
    WORKER_SILENT_MS,
};

/// (A13) Five seconds and no way to extend: every handler that took longer ran twice.
pub async fn heartbeat_extends_the_lease(rig: &Rig) -> Result<()> {
    rig.given(&[job("a"), job("b")]).await?;
    let mut consumer = Consumer::default();
    let kept = rig.claim_one(&mut consumer).await?;
    let silent = rig.claim_one(&mut consumer).await?;
    for _ in 0..10 {
        rig.time.advance(20_000).await?;
        assert!(rig.heartbeat(&consumer, kept.receipt, true).await?);
        rig.rescue().await?;
    }
    assert!(!rig.heartbeat(&consumer, silent.receipt, true).await?, "the lost one is named");
    assert_eq!(rig.state(kept.receipt.id).await?, Some(State::Leased));
    assert_eq!(rig.settle(&mut consumer, kept.receipt, Outcome::Done).await?, Verdict::Settled);
    assert_eq!(rig.claimable(10).await?, ["b"]);
    Ok(())
}

/// As long as no other worker has the job, a late ack counts like an early one, and a late heartbeat keeps the lease.
pub async fn late_ack_is_accepted_before_the_rescue(rig: &Rig) -> Result<()> {
    rig.given(&[job("a"), job("b")]).await?;
    let mut consumer = Consumer::default();
    let deliveries = rig.claim(&mut consumer, 2).await?;
    rig.time.advance(60_000).await?;
    assert_eq!(rig.run(&ReadStats).await?.lease_expired, 2);
    assert_eq!(rig.settle(&mut consumer, deliveries[0].receipt, Outcome::Done).await?, Verdict::Settled);
    assert!(rig.heartbeat(&consumer, deliveries[1].receipt, false).await?);
    assert!(rig.rescue().await?.jobs.is_empty());
    Ok(())
}

/// (asynq) Its recoverer listed expired leases, then retried the tasks without checking again: one whose lease was extended
/// in between was moved while it ran. Here one step checks and takes.
pub async fn rescue_takes_only_expired_leases(rig: &Rig) -> Result<()> {
    rig.given(&[job("a"), job("b"), job("c")]).await?;
    let mut consumer = Consumer::default();
    rig.claim(&mut consumer, 2).await?;
    rig.time.advance(10_000).await?;
    let running = rig.claim_one(&mut consumer).await?;
    rig.time.advance(19_999).await?;
    let rescued = rig.rescue().await?;
    assert_eq!((rescued.jobs.len(), rescued.next_lease_expiry_ms), (0, Some(1)));
    rig.time.advance(1).await?;
    let one = Rescue { limit: 1, crash_max: 3, crash_delay_ms: 1_000, row_decides: false };
    let rescued = rig.run(&one).await?;
    assert_eq!((rescued.jobs.len(), rescued.next_lease_expiry_ms), (1, Some(0)), "at most as many as asked for");
    let rescued = rig.rescue().await?;
    assert_eq!(
        (rescued.jobs.len(), rescued.next_lease_expiry_ms),
        (1, Some(10_000)),
        "and the next call takes the rest"
    );
    assert_eq!(rig.state(running.receipt.id).await?, Some(State::Leased));
    Ok(())
}

/// (omniqueue #102) A lease that counted from enqueueing was over before its job was claimed: a job that had waited for long ran
/// twice at once. It counts from the claim.
// shows: spec/queue.md
pub async fn lease_counts_from_the_claim(rig: &Rig) -> Result<()> {
    rig.given(&[job("a")]).await?;
    rig.time.advance(3_600_000).await?;
    let mut consumer = Consumer::default();
    let delivered = rig.claim_one(&mut consumer).await?;
    assert_eq!(delivered.lease_left_ms, consumer.call(0).lease_ms);
    rig.time.advance(delivered.lease_left_ms - 1).await?;
    assert!(rig.rescue().await?.jobs.is_empty());
    assert_eq!(rig.settle(&mut consumer, delivered.receipt, Outcome::Done).await?, Verdict::Settled);
    Ok(())
}

/// (asynq #1167) A write about a job that had ended left a hash behind that was never removed, and that blocked its id.
pub async fn late_heartbeat_leaves_no_key_behind(rig: &Rig) -> Result<()> {
    rig.given(&[job("a")]).await?;
    let mut consumer = Consumer::default();
    let delivered = rig.claim_one(&mut consumer).await?;
    rig.settle(&mut consumer, delivered.receipt, Outcome::Done).await?;
    assert!(!rig.heartbeat(&consumer, delivered.receipt, true).await?);
    assert_eq!(rig.queue.job(&rig.shard, delivered.receipt.id).await?, None);
    let stats = rig.run(&ReadStats).await?;
    assert_eq!((stats.leased, stats.bytes), (0, 0));
    rig.given(&[job("a")]).await
}

/// (asynq) A lost dequeue reply burnt an attempt. A job that was never reported as started has not been tried.
pub async fn lease_expiry_before_the_start_uses_no_attempt(rig: &Rig) -> Result<()> {
    rig.given(&[NewJob { spec: JobSpec { retries: Retries::Limited(0), ..job("a").spec }, ..job("a") }]).await?;
    let delivered = rig.claim_one(&mut Consumer::default()).await?;
    let id = delivered.receipt.id;
    assert_eq!(rig.expire_leases().await?.jobs, [(id, Fate::LeaseExpired)]);
    let waiting = rig.live(id).await?;
    assert_eq!((waiting.errors, waiting.crashes, waiting.lease_expiries, waiting.lease_expired), (0, 0, 1, true));
    let classes: Vec<_> = waiting.error_notes().map(|error| (error.class, error.attempt)).collect();
    assert_eq!(classes, [(ErrorClass::LeaseExpired, 0)]);
    assert_eq!(rig.claimable(10).await?, ["a"], "due at once");
    Ok(())
}

/// Crashes are bounded, each followed by a longer wait; jobs with unlimited retries are never given up.
pub async fn job_exceeding_its_crash_limit_is_dead(rig: &Rig) -> Result<()> {
    let stubborn = NewJob { spec: JobSpec { retries: Retries::Unlimited, ..job("b").spec }, ..job("b") };
    for (new, last) in [(job("a"), Fate::Died), (stubborn, Fate::Crashed)] {
        let id = new.id;
        rig.given(&[new]).await?;
        for (fate, wait_ms) in [(Fate::Crashed, 1_000), (Fate::Crashed, 2_000), (last, 4_000)] {
            let mut consumer = Consumer::default();
            let delivered = rig.claim_one(&mut consumer).await?;
            assert!(rig.report(&consumer, delivered.receipt, Report::ALONE).await?);
            assert_eq!(rig.expire_leases().await?.jobs, [(id, fate)]);
            if fate == Fate::Crashed {
                assert_eq!(rig.next().await?.due, Some(rig.time.now() + wait_ms));
            }
            rig.time.advance(wait_ms).await?;
        }
    }
    let dead = rig.live(job("a").id).await?;
    assert_eq!((dead.crashes, dead.errors), (3, 3));
    assert!(dead.error_notes().all(|error| error.class == ErrorClass::Crashed));
    Ok(())
}

/// Workers that had been killed were counted for ten minutes.
// shows: hazard F4g
pub async fn killed_worker_is_counted_for_a_minute(rig: &Rig) -> Result<()> {
    rig.given(&[job("a")]).await?;
    let (mut killed, mut lives) = (Consumer::default(), Consumer::default());
    rig.settle_and_claim(&killed.call(0)).await?;
    let held = rig.claim_one(&mut lives).await?;
    assert_eq!(rig.run(&ReadStats).await?.workers, 2);
    rig.time.advance(WORKER_COUNTED_MS - 1).await?;
    assert_eq!(rig.run(&ReadStats).await?.workers, 2);
    rig.heartbeat(&lives, held.receipt, true).await?;
    rig.time.advance(1).await?;
    assert_eq!(rig.run(&ReadStats).await?.workers, 1, "a heartbeat is enough");
    // A clock that is set back revives no worker.
    rig.heartbeat(&lives, held.receipt, true).await?;
    rig.time.set_back(WORKER_COUNTED_MS).await?;
    assert_eq!(rig.run(&ReadStats).await?.workers, 1);
    Ok(())
}

/// What a worker was answered is kept until it has been silent for long enough never to ask again.
pub async fn silent_workers_are_forgotten(rig: &Rig) -> Result<()> {
    rig.given(&[job("a")]).await?;
    let mut consumer = Consumer::default();
    let first = consumer.call(1);
    rig.settle_and_claim(&first).await?;
    assert_eq!(rig.run(&ReadStats).await?.workers, 1);
    let second = rig.settle_and_claim(&consumer.call(0)).await?;
    assert!(second.deliveries.is_empty());
    assert_eq!(rig.run(&first).await?, Settled::Stale);
    rig.time.advance(WORKER_SILENT_MS - 1).await?;
    rig.rescue().await?;
    assert_eq!(rig.run(&first).await?, Settled::Stale, "not yet");
    rig.time.advance(1).await?;
    rig.rescue().await?;
    let late = rig.settle_and_claim(&SettleAndClaim { limit: 0, ..first }).await?;
    assert!(late.deliveries.is_empty());
    Ok(())
}
