//! Versioned upserts: what a unit of work left for the queue arrives late, twice, and in any order.

use super::rig::{Consumer, Rig, job};
use anyhow::Result;
use bytes::Bytes;
use evenkeel_protocol::queue::job::{
    End, ErrorClass, ErrorNote, JobSpec, Note, Priority, Retention, Retries, Unique, UniqueKey,
};
use evenkeel_protocol::queue::steps::{
    Enqueued, List, Outcome, Put, PutAnswer, PutChange, Puts, ReadStats, Restored, Revoke, Revoked, State, Verdict,
    When,
};

async fn put(rig: &Rig, version: u64, change: PutChange) -> Result<PutAnswer> {
    let put = Put { id: job("reminder").id, version, change };
    Ok(rig.run(&Puts(vec![put])).await?[0])
}

fn due(delay_ms: u64, body: &'static [u8]) -> PutChange {
    let spec = JobSpec { retention: Retention::UntilForgotten, ..JobSpec::new(Bytes::from_static(body)) };
    PutChange::Job(When::In(delay_ms), Box::new(spec))
}

const WITHDRAWN: PutChange = PutChange::Withdraw(Retention::UntilForgotten);

/// A relay that replayed yesterday's enqueue undid today's reschedule.
pub async fn newest_version_wins(rig: &Rig) -> Result<()> {
    let id = job("reminder").id;
    assert_eq!(put(rig, 2, due(5_000, b"v2")).await?, PutAnswer::Applied);
    assert_eq!(put(rig, 1, due(0, b"v1")).await?, PutAnswer::Superseded);
    assert_eq!(put(rig, 2, due(0, b"again")).await?, PutAnswer::Applied, "a repeat changes nothing");
    assert!(rig.claimable(10).await?.is_empty());
    assert_eq!(put(rig, 3, due(1_000, b"v3")).await?, PutAnswer::Applied);
    assert_eq!(rig.next().await?.due, Some(rig.time.now() + 1_000));
    assert_eq!(&rig.live(id).await?.spec.body[..], b"v3");
    assert_eq!(put(rig, 4, WITHDRAWN).await?, PutAnswer::Applied);
    assert_eq!(put(rig, 3, due(0, b"v3")).await?, PutAnswer::Superseded);
    assert_eq!(put(rig, 4, WITHDRAWN).await?, PutAnswer::Applied);
    assert_eq!(rig.state(id).await?, None);
    assert_eq!(put(rig, 5, due(0, b"v5")).await?, PutAnswer::Applied);
    let mut consumer = Consumer::default();
    let delivered = rig.claim_one(&mut consumer).await?;
    rig.settle(&mut consumer, delivered.receipt, Outcome::Done).await?;
    rig.time.advance(365 * 24 * 3_600_000).await?;
    assert_eq!(put(rig, 5, due(0, b"v5")).await?, PutAnswer::Applied, "done, and recorded until it is forgotten");
    assert!(rig.claimable(10).await?.is_empty());
    assert!(rig.run(&Puts(vec![Put { id, version: 0, change: WITHDRAWN }])).await.is_err());
    Ok(())
}

/// The revocation overtook the enqueue it revokes.
pub async fn withdrawal_before_its_job_prevents_the_job(rig: &Rig) -> Result<()> {
    let id = job("reminder").id;
    assert_eq!(put(rig, 2, WITHDRAWN).await?, PutAnswer::Applied);
    assert_eq!(put(rig, 1, due(0, b"v1")).await?, PutAnswer::Superseded);
    assert!(rig.claimable(10).await?.is_empty());
    assert_eq!(rig.enqueue(job("reminder")).await?, Enqueued::Ended(End::Revoked));
    assert_eq!(rig.run(&Revoke(vec![id])).await?, [Revoked::Revoked]);
    Ok(())
}

