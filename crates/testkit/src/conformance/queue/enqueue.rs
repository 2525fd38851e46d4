//! What is taken in, and what is not.

use super::rig::{Consumer, Rig, job};
use anyhow::Result;
use evenkeel::queue::QueueError;
use evenkeel_protocol::queue::job::{End, JobId, JobSpec, Retention, Retries, Unique, UniqueKey};
use evenkeel_protocol::queue::steps::{
    Enqueue, Enqueued, ITEMS_MAX, Limits, NewJob, Outcome, ReadStats, Revoke, SetLimits, When,
};

fn retained(name: &str) -> NewJob {
    NewJob { spec: JobSpec { retention: Retention::AfterEnd(60_000), ..job(name).spec }, ..job(name) }
}

fn unique(name: &str, key: &str) -> NewJob {
    let unique = Some(Unique { key: UniqueKey::new(key.as_bytes()), window_ms: 60_000 });
    NewJob { spec: JobSpec { unique, ..job(name).spec }, ..job(name) }
}

/// A sender that never saw the answer sends again: while the job waits, runs, is dead, and for a while after it is done.
// shows: Q5, queue::Queue::now, queue::Queue::at, queue::Queue::delay, queue::Queue::enqueue_all
// shows: queue::JobBuilder::enqueue
pub async fn enqueue_with_caller_id_is_idempotent(rig: &Rig) -> Result<()> {
    let welcome = retained("welcome/42");
    assert_eq!(rig.enqueue(welcome.clone()).await?, Enqueued::Created);
    assert_eq!(rig.enqueue(welcome.clone()).await?, Enqueued::Duplicate);
    let mut consumer = Consumer::default();
    let delivered = rig.claim_one(&mut consumer).await?;
    assert_eq!(rig.enqueue(welcome.clone()).await?, Enqueued::Duplicate);
    rig.settle(&mut consumer, delivered.receipt, Outcome::Done).await?;
    rig.time.advance(59_999).await?;
    assert_eq!(rig.enqueue(welcome.clone()).await?, Enqueued::Ended(End::Done));
    assert!(rig.claimable(10).await?.is_empty());
    rig.time.advance(1).await?;
    assert_eq!(rig.enqueue(welcome.clone()).await?, Enqueued::Created);
    rig.kill(&mut consumer).await?;
    assert_eq!(rig.enqueue(welcome).await?, Enqueued::Dead);
    assert!(rig.claimable(10).await?.is_empty());
    Ok(())
}

/// No sender uses a generated id again, so nothing of the job is kept.
// shows: Q6
pub async fn finished_job_without_id_leaves_no_key_behind(rig: &Rig) -> Result<()> {
    rig.given(&[job("a")]).await?;
    let mut consumer = Consumer::default();
    let delivered = rig.claim_one(&mut consumer).await?;
    rig.settle(&mut consumer, delivered.receipt, Outcome::Done).await?;
    assert_eq!(rig.queue.job(&rig.shard, delivered.receipt.id).await?, None);
    let stats = rig.run(&ReadStats).await?;
    assert_eq!((stats.bytes, stats.leased, stats.totals.done), (0, 0, 1));
    Ok(())
}

/// (asynq #275, #492) Locks that outlived their job blocked the next one: a revoked job frees its key at once.
// shows: Q5
pub async fn unique_key_deduplicates_within_its_window(rig: &Rig) -> Result<()> {
    let first = unique("first", "invoice/7");
    rig.given(std::slice::from_ref(&first)).await?;
    assert_eq!(rig.enqueue(unique("second", "invoice/7")).await?, Enqueued::Taken(first.id));
    assert_eq!(rig.enqueue(unique("other", "invoice/8")).await?, Enqueued::Created);
    rig.time.advance(60_000).await?;
    let third = unique("third", "invoice/7");
    assert_eq!(rig.enqueue(third.clone()).await?, Enqueued::Created);
    rig.run(&Revoke(vec![third.id])).await?;
    assert_eq!(rig.enqueue(unique("fourth", "invoice/7")).await?, Enqueued::Created);
    // The first job's end does not free a key that is another's by now.
    rig.run(&Revoke(vec![first.id])).await?;
    assert_eq!(rig.enqueue(unique("fifth", "invoice/7")).await?, Enqueued::Taken(job("fourth").id));
    Ok(())
}

