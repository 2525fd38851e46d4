//! Leases, heartbeats, lease expiry and crashes.

use crate::conformance::queue::world::{Consumer, World, job};
use anyhow::Result;
use evenkeel_protocol::queue::job::{ErrorClass, JobSpec, Retries};
use evenkeel_protocol::queue::steps::{
    Fate, NewJob, Outcome, QueueSteps, Report, Rescue, SettleAndClaim, Settled, State, Verdict, WORKER_COUNTED_MS,
    WORKER_SILENT_MS,
};

/// (A13) Five seconds and no way to extend: every handler that took longer ran twice.
pub async fn heartbeat_extends_the_lease<Q: QueueSteps>(world: &World<Q>) -> Result<()> {
    world.given(&[job("a"), job("b")]).await?;
    let mut consumer = Consumer::default();
    let kept = world.claim_one(&mut consumer).await?;
    let silent = world.claim_one(&mut consumer).await?;
    for _ in 0..10 {
        world.time.advance(20_000).await?;
        assert!(world.heartbeat(&consumer, kept.receipt, true).await?);
        world.rescue().await?;
    }
    assert!(!world.heartbeat(&consumer, silent.receipt, true).await?, "the lost one is named");
    assert_eq!(world.state(kept.receipt.id).await?, Some(State::Leased));
    assert_eq!(world.settle(&mut consumer, kept.receipt, Outcome::Done).await?, Verdict::Settled);
    assert_eq!(world.claimable(10).await?, ["b"]);
    Ok(())
}

/// As long as no other worker has the job, a late ack counts like an early one, and a late heartbeat keeps the lease.
pub async fn late_ack_is_accepted_before_the_rescue<Q: QueueSteps>(world: &World<Q>) -> Result<()> {
    world.given(&[job("a"), job("b")]).await?;
    let mut consumer = Consumer::default();
    let deliveries = world.claim(&mut consumer, 2).await?;
    world.time.advance(60_000).await?;
    assert_eq!(world.queue.stats(&world.shard).await?.lapsed, 2);
    assert_eq!(world.settle(&mut consumer, deliveries[0].receipt, Outcome::Done).await?, Verdict::Settled);
    assert!(world.heartbeat(&consumer, deliveries[1].receipt, false).await?);
    assert!(world.rescue().await?.jobs.is_empty());
    Ok(())
}

/// (asynq) Its recoverer listed expired leases, then retried the tasks without checking again: one whose lease was extended
/// in between was moved while it ran. Here one step checks and takes.
pub async fn rescue_takes_only_expired_leases<Q: QueueSteps>(world: &World<Q>) -> Result<()> {
    world.given(&[job("a"), job("b"), job("c")]).await?;
    let mut consumer = Consumer::default();
    world.claim(&mut consumer, 2).await?;
    world.time.advance(10_000).await?;
    let running = world.claim_one(&mut consumer).await?;
    world.time.advance(19_999).await?;
    let rescued = world.rescue().await?;
    assert_eq!((rescued.jobs.len(), rescued.next_lapse_ms), (0, Some(1)));
    world.time.advance(1).await?;
    let one = Rescue { limit: 1, crash_max: 3, crash_delay_ms: 1_000, is_judged: false };
    let rescued = world.queue.rescue(&world.shard, one).await?;
    assert_eq!((rescued.jobs.len(), rescued.next_lapse_ms), (1, Some(0)), "at most as many as asked for");
    let rescued = world.rescue().await?;
    assert_eq!((rescued.jobs.len(), rescued.next_lapse_ms), (1, Some(10_000)), "and the next call takes the rest");
    assert_eq!(world.state(running.receipt.id).await?, Some(State::Leased));
    Ok(())
}

/// (omniqueue #102) A lease that counted from enqueueing was over before its job was claimed: a job that had waited for long ran
/// twice at once. It counts from the claim.
pub async fn lease_counts_from_the_claim<Q: QueueSteps>(world: &World<Q>) -> Result<()> {
    world.given(&[job("a")]).await?;
    world.time.advance(3_600_000).await?;
    let mut consumer = Consumer::default();
    let delivered = world.claim_one(&mut consumer).await?;
    assert_eq!(delivered.lease_left_ms, consumer.call(0).lease_ms);
    world.time.advance(delivered.lease_left_ms - 1).await?;
    assert!(world.rescue().await?.jobs.is_empty());
    assert_eq!(world.settle(&mut consumer, delivered.receipt, Outcome::Done).await?, Verdict::Settled);
    Ok(())
}

/// (asynq #1167) A write about a job that had ended left a hash behind that was never removed, and that blocked its id.
pub async fn late_heartbeat_leaves_no_key_behind<Q: QueueSteps>(world: &World<Q>) -> Result<()> {
    world.given(&[job("a")]).await?;
    let mut consumer = Consumer::default();
    let delivered = world.claim_one(&mut consumer).await?;
    world.settle(&mut consumer, delivered.receipt, Outcome::Done).await?;
    assert!(!world.heartbeat(&consumer, delivered.receipt, true).await?);
    assert_eq!(world.queue.job(&world.shard, delivered.receipt.id).await?, None);
    let stats = world.queue.stats(&world.shard).await?;
    assert_eq!((stats.leased, stats.bytes), (0, 0));
    world.given(&[job("a")]).await
}