/// The newer version is a new job: it is neither lost behind the running delivery nor changed by the late settlement of that
/// delivery.
pub async fn newer_version_supersedes_a_running_job(rig: &Rig) -> Result<()> {
    let id = job("reminder").id;
    let unique = Unique { key: UniqueKey::new(b"k"), window_ms: 60_000 };
    let mut enqueued = job("reminder");
    enqueued.spec.unique = Some(unique);
    rig.given(&[enqueued]).await?;
    let mut consumer = Consumer::default();
    let running = rig.claim_one(&mut consumer).await?;
    assert_eq!(put(rig, 1, due(1_000, b"v1")).await?, PutAnswer::Applied);
    assert!(!rig.heartbeat(&consumer, running.receipt, true).await?, "its worker is notified");
    assert_eq!(rig.settle(&mut consumer, running.receipt, Outcome::Done).await?, Verdict::Lost);
    assert_eq!(rig.state(id).await?, Some(State::Waiting(Priority::Normal)));
    rig.time.advance(1_000).await?;
    let second = rig.claim_one(&mut consumer).await?;
    assert!(second.receipt.fence > running.receipt.fence);
    assert_eq!(put(rig, 2, WITHDRAWN).await?, PutAnswer::Applied);
    assert_eq!(rig.run(&Revoke(vec![id])).await?, [Revoked::RevokedAfterLeaseExpiry]);
    assert_eq!(rig.settle(&mut consumer, second.receipt, Outcome::Released).await?, Verdict::Lost);
    // A put also replaces a dead letter.
    assert_eq!(put(rig, 3, due(0, b"v3")).await?, PutAnswer::Applied);
    rig.kill(&mut consumer).await?;
    assert_eq!(put(rig, 4, due(0, b"v4")).await?, PutAnswer::Applied);
    assert_eq!(rig.claimable(10).await?, ["v4"]);
    let stats = rig.run(&ReadStats).await?;
    assert_eq!((stats.leased, stats.dead), (1, 0));
    // The key of the job that was replaced is free.
    let mut other = job("other");
    other.spec.unique = Some(unique);
    assert_eq!(rig.enqueue(other).await?, Enqueued::Created);
    Ok(())
}

/// Lua's numbers are exact to 2^53; versions that a database counts may be larger.
pub async fn versions_above_lua_numbers_are_compared_exactly(rig: &Rig) -> Result<()> {
    let large = (1 << 53) + 1;
    assert_eq!(put(rig, large, due(0, b"newer")).await?, PutAnswer::Applied);
    assert_eq!(put(rig, large - 1, due(0, b"older")).await?, PutAnswer::Superseded);
    assert_eq!(put(rig, large + 1, due(0, b"newest")).await?, PutAnswer::Applied);
    assert_eq!(rig.live(job("reminder").id).await?.spec.version, Some(large + 1));
    assert_eq!(put(rig, 1 << 52, WITHDRAWN).await?, PutAnswer::Superseded);
    Ok(())
}

/// The version that replaced a job forgot the fence of its last delivery: with a clock that had been set back, the next delivery's
/// fence was lower, and SQL refused the writes of the only worker that had the job. Found by the model and the scripts side by side.
pub async fn newer_version_keeps_the_fence(rig: &Rig) -> Result<()> {
    let put = |version| Put { id: job("a").id, version, change: PutChange::Job(When::In(0), Box::new(job("a").spec)) };
    rig.run(&Puts(vec![put(1)])).await?;
    let mut consumer = Consumer::default();
    let first = rig.claim_one(&mut consumer).await?.receipt;
    rig.settle(&mut consumer, first, Outcome::Released).await?;
    rig.time.set_back(60_000).await?;
    rig.run(&Puts(vec![put(2)])).await?;
    let second = rig.claim_one(&mut consumer).await?.receipt;
    assert!(second.fence > first.fence, "{} after {}", second.fence, first.fence);
    Ok(())
}

/// A restored job got all its attempts again, and a dead one ran again.
// shows: hazard F4d
pub async fn restored_job_keeps_its_attempts_and_state(rig: &Rig) -> Result<()> {
    let id = job("reminder").id;
    let died = rig.time.now() - 5_000;
    let error = ErrorNote { at: died, class: ErrorClass::Failed, attempt: 2, text: Bytes::from_static(b"no") };
    let spec = JobSpec {
        retries: Retries::Limited(2),
        notes: vec![Note::Error(error.clone())],
        ..JobSpec::new(Bytes::from_static(b"past"))
    };
    let restored = |is_dead, at| PutChange::Restored(Box::new(Restored { spec: spec.clone(), errors: 2, is_dead, at }));
    assert_eq!(put(rig, 1, restored(true, died)).await?, PutAnswer::Applied);
    assert_eq!(rig.state(id).await?, Some(State::Dead));
    assert!(rig.claimable(10).await?.is_empty(), "a dead letter does not run");
    let listed = rig.run(&List::first(State::Dead, 10)).await?;
    assert_eq!(listed.iter().map(|listed| (listed.id, listed.score)).collect::<Vec<_>>(), [(id, died)]);
    assert_eq!(rig.live(id).await?.error_notes().collect::<Vec<_>>(), [&error]);
    // Waiting, it has one attempt left.
    assert_eq!(put(rig, 2, restored(false, rig.time.now() + 1)).await?, PutAnswer::Applied);
    assert!(rig.claimable(10).await?.is_empty(), "not before it is due");
    rig.time.advance(1).await?;
    let mut consumer = Consumer::default();
    let delivered = rig.claim_one(&mut consumer).await?;
    let failed = Outcome::Failed { retry_ms: 0, error: Bytes::from_static(b"again") };
    assert_eq!(rig.settle(&mut consumer, delivered.receipt, failed).await?, Verdict::Died);
    let dead = rig.live(id).await?;
    assert_eq!((dead.errors, dead.error_notes().count()), (3, 2));
    Ok(())
}
