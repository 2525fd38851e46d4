//! Exact results: what happened to a job that a caller revokes or reschedules.

use crate::conformance::queue::rig::{Consumer, Rig, job};
use anyhow::Result;
use bytes::Bytes;
use evenkeel_protocol::queue::job::{End, JobId, JobSpec, Note, Priority, REVOKE_MS_MIN, Retention};
use evenkeel_protocol::queue::steps::{
    Amend, Amended, Enqueued, Limits, NewJob, Outcome, ReadStats, Reschedule, Rescheduled, Reschedules, Revoke,
    Revoked, SetLimits, State, Verdict, When,
};

async fn revoke(rig: &Rig, id: JobId) -> Result<Revoked> {
    Ok(rig.run(&Revoke(vec![id])).await?[0])
}

async fn reschedule(rig: &Rig, id: JobId, when: Option<When>, body: Option<&'static [u8]>) -> Result<Rescheduled> {
    let change = Reschedule { id, when, body: body.map(Bytes::from_static), codec: Some(77) };
    Ok(rig.run(&Reschedules(vec![change])).await?[0])
}

/// (A8, asynq #532) Two calls looked in two places, the job moved in between, and a job reported as "cancelled" ran.
// shows: Q4, queue::Queue::revoke, queue::Queue::reschedule, queue::Queue::reschedule_in, queue::Topic::revoke
pub async fn revoke_reports_what_happened(rig: &Rig) -> Result<()> {
    assert_eq!(revoke(rig, job("never seen").id).await?, Revoked::Unknown);
    let waiting = NewJob { when: When::In(5_000), ..job("waiting") };
    rig.given(&[waiting.clone(), job("running"), job("dead")]).await?;
    let mut consumer = Consumer::default();
    let deliveries = rig.claim(&mut consumer, 2).await?;
    rig.settle(&mut consumer, deliveries[0].receipt, Outcome::Dead { reason: Bytes::new() }).await?;
    let running = deliveries[1].receipt;

    assert_eq!(revoke(rig, waiting.id).await?, Revoked::Revoked);
    assert_eq!(revoke(rig, running.id).await?, Revoked::Running);
    assert_eq!(revoke(rig, job("dead").id).await?, Revoked::Dead);
    rig.time.advance(5_000).await?;
    assert!(rig.claimable(10).await?.is_empty(), "what was revoked never starts");
    assert_eq!(rig.settle(&mut consumer, running, Outcome::Done).await?, Verdict::Settled, "nothing has changed");
    assert_eq!(rig.state(job("dead").id).await?, Some(State::Dead));

    let retention = Retention::AfterEnd(1_000);
    rig.given(&[NewJob { spec: JobSpec { retention, ..job("done").spec }, ..job("done") }]).await?;
    let done = rig.claim_one(&mut consumer).await?;
    rig.settle(&mut consumer, done.receipt, Outcome::Done).await?;
    assert_eq!(revoke(rig, done.receipt.id).await?, Revoked::Ended(End::Done));
    Ok(())
}

/// The reply was lost, and the caller repeats the call. The reply "unknown" would not report that the job was revoked.
// shows: Q4, queue::Queue::revoke, queue::Queue::reschedule, queue::Queue::reschedule_in, queue::Topic::revoke
pub async fn repeated_revoke_returns_the_same_result(rig: &Rig) -> Result<()> {
    rig.given(&[job("a")]).await?;
    assert_eq!(revoke(rig, job("a").id).await?, Revoked::Revoked);
    rig.time.advance(REVOKE_MS_MIN - 1).await?;
    assert_eq!(revoke(rig, job("a").id).await?, Revoked::Revoked);
    rig.time.advance(1).await?;
    assert_eq!(revoke(rig, job("a").id).await?, Revoked::Unknown);
    assert_eq!(rig.run(&ReadStats).await?.totals.revoked, 1);
    Ok(())
}

