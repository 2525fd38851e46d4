//! What operators do and see.

use crate::conformance::queue::rig::{Consumer, Rig, job};
use anyhow::{Context, Result};
use bytes::Bytes;
use evenkeel_protocol::queue::job::{End, JobId, JobSpec, Priority, Retention};
use evenkeel_protocol::queue::steps::{
    Delete, Enqueued, Forget, Found, ITEMS_MAX, List, Listed, NewJob, Outcome, Pause, Purge, ReadJobs, ReadStats,
    Revoke, SettleAndClaim, State, When,
};

const NORMAL: State = State::Waiting(Priority::Normal);

fn page(after: Option<Listed>, limit: usize) -> List {
    List { state: NORMAL, newest_first: false, after, limit }
}

/// Only dead letters can be deleted.
// shows: Q8, queue::Topic::delete_dead
pub async fn only_dead_letters_are_deleted(rig: &Rig) -> Result<()> {
    rig.given(&[job("a"), job("b")]).await?;
    rig.kill(&mut Consumer::default()).await?;
    let ids = [job("a").id, job("b").id, job("never seen").id];
    assert_eq!(rig.run(&Delete(ids.to_vec())).await?, [true, false, false]);
    assert_eq!(rig.run(&Delete(ids.to_vec())).await?, [false, false, false]);
    assert_eq!(rig.state(job("b").id).await?, Some(NORMAL));
    assert_eq!(rig.enqueue(job("a")).await?, Enqueued::Created);
    Ok(())
}

/// (asynq, Sidekiq, ChasquiMQ) Dead letters beyond the ten-thousandth were deleted without a word.
// shows: Q8
pub async fn dead_letters_are_never_trimmed(rig: &Rig) -> Result<()> {
    const LETTERS: usize = 10_500;
    let mut consumer = Consumer::default();
    for batch in 0..LETTERS / ITEMS_MAX {
        let jobs: Vec<NewJob> = (0..ITEMS_MAX).map(|number| job(&format!("{batch}/{number}"))).collect();
        rig.given(&jobs).await?;
        let taken = rig.claim(&mut consumer, ITEMS_MAX).await?;
        let dead = |receipt| (receipt, Outcome::Dead { reason: Bytes::from_static(b"no such customer") });
        let settlements = taken.iter().map(|delivered| dead(delivered.receipt)).collect();
        rig.settle_and_claim(&SettleAndClaim { settlements, ..consumer.call(0) }).await?;
    }
    rig.time.advance(400 * 24 * 3_600_000).await?;
    assert_eq!(usize::try_from(rig.run(&ReadStats).await?.dead)?, LETTERS);
    assert_eq!(rig.live(job("0/0").id).await?.spec.body, "0/0");
    Ok(())
}

/// (BullMQ) Cleaning 1.5 million jobs in one script blocked Redis for eighteen hours. A purge with a limit of 0 deletes nothing: the
/// script's range up to rank -1 once was the whole index (found by comparing the model with the scripts).
// shows: Q7, queue::Topic::purge
pub async fn purge_deletes_a_bounded_number(rig: &Rig) -> Result<()> {
    rig.given(&["a", "b", "c"].map(job)).await?;
    rig.claim_one(&mut Consumer::default()).await?;
    assert_eq!(rig.run(&Purge { state: NORMAL, limit: 0 }).await?, 0);
    assert_eq!(rig.run(&Purge { state: NORMAL, limit: 1 }).await?, 1);
    assert_eq!(rig.run(&Purge { state: NORMAL, limit: 500 }).await?, 1);
    assert_eq!(rig.run(&Purge { state: State::Dead, limit: 500 }).await?, 0);
    assert!(rig.run(&Purge { state: State::Leased, limit: 1 }).await.is_err(), "a running job is not purged");
    let stats = rig.run(&ReadStats).await?;
    assert_eq!((stats.leased, stats.waiting, stats.totals.deleted), (1, [0; 4], 2));
    Ok(())
}

/// A completion record of a job from an outbox exists until the outbox row is marked done, then for ten minutes.
pub async fn forget_lets_completion_records_expire(rig: &Rig) -> Result<()> {
    let outbox =
        |name: &str| NewJob { spec: JobSpec { retention: Retention::UntilForgotten, ..job(name).spec }, ..job(name) };
    rig.given(&[outbox("done"), outbox("waiting")]).await?;
    let mut consumer = Consumer::default();
    let done = rig.claim_one(&mut consumer).await?;
    rig.settle(&mut consumer, done.receipt, Outcome::Done).await?;
    rig.time.advance(365 * 24 * 3_600_000).await?;
    assert_eq!(rig.enqueue(outbox("done")).await?, Enqueued::Ended(End::Done));
    let ids = [job("done").id, job("waiting").id, job("never seen").id];
    assert_eq!(rig.run(&Forget(ids.to_vec())).await?, [true, true, false]);
    rig.time.advance(300_000).await?;
    assert_eq!(rig.run(&Forget(ids[..1].to_vec())).await?, [true], "a repeat does not begin again");
    rig.time.advance(299_999).await?;
    assert_eq!(rig.enqueue(outbox("done")).await?, Enqueued::Ended(End::Done));
    rig.time.advance(1).await?;
    assert_eq!(rig.enqueue(outbox("done")).await?, Enqueued::Created);
    // The live one: from its end on, ten minutes.
    let waiting = rig.claim_one(&mut consumer).await?;
    rig.settle(&mut consumer, waiting.receipt, Outcome::Done).await?;
    rig.time.advance(599_999).await?;
    assert_eq!(rig.enqueue(outbox("waiting")).await?, Enqueued::Ended(End::Done));
    rig.time.advance(1).await?;
    assert_eq!(rig.enqueue(outbox("waiting")).await?, Enqueued::Created);
    Ok(())
}

