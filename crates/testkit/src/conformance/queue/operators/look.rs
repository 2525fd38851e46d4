//! What operators read without bodies.

use crate::conformance::queue::rig::{Consumer, Rig, job};
use anyhow::{Context, Result, bail};
use bytes::Bytes;
use evenkeel_protocol::queue::job::{End, ErrorClass, JobId, JobSpec, Note, Priority, Retention};
use evenkeel_protocol::queue::steps::{
    JobPosition, Kept, List, Listed, NewJob, Pause, Preview, ReadKept, ReadPosition, ReadPreviews, Resume, Revoke,
    State, When, Worker,
};

const NORMAL: State = State::Waiting(Priority::Normal);

fn newest(after: Option<Listed>, limit: usize) -> List {
    List { state: NORMAL, newest_first: true, after, limit }
}

fn names(page: &[Listed]) -> String {
    page.iter().map(|listed| char::from(listed.id.0[0])).collect()
}

/// Dead letters were listed oldest first, so the ones that matter were on the last page.
// shows: queue::Topic::newest, queue::Topic::previews
pub async fn newest_page_continues_while_jobs_come_and_go(rig: &Rig) -> Result<()> {
    let at = |name: &str, delay_ms: u64| NewJob { when: When::In(delay_ms), ..job(name) };
    rig.given(&[at("a", 10), at("b", 20), at("c", 20), at("d", 20), at("e", 30)]).await?;
    let first = rig.run(&newest(None, 2)).await?;
    assert_eq!(names(&first), "ed");
    assert_eq!(first[0].score, rig.time.now() + 30);
    let cursor = first.last().copied();
    rig.run(&Revoke(vec![job("d").id])).await?;
    let second = rig.run(&newest(cursor, 2)).await?;
    assert_eq!(names(&second), "cb", "the cursor's own job is gone");
    let third = rig.run(&newest(second.last().copied(), 2)).await?;
    assert_eq!(names(&third), "a");
    assert!(rig.run(&newest(third.last().copied(), 2)).await?.is_empty());
    let between = Listed { score: rig.time.now() + 20, id: job("bb").id };
    assert_eq!(names(&rig.run(&newest(Some(between), 9)).await?), "ba");
    Ok(())
}

async fn preview(rig: &Rig, id: JobId, bytes: usize) -> Result<Preview> {
    rig.run(&ReadPreviews { ids: vec![id], bytes }).await?.pop().flatten().context("unknown")
}

/// A page of large jobs was read whole to show one line of each.
// shows: queue::Topic::newest, queue::Topic::previews
pub async fn preview_has_only_the_beginning_of_a_body(rig: &Rig) -> Result<()> {
    let body = Bytes::from("0123456789".repeat(50_000));
    for codec in [None, Some(1), Some(77)] {
        let name = format!("large {codec:?}");
        let notes = vec![Note::Name("welcome/42".into()), Note::Headers("h".repeat(5_000).into())];
        let spec =
            JobSpec { body: body.clone(), codec, notes, retention: Retention::AfterEnd(600_000), ..job(&name).spec };
        rig.given(&[NewJob { spec, ..job(&name) }]).await?;
        let mut consumer = Consumer::default();
        for _ in 0..3 {
            let held = rig.claim_one(&mut consumer).await?;
            rig.fail(&mut consumer, held.receipt, 0).await?;
        }
        let Preview::Live { state, score, job: seen, body_bytes } = preview(rig, job(&name).id, 4).await? else {
            bail!("it waits")
        };
        assert_eq!((state, score, body_bytes), (NORMAL, rig.time.now(), 500_000));
        assert_eq!((&seen.spec.body[..], seen.spec.codec, seen.errors), (&b"0123"[..], codec, 3));
        let [Note::Name(id), Note::Error(error)] = &seen.spec.notes[..] else { bail!("{:?}", seen.spec.notes) };
        assert_eq!((&id[..], error.class, error.attempt), (&b"welc"[..], ErrorClass::Failed, 3));
        assert_eq!(error.text, "no r", "the newest error, shortened");
        let whole = rig.live(job(&name).id).await?;
        assert_eq!((whole.spec.body.len(), whole.spec.notes.len()), (500_000, 5));
        rig.run(&Revoke(vec![job(&name).id])).await?;
        let ended = preview(rig, job(&name).id, 4).await?;
        assert!(matches!(ended, Preview::Ended(completion) if completion.end == End::Revoked), "{ended:?}");
    }
    rig.given(&[job("small")]).await?;
    let Preview::Live { job: small, .. } = preview(rig, job("small").id, 2_048).await? else { bail!("it waits") };
    assert_eq!(*small, rig.live(job("small").id).await?, "a small job is shown as it is");
    assert_eq!(rig.run(&ReadPreviews { ids: vec![job("never seen").id], bytes: 512 }).await?, [None]);
    assert!(rig.run(&ReadPreviews { ids: vec![job("small").id], bytes: 2_049 }).await.is_err());
    Ok(())
}