/// A worker without heartbeats may have started the job: the result says so, and later calls of that worker are rejected.
// shows: Q4
pub async fn job_with_expired_lease_can_be_revoked(rig: &Rig) -> Result<()> {
    rig.given(&[job("not rescued"), job("rescued")]).await?;
    let mut consumer = Consumer::default();
    let rescued = rig.claim(&mut consumer, 2).await?;
    rig.time.advance(30_000).await?;
    assert_eq!(revoke(rig, job("not rescued").id).await?, Revoked::RevokedAfterLeaseExpiry);
    rig.rescue().await?;
    assert_eq!(revoke(rig, job("rescued").id).await?, Revoked::RevokedAfterLeaseExpiry);
    for delivered in rescued {
        assert_eq!(revoke(rig, delivered.receipt.id).await?, Revoked::RevokedAfterLeaseExpiry);
        assert_eq!(rig.settle(&mut consumer, delivered.receipt, Outcome::Done).await?, Verdict::Lost);
        assert!(!rig.heartbeat(&consumer, delivered.receipt, true).await?);
    }
    assert!(rig.claimable(10).await?.is_empty());
    Ok(())
}

/// An enqueue in flight when its job was revoked revived the job.
// shows: Q4
pub async fn late_enqueue_does_not_revive_a_revoked_job(rig: &Rig) -> Result<()> {
    rig.given(&[job("a")]).await?;
    revoke(rig, job("a").id).await?;
    assert_eq!(rig.enqueue(job("a")).await?, Enqueued::Ended(End::Revoked));
    assert!(rig.claimable(10).await?.is_empty());
    Ok(())
}

/// (asynq #568, #649) A reminder whose time changes keeps its id.
// shows: queue::Topic::reschedule, queue::Topic::edit, queue::Topic::change, queue::Topic::run_now
pub async fn waiting_job_is_rescheduled_and_edited(rig: &Rig) -> Result<()> {
    let id = job("a").id;
    let notes = vec![Note::Name(Bytes::from_static(b"reminder/a"))];
    let spec = JobSpec { priority: Priority::Low, notes: notes.clone(), ..job("a").spec };
    rig.given(&[NewJob { when: When::In(5_000), spec, ..job("a") }]).await?;
    let due = rig.time.now() + 1_000;
    assert_eq!(reschedule(rig, id, Some(When::At(due)), None).await?, Rescheduled::Changed);
    assert_eq!(rig.next().await?.due, Some(due));
    assert_eq!(reschedule(rig, id, None, Some(b"a longer body")).await?, Rescheduled::Changed);
    assert_eq!(rig.next().await?.due, Some(due));
    let edited = rig.live(id).await?;
    assert_eq!((&edited.spec.body[..], edited.spec.notes), (&b"a longer body"[..], notes));
    assert_eq!(reschedule(rig, id, Some(When::In(9_000)), Some(b"")).await?, Rescheduled::Changed);
    rig.time.advance(8_999).await?;
    assert!(rig.claimable(10).await?.is_empty());
    rig.time.advance(1).await?;
    let delivered = rig.claim_one(&mut Consumer::default()).await?;
    assert!(delivered.job?.spec.body.is_empty());
    Ok(())
}

/// A body that grew with an edit was above the limit that a new job must respect.
// shows: hazard SF10
pub async fn edit_above_the_limit_of_bytes_changes_nothing(rig: &Rig) -> Result<()> {
    rig.given(&[NewJob { when: When::In(9_000), ..job("a") }, job("b")]).await?;
    rig.kill(&mut Consumer::default()).await?;
    let bytes = rig.run(&ReadStats).await?.bytes;
    rig.run(&SetLimits(Limits { jobs_max: None, bytes_max: Some(bytes + 5) })).await?;
    let amend = async |seen: &'static [u8], body: &'static [u8]| {
        let (seen, body) = (Bytes::from_static(seen), Bytes::from_static(body));
        rig.run(&Amend { id: job("b").id, seen, body, codec: None }).await
    };
    assert_eq!(reschedule(rig, job("a").id, None, Some(b"sixsix")).await?, Rescheduled::Full);
    assert_eq!(amend(b"b", b"sixsixsix").await?, Amended::Full);
    // The codec of the new body takes a byte, too.
    assert_eq!(reschedule(rig, job("a").id, None, Some(b"five5")).await?, Rescheduled::Changed);
    assert_eq!(amend(b"b", b"bb").await?, Amended::Full, "the first edit took the room");
    assert_eq!(amend(b"b", b"x").await?, Amended::Changed);
    assert_eq!(rig.run(&ReadStats).await?.bytes, bytes + 5);
    Ok(())
}