/// (asynq) A lost dequeue reply burnt an attempt. A job that was never reported as started has not been tried.
pub async fn lease_expiry_before_the_start_uses_no_attempt<Q: QueueSteps>(world: &World<Q>) -> Result<()> {
    world.given(&[NewJob { spec: JobSpec { retries: Retries::Limited(0), ..job("a").spec }, ..job("a") }]).await?;
    let delivered = world.claim_one(&mut Consumer::default()).await?;
    let id = delivered.receipt.id;
    assert_eq!(world.expire_leases().await?.jobs, [(id, Fate::Lapsed)]);
    let waiting = world.live(id).await?;
    assert_eq!((waiting.errors, waiting.crashes, waiting.lapses, waiting.lapsed), (0, 0, 1, true));
    let classes: Vec<_> = waiting.error_notes().map(|error| (error.class, error.attempt)).collect();
    assert_eq!(classes, [(ErrorClass::Lapsed, 0)]);
    assert_eq!(world.claimable(10).await?, ["a"], "due at once");
    Ok(())
}

/// Crashes are bounded, each followed by a longer wait; jobs with unlimited retries are never given up.
pub async fn job_exceeding_its_crash_limit_is_dead<Q: QueueSteps>(world: &World<Q>) -> Result<()> {
    let stubborn = NewJob { spec: JobSpec { retries: Retries::Unlimited, ..job("b").spec }, ..job("b") };
    for (new, last) in [(job("a"), Fate::Died), (stubborn, Fate::Crashed)] {
        let id = new.id;
        world.given(&[new]).await?;
        for (fate, wait_ms) in [(Fate::Crashed, 1_000), (Fate::Crashed, 2_000), (last, 4_000)] {
            let mut consumer = Consumer::default();
            let delivered = world.claim_one(&mut consumer).await?;
            assert!(world.report(&consumer, delivered.receipt, Report::ALONE).await?);
            assert_eq!(world.expire_leases().await?.jobs, [(id, fate)]);
            if fate == Fate::Crashed {
                assert_eq!(world.next().await?.due, Some(world.time.now() + wait_ms));
            }
            world.time.advance(wait_ms).await?;
        }
    }
    let dead = world.live(job("a").id).await?;
    assert_eq!((dead.crashes, dead.errors), (3, 3));
    assert!(dead.error_notes().all(|error| error.class == ErrorClass::Crashed));
    Ok(())
}

/// Workers that had been killed were counted for ten minutes.
pub async fn killed_worker_is_counted_for_a_minute<Q: QueueSteps>(world: &World<Q>) -> Result<()> {
    world.given(&[job("a")]).await?;
    let (mut killed, mut lives) = (Consumer::default(), Consumer::default());
    world.settle_and_claim(&killed.call(0)).await?;
    let held = world.claim_one(&mut lives).await?;
    assert_eq!(world.queue.stats(&world.shard).await?.workers, 2);
    world.time.advance(WORKER_COUNTED_MS - 1).await?;
    assert_eq!(world.queue.stats(&world.shard).await?.workers, 2);
    world.heartbeat(&lives, held.receipt, true).await?;
    world.time.advance(1).await?;
    assert_eq!(world.queue.stats(&world.shard).await?.workers, 1, "a heartbeat is enough");
    // A clock that is set back revives no worker.
    world.heartbeat(&lives, held.receipt, true).await?;
    world.time.set_back(WORKER_COUNTED_MS).await?;
    assert_eq!(world.queue.stats(&world.shard).await?.workers, 1);
    Ok(())
}

/// What a worker was answered is kept until it has been silent for long enough never to ask again.
pub async fn silent_workers_are_forgotten<Q: QueueSteps>(world: &World<Q>) -> Result<()> {
    world.given(&[job("a")]).await?;
    let mut consumer = Consumer::default();
    let first = consumer.call(1);
    world.settle_and_claim(&first).await?;
    assert_eq!(world.queue.stats(&world.shard).await?.workers, 1);
    let second = world.settle_and_claim(&consumer.call(0)).await?;
    assert!(second.deliveries.is_empty());
    assert_eq!(world.queue.settle_and_claim(&world.shard, &first).await?, Settled::Stale);
    world.time.advance(WORKER_SILENT_MS - 1).await?;
    world.rescue().await?;
    assert_eq!(world.queue.settle_and_claim(&world.shard, &first).await?, Settled::Stale, "not yet");
    world.time.advance(1).await?;
    world.rescue().await?;
    let late = world.settle_and_claim(&SettleAndClaim { want: 0, ..first }).await?;
    assert!(late.deliveries.is_empty());
    Ok(())
}
