//! Exact results: what happened to a job that a caller revokes or reschedules.

use crate::conformance::queue::world::{Consumer, World, job};
use anyhow::Result;
use bytes::Bytes;
use evenkeel_protocol::queue::job::{End, JobId, JobSpec, Keep, Note, Priority, REVOKE_MS_MIN};
use evenkeel_protocol::queue::steps::{
    Enqueued, NewJob, Outcome, QueueSteps, Reschedule, Rescheduled, Revoked, State, Verdict, When,
};

async fn revoke<Q: QueueSteps>(world: &World<Q>, id: JobId) -> Result<Revoked> {
    Ok(world.queue.revoke(&world.shard, &[id]).await?[0])
}

async fn reschedule<Q: QueueSteps>(
    world: &World<Q>,
    id: JobId,
    when: Option<When>,
    body: Option<&'static [u8]>,
) -> Result<Rescheduled> {
    let change = Reschedule { id, when, body: body.map(Bytes::from_static), codec: Some(77) };
    Ok(world.queue.reschedule(&world.shard, &[change]).await?[0])
}

/// (A8, asynq #532) Two calls looked in two places, the job moved in between, and a job reported as "cancelled" ran.
pub async fn revoke_reports_what_happened<Q: QueueSteps>(world: &World<Q>) -> Result<()> {
    assert_eq!(revoke(world, job("never seen").id).await?, Revoked::Unknown);
    let waiting = NewJob { when: When::In(5_000), ..job("waiting") };
    world.given(&[waiting.clone(), job("running"), job("dead")]).await?;
    let mut consumer = Consumer::default();
    let deliveries = world.claim(&mut consumer, 2).await?;
    world.settle(&mut consumer, deliveries[0].receipt, Outcome::Dead { reason: Bytes::new() }).await?;
    let running = deliveries[1].receipt;

    assert_eq!(revoke(world, waiting.id).await?, Revoked::Revoked);
    assert_eq!(revoke(world, running.id).await?, Revoked::Running);
    assert_eq!(revoke(world, job("dead").id).await?, Revoked::Dead);
    world.time.advance(5_000).await?;
    assert!(world.claimable(10).await?.is_empty(), "what was revoked never starts");
    assert_eq!(world.settle(&mut consumer, running, Outcome::Done).await?, Verdict::Settled, "nothing has changed");
    assert_eq!(world.state(job("dead").id).await?, Some(State::Dead));

    let keep = Keep::AfterEnd(1_000);
    world.given(&[NewJob { spec: JobSpec { keep, ..job("done").spec }, ..job("done") }]).await?;
    let done = world.claim_one(&mut consumer).await?;
    world.settle(&mut consumer, done.receipt, Outcome::Done).await?;
    assert_eq!(revoke(world, done.receipt.id).await?, Revoked::Ended(End::Done));
    Ok(())
}

/// The answer was lost, the caller asks again: "unknown" would be no answer.
pub async fn repeated_revoke_returns_the_same_result<Q: QueueSteps>(world: &World<Q>) -> Result<()> {
    world.given(&[job("a")]).await?;
    assert_eq!(revoke(world, job("a").id).await?, Revoked::Revoked);
    world.time.advance(REVOKE_MS_MIN - 1).await?;
    assert_eq!(revoke(world, job("a").id).await?, Revoked::Revoked);
    world.time.advance(1).await?;
    assert_eq!(revoke(world, job("a").id).await?, Revoked::Unknown);
    assert_eq!(world.queue.stats(&world.shard).await?.totals.revoked, 1);
    Ok(())
}

/// A silent worker may have begun: the caller learns that, and later calls of that worker are rejected.
pub async fn job_with_expired_lease_can_be_revoked<Q: QueueSteps>(world: &World<Q>) -> Result<()> {
    world.given(&[job("not rescued"), job("rescued")]).await?;
    let mut consumer = Consumer::default();
    let rescued = world.claim(&mut consumer, 2).await?;
    world.time.advance(30_000).await?;
    assert_eq!(revoke(world, job("not rescued").id).await?, Revoked::RevokedAfterLapse);
    world.rescue().await?;
    assert_eq!(revoke(world, job("rescued").id).await?, Revoked::RevokedAfterLapse);
    for delivered in rescued {
        assert_eq!(revoke(world, delivered.receipt.id).await?, Revoked::RevokedAfterLapse);
        assert_eq!(world.settle(&mut consumer, delivered.receipt, Outcome::Done).await?, Verdict::Lost);
        assert!(!world.heartbeat(&consumer, delivered.receipt, true).await?);
    }
    assert!(world.claimable(10).await?.is_empty());
    Ok(())
}

