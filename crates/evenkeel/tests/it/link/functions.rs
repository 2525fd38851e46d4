//! Steps as functions of Redis, and as scripts where the server refuses functions.

use super::harness::server;
use anyhow::Result;
use evenkeel::clock::Clock;
use evenkeel::link::{Library, Link, LinkError, LinkOptions, Script};
use redis::Value;
use testkit::servers::{Redis, RedisOptions};
use testkit::{CommandTrace, eventually, step_command};

const SHARED: &[&str] = &["local STEP = 2\n"];
static COUNTERS: Library = Library::new("counters", SHARED, &[&COUNT, &LOOK]);
static COUNT: Script =
    Script::step(&COUNTERS, "count-1", "", SHARED, "return redis.call('INCRBY', KEYS[1], STEP * ARGV[1])");
static LOOK: Script = Script::step(&COUNTERS, "look-1", "no-writes", &[], "return redis.call('GET', KEYS[1]) or ''");
/// The same step of another version.
static LATER: Library = Library::new("counters", &[], &[&LATER_COUNT]);
static LATER_COUNT: Script =
    Script::step(&LATER, "count-1", "", &[], "return redis.call('INCRBY', KEYS[1], 100 * ARGV[1])");

async fn open(redis: &Redis) -> Result<Link, LinkError> {
    let options = LinkOptions::from_url(&redis.url())?.with_scripts([&COUNT, &LOOK]);
    Link::connect(options, Clock::system()).await
}

async fn count(link: &Link) -> Result<i64, LinkError> {
    link.run(&COUNT, &[b"n"], &[b"3"]).await
}

/// The names of the libraries that the server has.
async fn libraries(redis: &Redis) -> Result<Vec<String>> {
    let listed: Vec<Vec<Value>> = redis.command(&["FUNCTION", "LIST"]).await?;
    listed.into_iter().map(|library| Ok(redis::from_redis_value(library[1].clone())?)).collect()
}

/// The command by which a call was sent.
async fn sent(redis: &Redis, link: &Link) -> Result<String> {
    let mut trace = CommandTrace::start(redis).await?;
    count(link).await?;
    let sent = trace.take(redis).await?.from_clients();
    let call = sent.names().into_iter().find(|name| ["FCALL", "EVALSHA"].contains(name));
    Ok(call.unwrap_or_default().to_owned())
}

#[tokio::test]
async fn step_is_a_function_of_a_library_with_a_hash_in_its_name() -> Result<()> {
    let redis = server().await?;
    let link = open(&redis).await?;
    assert_eq!((count(&link).await?, count(&link).await?), (6, 12));
    assert_eq!(link.run::<String>(&LOOK, &[b"n"], &[]).await?, "12");
    assert_eq!(sent(&redis, &link).await?, step_command());
    Ok(())
}

/// Two versions of a program share a server: neither replaces the other's library.
#[tokio::test]
async fn versions_of_a_step_live_side_by_side() -> Result<()> {
    let redis = Redis::start(RedisOptions::new()).await?;
    let (one, two) = (open(&redis).await?, open(&redis).await?);
    assert_eq!(two.run::<i64>(&LATER_COUNT, &[b"n"], &[b"1"]).await?, 100);
    assert_eq!((count(&one).await?, count(&two).await?), (106, 112));
    assert_eq!(two.run::<i64>(&LATER_COUNT, &[b"n"], &[b"1"]).await?, 212);
    if step_command() == "FCALL" {
        assert_eq!(libraries(&redis).await?.len(), 2);
    }
    Ok(())
}