/// (asynq) The unique lock was taken before the id was checked, and stayed taken by a job that never came to be.
pub async fn rejected_id_leaves_the_unique_key_free(rig: &Rig) -> Result<()> {
    rig.given(&[job("a")]).await?;
    assert_eq!(rig.enqueue(unique("a", "k")).await?, Enqueued::Duplicate);
    assert_eq!(rig.enqueue(unique("b", "k")).await?, Enqueued::Created);
    Ok(())
}

/// Limits count waiting and running jobs, and the bytes of all; jobs above the limit are rejected one by one.
// shows: queue::Queue::now, queue::Queue::at, queue::Queue::delay, queue::Queue::enqueue_all
// shows: queue::JobBuilder::enqueue
pub async fn full_topic_rejects_job_by_job(rig: &Rig) -> Result<()> {
    rig.run(&SetLimits(Limits { jobs_max: Some(2), bytes_max: None })).await?;
    let answers = rig.run(&Enqueue(vec![job("a"), job("a"), job("b"), job("c")])).await?;
    assert_eq!(answers, [Enqueued::Created, Enqueued::Duplicate, Enqueued::Created, Enqueued::Full]);
    let mut consumer = Consumer::default();
    let delivered = rig.claim_one(&mut consumer).await?;
    assert_eq!(rig.enqueue(job("c")).await?, Enqueued::Full, "what runs counts too");
    rig.settle(&mut consumer, delivered.receipt, Outcome::Done).await?;
    assert_eq!(rig.enqueue(job("c")).await?, Enqueued::Created);

    let bytes = rig.run(&ReadStats).await?.bytes;
    rig.run(&SetLimits(Limits { jobs_max: None, bytes_max: Some(bytes + 41) })).await?;
    assert_eq!(rig.enqueue(job("de")).await?, Enqueued::Full);
    assert_eq!(rig.enqueue(job("d")).await?, Enqueued::Created);
    Ok(())
}

/// (A1) An option for one message was written into the queue, and silently changed every later message.
pub async fn job_options_apply_to_one_job_only(rig: &Rig) -> Result<()> {
    let special = JobSpec {
        retries: Retries::Limited(0),
        late_ms_max: Some(1_000),
        retention: Retention::AfterEnd(5_000),
        ..job("special").spec
    };
    let special = NewJob { when: When::In(1_000), spec: special, ..job("special") };
    let plain = NewJob { when: When::In(1_000), ..job("plain") };
    rig.given(&[special.clone(), plain.clone()]).await?;
    let job = rig.live(plain.id).await?;
    assert_eq!((job.spec, job.expires_at), (plain.spec, None));
    let job = rig.live(special.id).await?;
    assert_eq!((job.spec, job.expires_at), (special.spec, Some(rig.time.now() + 2_000)));
    Ok(())
}

/// (A6, BullMQ #422) Scripts without a bound froze Redis, or failed at 8,000 items: a step takes 500 and says so.
// shows: Q7
pub async fn step_accepts_at_most_five_hundred_items(rig: &Rig) -> Result<()> {
    let jobs: Vec<NewJob> = (0..=ITEMS_MAX).map(|number| job(&number.to_string())).collect();
    let refused = rig.run(&Enqueue(jobs.clone())).await;
    assert!(matches!(refused, Err(QueueError::TooMany { items: 501, limit: 500 })), "{refused:?}");
    rig.given(&jobs[..ITEMS_MAX]).await?;
    let mut consumer = Consumer::default();
    let refused = rig.run(&consumer.call(ITEMS_MAX + 1)).await;
    assert!(matches!(refused, Err(QueueError::TooMany { .. })), "{refused:?}");
    let deliveries = rig.claim(&mut consumer, ITEMS_MAX).await?;
    assert_eq!(deliveries.len(), ITEMS_MAX);
    let settlements = deliveries.iter().map(|delivered| (delivered.receipt, Outcome::Done)).collect();
    let mut call = consumer.call(0);
    call.settlements = settlements;
    rig.settle_and_claim(&call).await?;
    let ids: Vec<JobId> = jobs.iter().map(|job| job.id).collect();
    assert!(rig.run(&Revoke(ids)).await.is_err());
    assert_eq!(rig.run(&ReadStats).await?.totals.done, 500);
    Ok(())
}

/// In memory 65,535 retries were without an end, because that is as far as errors are counted.
pub async fn retries_above_the_highest_are_reduced_to_it(rig: &Rig) -> Result<()> {
    let spec = JobSpec { retries: Retries::Limited(u16::MAX), ..job("a").spec };
    rig.given(&[NewJob { spec, ..job("a") }]).await?;
    assert_eq!(rig.live(job("a").id).await?.spec.retries, Retries::Limited(u16::MAX - 1));
    Ok(())
}
