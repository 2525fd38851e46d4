//! What only a Redis can show: names of keys, memory, what happens when it is full or has lost something.

use anyhow::Result;
use bytes::Bytes;
use evenkeel::clock::Clock;
use evenkeel::link::{Link, LinkError, LinkOptions};
use evenkeel::queue::QueueError;
use evenkeel_protocol::queue::job::{JobId, JobSpec, Retention, Unique, UniqueKey};
use evenkeel_protocol::queue::steps::{
    Delete, Enqueued, ITEMS_MAX, NewJob, Outcome, Put, PutChange, Puts, ReadStats, Redrive, Revoke, Revoked, State,
    Verdict, When,
};
use testkit::conformance::queue::{Consumer, Rig, invariants, job};
use testkit::servers::{Redis, RedisOptions};

const MONTH_MS: u64 = 30 * 24 * 3_600_000;

async fn own(options: RedisOptions) -> Result<(Redis, Rig, Link)> {
    let redis = Redis::start(options).await?;
    let rig = Rig::on(&redis.url(), "ek").await?;
    let link = Link::connect(LinkOptions::from_url(&redis.url())?, Clock::system()).await?;
    Ok((redis, rig, link))
}

/// (A9) A hard-coded prefix collided with others', and was in another slot of a cluster. Every key begins with the shard's
/// hash tag, whatever a caller puts into names; and live jobs never expire (A2).
// shows: spec/queue.md
#[tokio::test]
async fn every_key_begins_with_the_shard_hash_tag() -> Result<()> {
    let (redis, rig, link) = own(RedisOptions::new()).await?;
    let tricky = JobId::named(b"{other}:slot}*?[a]\r\n");
    let unique = Some(Unique { key: UniqueKey::new(b"}{"), window_ms: 60_000 });
    let spec = JobSpec { unique, retention: Retention::AfterEnd(60_000), ..job("x").spec };
    rig.given(&[NewJob { id: tricky, spec, when: When::In(MONTH_MS) }, job("a"), job("b"), job("c")]).await?;
    let mut consumer = Consumer::default();
    let dead = rig.kill(&mut consumer).await?;
    let redrive = Redrive { redrive: [9; 16], filter: Bytes::new(), ids: vec![dead.receipt.id], delay_ms: 0 };
    rig.run(&redrive).await?;
    let leased = rig.claim_one(&mut consumer).await?;
    let withdraw = Put { id: job("p").id, version: 1, change: PutChange::Withdraw(Retention::UntilForgotten) };
    rig.run(&Puts(vec![withdraw])).await?;
    rig.kill(&mut consumer).await?;
    invariants::check(&link, &rig.shard).await?;
    let keys: Vec<Vec<u8>> = redis.command(&["KEYS", "*"]).await?;
    let ours = |key: &&Vec<u8>| key.starts_with(b"{ek:q:mail:0}:");
    assert_eq!(keys.iter().filter(ours).count(), keys.len() - 1, "all but the test's clock: {keys:?}");
    assert_eq!(rig.run(&Revoke(vec![tricky, leased.receipt.id])).await?, [Revoked::Revoked, Revoked::Running]);
    invariants::check(&link, &rig.shard).await
}

/// (A3) An id whose body was gone kept its slot forever, until the consumer fetched nothing any more.
#[tokio::test]
async fn id_without_a_body_takes_no_slot() -> Result<()> {
    let (redis, rig, _link) = own(RedisOptions::new()).await?;
    rig.given(&[job("a"), job("b"), job("c")]).await?;
    let mut consumer = Consumer::default();
    let leased = rig.claim_one(&mut consumer).await?;
    let mut connection = redis.connection().await?;
    for name in ["a", "b"] {
        let key = [b"{ek:q:mail:0}:job:", &job(name).id.0[..]].concat();
        redis::cmd("DEL").arg(key).exec_async(&mut connection).await?;
    }
    assert_eq!(rig.settle(&mut consumer, leased.receipt, Outcome::Done).await?, Verdict::Lost);
    assert_eq!(rig.claimable(10).await?, ["c"], "the next call gets what there is");
    rig.time.advance(60_000).await?;
    rig.rescue().await?;
    let stats = rig.run(&ReadStats).await?;
    assert_eq!((stats.totals.ghosts, stats.leased, stats.ready), (2, 0, 1));
    assert_eq!(rig.enqueue(job("a")).await?, Enqueued::Created);
    Ok(())
}

