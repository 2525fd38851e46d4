//! The conformance suite of limits on Redis, and what only Redis has: keys that expire.

use anyhow::Result;
use evenkeel::clock::Clock;
use evenkeel::link::{Link, LinkOptions};
use testkit::conformance::limit::{Rig, rate, window};
use testkit::servers::{Redis, RedisOptions};

testkit::limit_suite!(Rig::redis);

/// A million sources that asked once do not stay.
// shows: hazard LI12
#[tokio::test]
async fn bucket_expires_a_minute_after_it_is_full() -> Result<()> {
    let redis = Redis::start(RedisOptions::new()).await?;
    let link = Link::connect(LinkOptions::from_url(&redis.url())?, Clock::system()).await?;
    let rig = Rig::over(link).await?;
    rig.take(rate(1, 10_000, 6), 3).await?;
    rig.take(window(2, 10_000), 1).await?;
    let tag = rig.subject().tag().to_owned();
    for (kind, full_ms) in [("rate", 30_000_i64), ("window", 11_000)] {
        let left: i64 = redis.command(&["PTTL", &format!("{tag}:tenant:{kind}")]).await?;
        // A slot is a second, and real time passes until the reply.
        assert!((59_000..=full_ms + 60_000).contains(&left), "{kind}: {left}");
    }
    Ok(())
}

/// The keys of a call share a hash tag: Redis Cluster runs it on one server.
// shows: M2
#[tokio::test]
async fn buckets_of_a_call_are_in_one_slot() -> Result<()> {
    let redis = Redis::start(RedisOptions::new()).await?;
    let link = Link::connect(LinkOptions::from_url(&redis.url())?, Clock::system()).await?;
    let rig = Rig::over(link).await?;
    rig.debit(&[rate(1, 1_000, 1), window(1, 1_000), rate(1, 1_000, 1)], 1, 0).await?;
    let keys: Vec<String> = redis.command(&["KEYS", "evenkeel:r:*"]).await?;
    assert_eq!(keys.len(), 3, "{keys:?}");
    assert!(keys.iter().all(|key| key.contains("{api:acme%3A%7D%25}")), "{keys:?}");
    Ok(())
}
