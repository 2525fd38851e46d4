//! Jobs that are sent one by one at the same time travel together.

use anyhow::Result;
use evenkeel::link::LinkError;
use evenkeel::queue::QueueError;
use evenkeel_protocol::queue::steps::{Enqueue, Enqueued, NewJob, ReadStats};
use futures_util::future::{join_all, poll_fn};
use std::task::Poll;
use testkit::conformance::queue::{Rig, job};
use testkit::servers::{Redis, RedisOptions};

async fn rig() -> Result<(Redis, Rig)> {
    let redis = Redis::start(RedisOptions::new()).await?;
    let rig = Rig::on(&redis.url(), "ek").await?;
    Ok((redis, rig))
}

fn jobs(count: usize) -> Vec<NewJob> {
    (0..count).map(|number| job(&format!("job {number:05}"))).collect()
}

async fn send(rig: &Rig, job: &NewJob) -> Result<Vec<Enqueued>, QueueError> {
    rig.run(&Enqueue(vec![job.clone()])).await
}

/// Calls of any script so far.
async fn scripts_run(redis: &Redis) -> Result<u64> {
    let text: String = redis.command(&["INFO", "commandstats"]).await?;
    let calls = text.lines().filter(|line| line.starts_with("cmdstat_evalsha:") || line.starts_with("cmdstat_fcall:"));
    let calls = calls.filter_map(|line| line.split("calls=").nth(1)?.split(',').next()?.parse::<u64>().ok());
    Ok(calls.sum())
}

#[tokio::test]
async fn senders_share_calls_and_get_their_own_results() -> Result<()> {
    let (redis, rig) = rig().await?;
    let jobs = jobs(200);
    rig.given(&jobs[..50]).await?;
    let before = scripts_run(&redis).await?;
    let sends = jobs.iter().map(|job| send(&rig, job));
    for (number, answers) in join_all(sends).await.into_iter().enumerate() {
        let expected = if number < 50 { Enqueued::Duplicate } else { Enqueued::Created };
        assert_eq!(answers?, [expected], "job {number}");
    }
    let calls = scripts_run(&redis).await? - before;
    assert!(calls <= 10, "200 senders at once cost {calls} calls");
    assert_eq!(rig.run(&ReadStats).await?.totals.created, 200);
    Ok(())
}

/// A sender that is dropped before its call begins has sent nothing; the other senders in the queue get their results.
#[tokio::test]
async fn sender_dropped_before_its_call_sends_nothing() -> Result<()> {
    let (_redis, rig) = rig().await?;
    let jobs = jobs(5);
    let one = |number: usize| Box::pin(send(&rig, &jobs[number]));
    let (mut first, mut second, mut gone, mut fourth) = (one(0), one(1), one(2), one(3));
    poll_fn(|context| {
        for sender in [&mut first, &mut second, &mut gone, &mut fourth] {
            assert!(sender.as_mut().poll(context).is_pending(), "no server answers that fast");
        }
        Poll::Ready(())
    })
    .await;
    drop(gone);
    assert_eq!([first.await?, second.await?, fourth.await?], [[Enqueued::Created]; 3]);
    // Sent after all of them, and received after all of them.
    assert_eq!(one(4).await?, [Enqueued::Created]);
    assert!(rig.queue.job(&rig.shard, jobs[2].id).await?.is_none());
    Ok(())
}

/// The first sender's end does not end the calls of the waiting ones.
#[tokio::test]
async fn waiting_sender_completes_after_earlier_ones_dropped() -> Result<()> {
    let (_redis, rig) = rig().await?;
    let jobs = jobs(3);
    let one = |number: usize| Box::pin(send(&rig, &jobs[number]));
    let (mut first, mut second, mut third) = (one(0), one(1), one(2));
    poll_fn(|context| {
        for sender in [&mut first, &mut second, &mut third] {
            assert!(sender.as_mut().poll(context).is_pending(), "no server answers that fast");
        }
        Poll::Ready(())
    })
    .await;
    drop((first, second));
    assert_eq!(third.await?, [Enqueued::Created]);
    Ok(())
}

/// A Redis that does not respond must not fill the memory of its senders.
#[tokio::test]
async fn sender_above_the_limit_is_rejected() -> Result<()> {
    const ROOM: usize = 10_000;
    let (mut redis, rig) = rig().await?;
    redis.pause()?;
    // Two calls are in flight; this many wait for the next.
    let jobs = jobs(2 + ROOM + 1);
    let mut sends: Vec<_> = jobs.iter().map(|job| Box::pin(send(&rig, job))).collect();
    let mut last = sends.pop().expect("there are many");
    let turned_away = poll_fn(|context| {
        for send in &mut sends {
            assert!(send.as_mut().poll(context).is_pending(), "the server does not respond");
        }
        last.as_mut().poll(context)
    });
    let refused = turned_away.await;
    assert!(matches!(refused, Err(QueueError::Link(LinkError::Busy { limit: ROOM }))), "{refused:?}");
    redis.resume()?;
    for answers in join_all(sends).await {
        assert_eq!(answers?, [Enqueued::Created]);
    }
    Ok(())
}