/// (A5, asynq #1051) Jobs were half written, and scripts failed in the middle. A full Redis accepts no job and still delivers all
/// of them.
// shows: Q1, spec/queue.md
#[tokio::test]
async fn full_redis_can_be_drained() -> Result<()> {
    let (redis, rig, link) = own(RedisOptions::new()).await?;
    let names: Vec<String> = (0..20).map(|number| format!("job {number:02}")).collect();
    let jobs: Vec<NewJob> = names.iter().map(|name| job(name)).collect();
    rig.given(&jobs).await?;
    let mut consumer = Consumer::default();
    let leased = rig.claim(&mut consumer, 4).await?;
    rig.kill(&mut consumer).await?;
    redis.command::<()>(&["CONFIG", "SET", "maxmemory", "1"]).await?;

    let refused = rig.enqueue(job("more")).await;
    let oom = |error: &anyhow::Error| match error.downcast_ref::<QueueError>() {
        Some(QueueError::Link(LinkError::Refused { code, .. })) => code == "OOM",
        _ => false,
    };
    assert!(refused.as_ref().is_err_and(oom), "{refused:?}");
    assert_eq!(rig.queue.job(&rig.shard, job("more").id).await?, None);
    assert!(rig.heartbeat(&consumer, leased[0].receipt, true).await?);
    assert_eq!(rig.settle(&mut consumer, leased[0].receipt, Outcome::Done).await?, Verdict::Settled);
    assert_eq!(rig.fail(&mut consumer, leased[1].receipt, 0).await?, Verdict::Settled);
    assert_eq!(rig.run(&Revoke(vec![job("job 10").id])).await?, [Revoked::Revoked]);
    // The tests' clock is a key as well.
    redis.command::<()>(&["CONFIG", "SET", "maxmemory", "0"]).await?;
    rig.time.advance(60_000).await?;
    redis.command::<()>(&["CONFIG", "SET", "maxmemory", "1"]).await?;
    assert_eq!(rig.rescue().await?.jobs.len(), 2);
    assert_eq!(rig.run(&Delete(vec![job("job 04").id])).await?, [true]);
    let mut done = 1;
    loop {
        let deliveries = rig.claim(&mut consumer, 5).await?;
        let mut call = consumer.call(0);
        call.settlements = deliveries.iter().map(|delivered| (delivered.receipt, Outcome::Done)).collect();
        done += call.settlements.len();
        if call.settlements.is_empty() {
            break;
        }
        rig.settle_and_claim(&call).await?;
    }
    assert_eq!(done, 18, "all but the revoked and the deleted one");
    redis.command::<()>(&["CONFIG", "SET", "maxmemory", "0"]).await?;
    invariants::check(&link, &rig.shard).await?;
    assert_eq!(rig.enqueue(job("more")).await?, Enqueued::Created);
    Ok(())
}

/// An operator flushed the server's functions and scripts: nothing of the call was executed, and the link sends them again.
#[tokio::test]
async fn queue_survives_flush_of_functions_and_scripts() -> Result<()> {
    let (redis, rig, _link) = own(RedisOptions::new()).await?;
    rig.given(&[job("a")]).await?;
    redis.command::<()>(&["FUNCTION", "FLUSH"]).await?;
    redis.command::<()>(&["SCRIPT", "FLUSH"]).await?;
    assert_eq!(rig.claimable(1).await?, ["a"]);
    assert_eq!(rig.state(job("a").id).await?, Some(State::Leased));
    Ok(())
}

/// Peers take 499 to 823 bytes for a waiting job with a 100-byte body (docs/spec/queue.md says what ours is made of).
// shows: spec/queue.md
#[tokio::test]
async fn waiting_job_takes_at_most_420_bytes() -> Result<()> {
    const JOBS: usize = 20_000;
    let (redis, rig, _link) = own(RedisOptions::new()).await?;
    let used = async || -> Result<usize> {
        let memory: String = redis.command(&["INFO", "memory"]).await?;
        let used = memory.lines().find_map(|line| line.strip_prefix("used_memory:")).unwrap();
        Ok(used.trim().parse()?)
    };
    let spec = || JobSpec::new(Bytes::from(vec![b'x'; 100]));
    let enqueue = async |from: usize, to: usize| -> Result<()> {
        let job = |number: usize| NewJob {
            id: JobId::generate(1_700_000_000_000 + u64::try_from(number).unwrap()),
            when: When::In(3_600_000 + u64::try_from(number).unwrap()),
            spec: spec(),
        };
        for start in (from..to).step_by(ITEMS_MAX) {
            rig.given(&(start..start + ITEMS_MAX).map(job).collect::<Vec<_>>()).await?;
        }
        Ok(())
    };
    enqueue(0, ITEMS_MAX).await?; // the sorted set has its final form, and the script is loaded
    let before = used().await?;
    enqueue(ITEMS_MAX, JOBS + ITEMS_MAX).await?;
    let bytes = (used().await? - before) / JOBS;
    assert!(bytes <= 420, "{bytes} bytes");
    Ok(())
}
