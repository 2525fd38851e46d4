//! Libraries of Redis functions: named in reports, deleted a week after the last one.

use anyhow::Result;
use evenkeel::Keel;
use redis::Value;
use std::collections::HashMap;
use testkit::servers::{Redis, RedisOptions};

const DAY_MS: u64 = 86_400_000;

async fn listed(redis: &Redis) -> Result<Vec<String>> {
    let libraries: Vec<HashMap<String, Value>> = redis.command(&["FUNCTION", "LIST"]).await?;
    let names = libraries.into_iter().map(|library| Ok(redis::from_redis_value(library["library_name"].clone())?));
    let mut names: Vec<String> = names.collect::<Result<_>>()?;
    names.sort();
    Ok(names)
}

/// Every version of a program leaves its library. Those of other programs are theirs.
#[tokio::test]
async fn library_without_a_report_for_a_week_is_deleted() -> Result<()> {
    let redis = Redis::start(RedisOptions::new()).await?;
    let at = async |ms: u64| redis.command::<()>(&["SET", "evenkeel:test:now_ms", &ms.to_string()]).await;
    at(20_000 * DAY_MS).await?;
    let keel = Keel::connect(&redis.url()).await?;
    for name in ["evenkeel_queue_0123456789abcdef", "orders"] {
        let text = format!("#!lua name={name}\nredis.register_function('{name}_one', function() return 1 end)");
        redis.command::<()>(&["FUNCTION", "LOAD", &text]).await?;
    }
    let before = listed(&redis).await?;
    keel.report_once().await?;
    let report = keel.processes().await?.processes[0].report.clone().unwrap();
    assert!(report.libraries.iter().all(|name| before.contains(name)), "{report:?}");
    for days in [0, 6] {
        at((20_000 + days) * DAY_MS).await?;
        keel.report_once().await?;
        keel.sweep_libraries().await?;
        assert_eq!(listed(&redis).await?, before, "after {days} days");
    }
    at(20_007 * DAY_MS).await?;
    keel.report_once().await?;
    keel.sweep_libraries().await?;
    let kept: Vec<String> = before.into_iter().filter(|name| !name.ends_with("0123456789abcdef")).collect();
    assert_eq!(listed(&redis).await?, kept);
    assert_eq!(redis.command::<u64>(&["EXISTS", "evenkeel:{p}:libraries"]).await?, 0, "nothing is unused now");
    Ok(())
}