/// An enqueue in flight when its job was revoked revived the job.
pub async fn late_enqueue_does_not_revive_a_revoked_job<Q: QueueSteps>(world: &World<Q>) -> Result<()> {
    world.given(&[job("a")]).await?;
    revoke(world, job("a").id).await?;
    assert_eq!(world.enqueue(job("a")).await?, Enqueued::Ended(End::Revoked));
    assert!(world.claimable(10).await?.is_empty());
    Ok(())
}

/// (asynq #568, #649) A reminder whose time changes keeps its id.
pub async fn waiting_job_is_rescheduled_and_edited<Q: QueueSteps>(world: &World<Q>) -> Result<()> {
    let id = job("a").id;
    let notes = vec![Note::Name(Bytes::from_static(b"reminder/a"))];
    let spec = JobSpec { priority: Priority::Low, notes: notes.clone(), ..job("a").spec };
    world.given(&[NewJob { when: When::In(5_000), spec, ..job("a") }]).await?;
    let due = world.time.now() + 1_000;
    assert_eq!(reschedule(world, id, Some(When::At(due)), None).await?, Rescheduled::Changed);
    assert_eq!(world.next().await?.due, Some(due));
    assert_eq!(reschedule(world, id, None, Some(b"a longer body")).await?, Rescheduled::Changed);
    assert_eq!(world.next().await?.due, Some(due));
    let edited = world.live(id).await?;
    assert_eq!((&edited.spec.body[..], edited.spec.notes), (&b"a longer body"[..], notes));
    assert_eq!(reschedule(world, id, Some(When::In(9_000)), Some(b"")).await?, Rescheduled::Changed);
    world.time.advance(8_999).await?;
    assert!(world.claimable(10).await?.is_empty());
    world.time.advance(1).await?;
    let delivered = world.claim_one(&mut Consumer::default()).await?;
    assert!(delivered.job?.spec.body.is_empty());
    Ok(())
}

/// A running job is not changed: its handler holds the old body.
pub async fn running_job_is_not_rescheduled<Q: QueueSteps>(world: &World<Q>) -> Result<()> {
    let id = job("a").id;
    let soon = Some(When::In(1));
    assert_eq!(reschedule(world, id, soon, None).await?, Rescheduled::Unknown);
    world.given(&[NewJob { spec: JobSpec { keep: Keep::AfterEnd(1_000), ..job("a").spec }, ..job("a") }]).await?;
    let mut consumer = Consumer::default();
    let running = world.claim_one(&mut consumer).await?;
    assert_eq!(reschedule(world, id, soon, Some(b"b")).await?, Rescheduled::Running);
    assert_eq!(&world.live(id).await?.spec.body[..], b"a");
    assert_eq!(world.settle(&mut consumer, running.receipt, Outcome::Done).await?, Verdict::Settled);
    assert_eq!(reschedule(world, id, soon, None).await?, Rescheduled::Ended(End::Done));
    world.given(&[job("b")]).await?;
    world.kill(&mut consumer).await?;
    assert_eq!(reschedule(world, job("b").id, soon, None).await?, Rescheduled::Dead);
    Ok(())
}

/// The same as for a revocation: the silent worker loses it, and the caller learns that.
pub async fn job_with_expired_lease_can_be_rescheduled<Q: QueueSteps>(world: &World<Q>) -> Result<()> {
    world.given(&[job("a")]).await?;
    let mut consumer = Consumer::default();
    let silent = world.claim_one(&mut consumer).await?;
    world.time.advance(30_000).await?;
    let answer = reschedule(world, silent.receipt.id, Some(When::In(1_000)), Some(b"b")).await?;
    assert_eq!(answer, Rescheduled::ChangedAfterLapse);
    assert_eq!(world.settle(&mut consumer, silent.receipt, Outcome::Done).await?, Verdict::Lost);
    assert_eq!(world.next().await?.due, Some(world.time.now() + 1_000));
    assert_eq!(revoke(world, silent.receipt.id).await?, Revoked::RevokedAfterLapse);
    Ok(())
}

/// A reminder that may be ten minutes late may be ten minutes late after its new time.
pub async fn reschedule_moves_the_job_deadline<Q: QueueSteps>(world: &World<Q>) -> Result<()> {
    let spec = JobSpec { late_ms_max: Some(600), ..job("a").spec };
    world.given(&[NewJob { spec, ..job("a") }]).await?;
    reschedule(world, job("a").id, Some(When::In(10_000)), None).await?;
    world.time.advance(10_600).await?;
    assert_eq!(world.claimable(10).await?, ["a"]);
    Ok(())
}