/// A running job is not changed: its handler holds the old body.
// shows: Q4, queue::Topic::reschedule, queue::Topic::edit, queue::Topic::change, queue::Topic::run_now
pub async fn running_job_is_not_rescheduled(rig: &Rig) -> Result<()> {
    let id = job("a").id;
    let soon = Some(When::In(1));
    assert_eq!(reschedule(rig, id, soon, None).await?, Rescheduled::Unknown);
    rig.given(&[NewJob { spec: JobSpec { retention: Retention::AfterEnd(1_000), ..job("a").spec }, ..job("a") }])
        .await?;
    let mut consumer = Consumer::default();
    let running = rig.claim_one(&mut consumer).await?;
    assert_eq!(reschedule(rig, id, soon, Some(b"b")).await?, Rescheduled::Running);
    assert_eq!(&rig.live(id).await?.spec.body[..], b"a");
    assert_eq!(rig.settle(&mut consumer, running.receipt, Outcome::Done).await?, Verdict::Settled);
    assert_eq!(reschedule(rig, id, soon, None).await?, Rescheduled::Ended(End::Done));
    rig.given(&[job("b")]).await?;
    rig.kill(&mut consumer).await?;
    assert_eq!(reschedule(rig, job("b").id, soon, None).await?, Rescheduled::Dead);
    Ok(())
}

/// The same as for a revocation: the worker without heartbeats loses the job, and the result says so.
// shows: Q4
pub async fn job_with_expired_lease_can_be_rescheduled(rig: &Rig) -> Result<()> {
    rig.given(&[job("a")]).await?;
    let mut consumer = Consumer::default();
    let silent = rig.claim_one(&mut consumer).await?;
    rig.time.advance(30_000).await?;
    let answer = reschedule(rig, silent.receipt.id, Some(When::In(1_000)), Some(b"b")).await?;
    assert_eq!(answer, Rescheduled::ChangedAfterLeaseExpiry);
    assert_eq!(rig.settle(&mut consumer, silent.receipt, Outcome::Done).await?, Verdict::Lost);
    assert_eq!(rig.next().await?.due, Some(rig.time.now() + 1_000));
    assert_eq!(revoke(rig, silent.receipt.id).await?, Revoked::RevokedAfterLeaseExpiry);
    Ok(())
}

/// A reminder that may be ten minutes late may be ten minutes late after its new time.
pub async fn reschedule_moves_the_job_deadline(rig: &Rig) -> Result<()> {
    let spec = JobSpec { late_ms_max: Some(600), ..job("a").spec };
    rig.given(&[NewJob { spec, ..job("a") }]).await?;
    reschedule(rig, job("a").id, Some(When::In(10_000)), None).await?;
    rig.time.advance(10_600).await?;
    assert_eq!(rig.claimable(10).await?, ["a"]);

    // Also that of a job whose lease has expired after its start.
    let spec = JobSpec { late_ms_max: Some(600), ..job("b").spec };
    rig.given(&[NewJob { spec, ..job("b") }]).await?;
    let mut consumer = Consumer::default();
    let silent = rig.claim_one(&mut consumer).await?;
    assert!(rig.heartbeat(&consumer, silent.receipt, true).await?);
    rig.time.advance(30_000).await?;
    let answer = reschedule(rig, job("b").id, Some(When::In(1_000)), None).await?;
    assert_eq!(answer, Rescheduled::ChangedAfterLeaseExpiry);
    assert_eq!(rig.live(job("b").id).await?.expires_at, Some(rig.time.now() + 1_600));
    Ok(())
}