/// An operator flushes the functions, or a replica is promoted before its first synchronization: no part of the call was executed.
#[tokio::test]
async fn lost_library_is_loaded_again_by_the_next_call() -> Result<()> {
    let redis = Redis::start(RedisOptions::new()).await?;
    let link = open(&redis).await?;
    assert_eq!(count(&link).await?, 6);
    redis.command::<()>(&["FUNCTION", "FLUSH"]).await?;
    redis.command::<()>(&["SCRIPT", "FLUSH"]).await?;
    let calls = (0..50).map(|_| count(&link));
    let counts: Vec<i64> = futures_util::future::try_join_all(calls).await?;
    assert_eq!(counts.iter().max(), Some(&306), "each call was executed once");
    redis.command::<()>(&["FUNCTION", "FLUSH"]).await?;
    redis.command::<()>(&["SCRIPT", "FLUSH"]).await?;
    let mut dedicated = link.blocking().await?;
    let reply = dedicated.run(&COUNT, &[b"n"], &[b"3"], std::time::Duration::ZERO).await?;
    assert_eq!(reply, Value::Int(312));
    redis.command::<()>(&["FLUSHALL"]).await?;
    assert_eq!(count(&link).await?, 6);
    Ok(())
}

/// A promoted replica has the library of its primary, without a call that loads it.
#[tokio::test]
async fn promoted_replica_has_the_library() -> Result<()> {
    let redis = Redis::start(RedisOptions::new()).await?;
    let link = open(&redis).await?;
    assert_eq!(count(&link).await?, 6);
    let replica = Redis::start(RedisOptions::new().replica_of(redis.port())).await?;
    eventually("the replica has the counter", async || {
        let counted: Option<String> = replica.command(&["GET", "n"]).await.ok()?;
        (counted.as_deref() == Some("6")).then_some(())
    })
    .await?;
    replica.command::<()>(&["REPLICAOF", "NO", "ONE"]).await?;
    let listed = libraries(&replica).await?;
    assert_eq!(listed, libraries(&redis).await?);
    assert_eq!(count(&open(&replica).await?).await?, 12);
    Ok(())
}

/// Managed servers rename commands, administrators deny them, and a full server loads nothing: the same source runs as scripts.
// shows: hazard T20
#[tokio::test]
async fn server_that_refuses_functions_runs_scripts() -> Result<()> {
    let all = RedisOptions::new();
    let denied = |rules: &str| RedisOptions::new().user("app", "password", &format!("~* &* +@all {rules}"));
    let refusing = [
        all.clone().arguments(["--rename-command", "FUNCTION", ""]),
        all.clone().arguments(["--rename-command", "FCALL", ""]),
        denied("-function"),
        denied("-fcall"),
        all.memory("1mb", "noeviction").arguments(["--maxmemory-clients", "0"]),
    ];
    for options in refusing {
        let redis = Redis::start(options.clone()).await?;
        let link = open(&redis).await?;
        // First with bytes: the server quotes the arguments of a command that it does not know, and no text has these.
        let first = link.run::<i64>(&COUNT, &[b"\xff\xfe"], &[b"3"]).await;
        assert!(matches!(first, Ok(6) | Err(LinkError::Refused { .. })), "{options:?}: {first:?}");
        match count(&link).await {
            Ok(counted) => assert_eq!((counted, &*sent(&redis, &link).await?), (6, "EVALSHA"), "{options:?}"),
            // The full server; its step needs memory.
            Err(LinkError::Refused { code, .. }) => assert_eq!(code, "OOM", "{options:?}"),
            Err(other) => return Err(other.into()),
        }
        redis.command::<()>(&["SCRIPT", "FLUSH"]).await?;
        assert!(link.run::<String>(&LOOK, &[b"n"], &[]).await.is_ok(), "{options:?}");
    }
    Ok(())
}

/// Functions are refused as a whole by a full server, unless they say that they work then.
#[tokio::test]
async fn full_server_runs_what_only_reads() -> Result<()> {
    let redis = Redis::start(RedisOptions::new()).await?;
    let link = open(&redis).await?;
    assert_eq!(count(&link).await?, 6);
    redis.command::<()>(&["CONFIG", "SET", "maxmemory", "1"]).await?;
    let refused = count(&link).await;
    assert!(matches!(&refused, Err(LinkError::Refused { code, .. }) if code == "OOM"), "{refused:?}");
    assert_eq!(link.run::<String>(&LOOK, &[b"n"], &[]).await?, "6");
    Ok(())
}