/// Pages by number skip or repeat jobs that move; these continue behind the last one seen, even if that is gone.
// shows: queue::Topic::list, queue::Topic::peek
pub async fn page_continues_while_jobs_come_and_go(rig: &Rig) -> Result<()> {
    let at = |name: &str, delay_ms: u64| NewJob { when: When::In(delay_ms), ..job(name) };
    rig.given(&[at("a", 10), at("b", 10), at("c", 10), at("d", 20), at("e", 30)]).await?;
    let name = |listed: &Listed| char::from(listed.id.0[0]);
    let first = rig.run(&page(None, 2)).await?;
    assert_eq!(first.iter().map(name).collect::<String>(), "ab");
    assert_eq!(first[0].score, rig.time.now() + 10);
    let cursor = first.last().copied();
    rig.run(&Revoke(vec![job("a").id])).await?;
    let second = rig.run(&page(cursor, 2)).await?;
    assert_eq!(second.iter().map(name).collect::<String>(), "cd");
    rig.run(&Revoke(vec![job("b").id])).await?;
    let again = rig.run(&page(cursor, 2)).await?;
    assert_eq!(again, second, "the cursor's own job is gone");
    let third = rig.run(&page(second.last().copied(), 2)).await?;
    assert_eq!(third.iter().map(name).collect::<String>(), "e");
    assert!(rig.run(&List { state: State::Dead, ..page(None, 2) }).await?.is_empty());
    Ok(())
}

/// One call returns the state of each job.
// shows: queue::Topic::stats, queue::Watch::look
pub async fn stats_add_up(rig: &Rig) -> Result<()> {
    let low = NewJob { spec: JobSpec { priority: Priority::Low, ..job("low").spec }, ..job("low") };
    let later = NewJob { when: When::In(10), ..job("later") };
    rig.given(&[job("a"), job("b"), low, later]).await?;
    let now = rig.time.now();
    rig.kill(&mut Consumer::default()).await?;
    rig.claim_one(&mut Consumer::default()).await?;
    rig.run(&Pause(None)).await?;
    let stats = rig.run(&ReadStats).await?;
    assert_eq!((stats.now, stats.waiting, stats.ready, stats.oldest_due), (now, [0, 0, 1, 1], 1, Some(now)));
    assert_eq!((stats.leased, stats.lease_expired, stats.dead, stats.workers), (1, 0, 1, 2));
    assert_eq!(stats.paused_until, Some(u64::MAX));
    assert_eq!((stats.totals.created, stats.totals.died), (4, 1));
    let mut bytes = 0;
    for name in ["a", "b", "low", "later"] {
        bytes += evenkeel_protocol::queue::record::encoded_len(&rig.live(job(name).id).await?);
    }
    assert_eq!(stats.bytes, u64::try_from(bytes)?);
    let found = rig.queue.job(&rig.shard, job("later").id).await?.context("unknown")?;
    assert!(matches!(found, Found::Live { state: NORMAL, score, .. } if score == now + 10), "{found:?}");
    Ok(())
}

/// Many jobs are due in the same millisecond after a bulk enqueue; a cursor of another shard, or of a job that is gone,
/// falls in between them. A page that read the first 500 only would be empty there, and the list would seem to end.
// shows: queue::Topic::list, queue::Topic::peek
pub async fn page_continues_among_many_jobs_due_at_one_time(rig: &Rig) -> Result<()> {
    let names: Vec<String> = (0..600).map(|number| format!("job {number:03}")).collect();
    let jobs: Vec<NewJob> = names.iter().map(|name| job(name)).collect();
    for jobs in jobs.chunks(ITEMS_MAX) {
        rig.given(jobs).await?;
    }
    let elsewhere = Listed { score: rig.time.now(), id: job("job 597x").id };
    let found = rig.run(&page(Some(elsewhere), 10)).await?;
    let ids: Vec<JobId> = found.iter().map(|listed| listed.id).collect();
    assert_eq!(ids, [job("job 598").id, job("job 599").id]);
    let found = rig.run(&ReadJobs(vec![ids[0], job("unknown").id, ids[1]])).await?;
    assert!(matches!(&found[..], [Ok(Some(_)), Ok(None), Ok(Some(_))]), "{found:?}");
    Ok(())
}