async fn position(rig: &Rig, name: &str) -> Result<JobPosition> {
    Ok(rig.run(&ReadPosition { id: job(name).id, bytes: 64 }).await?)
}

/// An operator that read counts, pause and job one after the other got a reason that was never true.
// shows: queue::Topic::why
pub async fn standing_shows_why_a_job_waits(rig: &Rig) -> Result<()> {
    let with = |name: &str, priority| NewJob { spec: JobSpec { priority, ..job(name).spec }, ..job(name) };
    let unknown = position(rig, "a").await?;
    assert_eq!((unknown.job, unknown.workers, unknown.paused_until, unknown.before), (None, 0, None, 0));
    let later = NewJob { when: When::In(5), ..with("urgent later", Priority::Urgent) };
    let jobs = [job("a"), job("b"), job("c"), with("urgent", Priority::Urgent), with("low", Priority::Low), later];
    rig.given(&jobs).await?;
    for (name, before) in [("urgent", 0), ("a", 1), ("c", 3), ("low", 4), ("urgent later", 0)] {
        assert_eq!(position(rig, name).await?.before, before, "{name}");
    }
    rig.run(&Pause(Some(rig.time.now() + 10))).await?;
    assert_eq!(position(rig, "a").await?.paused_until, Some(rig.time.now() + 10));
    rig.run(&Pause(None)).await?;
    assert_eq!(position(rig, "a").await?.paused_until, Some(u64::MAX));
    rig.run(&Resume).await?;
    let mut consumer = Consumer::default();
    rig.claim_one(&mut consumer).await?;
    let claimed = position(rig, "urgent").await?;
    assert_eq!((claimed.workers, claimed.now, claimed.lease_now), (1, rig.time.now(), rig.time.now()));
    let Some(Preview::Live { state: State::Leased, score, .. }) = claimed.job else { bail!("{claimed:?}") };
    rig.time.set_back(4).await?;
    let set_back = position(rig, "urgent").await?;
    assert_eq!(
        (set_back.now, set_back.lease_now),
        (claimed.now - 4, claimed.lease_now),
        "leases go by their own clock"
    );
    assert!(score > set_back.lease_now);
    rig.time.advance(60_004).await?;
    assert_eq!(position(rig, "a").await?.workers, 0, "a worker without a call in a minute");
    Ok(())
}

/// A program that repeats a call for a worker elsewhere needs the sequence and the token of the kept reply.
pub async fn kept_call_of_a_worker_can_be_repeated(rig: &Rig) -> Result<()> {
    let mut consumer = Consumer::default();
    assert_eq!(rig.run(&ReadKept(consumer.worker)).await?, None);
    rig.given(&[job("a"), job("b")]).await?;
    let first = consumer.call(1);
    let claimed = rig.settle_and_claim(&first).await?;
    let kept = rig.run(&ReadKept(consumer.worker)).await?.context("nothing is kept")?;
    assert_eq!(kept, Kept { sequence: 1, token: first.token });
    let mut again = consumer.call(1);
    (again.sequence, again.token) = (kept.sequence, kept.token);
    let repeated = rig.settle_and_claim(&again).await?;
    let receipts = |deliveries: &[evenkeel_protocol::queue::steps::Delivered]| -> Vec<_> {
        deliveries.iter().map(|delivered| delivered.receipt).collect()
    };
    assert_eq!(receipts(&repeated.deliveries), receipts(&claimed.deliveries));
    assert_eq!(rig.run(&ReadKept(Worker([9; 16]))).await?, None);
    Ok(())
}
