//! Commands, scripts and pipelines on a server that is well.

use super::harness::{cmd, link, server};
use anyhow::Result;
use evenkeel::clock::Clock;
use evenkeel::link::{Link, LinkError, LinkOptions, Script};
use evenkeel::testing::TestClock;
use redis::{Pipeline, Value};
use std::time::Duration;

static COUNT: Script = Script::new("count-1", "return redis.call('INCRBY', KEYS[1], ARGV[1])");
static NOW: Script = Script::new("now-1", "return now_ms(KEYS[1])");
static BROKEN: Script = Script::new("broken-1", "return redis.call('NOSUCH', KEYS[1])");
static WORDS: Script = Script::new("words-1", "return {'a', 'b'}");

#[tokio::test]
async fn written_value_is_read_back() -> Result<()> {
    let redis = server().await?;
    let link = link(&redis.url()).await?;
    assert_eq!(link.get(b"k").await?, None);
    link.command(b"k", &cmd(&["SET", "k", "v"])).await?;
    assert_eq!(link.get(b"k").await?.as_deref(), Some(&b"v"[..]));
    link.command(b"k", &cmd(&["LPUSH", "list", "x"])).await?;
    let refused = link.get(b"list").await;
    assert!(matches!(&refused, Err(LinkError::Refused { code, .. }) if code == "WRONGTYPE"), "{refused:?}");
    Ok(())
}

// shows: L4
#[tokio::test]
async fn scripts_are_loaded_before_the_first_call() -> Result<()> {
    let redis = server().await?;
    let options = LinkOptions::from_url(&redis.url())?.with_scripts([&COUNT, &NOW]);
    let _link = Link::connect(options, Clock::system()).await?;
    let stats: String = redis.command(&["INFO", "memory"]).await?;
    assert!(stats.contains("number_of_cached_scripts:2"), "{stats}");
    Ok(())
}

/// `SCRIPT FLUSH` by an operator makes the server forget what every client loaded; without the second call everything built on
/// scripts fails until the next reconnect.
#[tokio::test]
async fn script_survives_a_script_flush() -> Result<()> {
    let redis = server().await?;
    let link = link(&redis.url()).await?;
    assert_eq!(link.run::<i64>(&COUNT, &[b"n"], &[b"2"]).await?, 2);
    redis.command::<()>(&["SCRIPT", "FLUSH"]).await?;
    assert_eq!(link.run::<i64>(&COUNT, &[b"n"], &[b"3"]).await?, 5);
    Ok(())
}

// shows: link::Link::command, link::Link::get, link::Link::pipeline, link::Link::run, link::Epoch::command
// shows: link::Epoch::pipeline, link::Epoch::run
#[tokio::test]
async fn failing_script_returns_its_error() -> Result<()> {
    let redis = server().await?;
    let link = link(&redis.url()).await?;
    let error = link.run::<i64>(&BROKEN, &[b"n"], &[]).await.unwrap_err();
    assert!(matches!(&error, LinkError::Refused { .. }) && !error.is_retryable(), "{error}");
    let error = link.run::<i64>(&WORDS, &[b"n"], &[]).await.unwrap_err();
    assert!(matches!(&error, LinkError::Unexpected(text) if text.contains("words-1")), "{error}");
    Ok(())
}

// shows: link::Link::command, link::Link::get, link::Link::pipeline, link::Link::run, link::Epoch::command
// shows: link::Epoch::pipeline, link::Epoch::run
#[tokio::test]
async fn pipeline_returns_one_reply_per_command() -> Result<()> {
    let redis = server().await?;
    let link = link(&redis.url()).await?;
    let mut pipeline = Pipeline::new();
    pipeline.cmd("SET").arg("a").arg(1).cmd("LPOP").arg("a").cmd("INCR").arg("a");
    let answers = link.pipeline(b"a", &pipeline).await?;
    assert!(matches!(&answers[..], [Value::Okay, Value::ServerError(_), Value::Int(2)]), "{answers:?}");
    assert!(link.pipeline(b"a", &Pipeline::new()).await?.is_empty());
    pipeline.atomic();
    assert!(matches!(link.pipeline(b"a", &pipeline).await, Err(LinkError::Options(_))));
    Ok(())
}

#[tokio::test]
async fn scripts_read_time_from_the_test_key() -> Result<()> {
    let redis = server().await?;
    let link = link(&redis.url()).await?;
    let free: u64 = link.run(&NOW, &[b"suite:x"], &[]).await?;
    assert!(free > 1_700_000_000_000);
    redis.command::<()>(&["SET", "suite:test:now_ms", "1234567890123"]).await?;
    assert_eq!(link.run::<u64>(&NOW, &[b"suite:x"], &[]).await?, 1_234_567_890_123);
    assert_ne!(link.run::<u64>(&NOW, &[b"other:x"], &[]).await?, 1_234_567_890_123);
    Ok(())
}

/// The estimate may be off by the round trip; the bounds here are those of the test's own requests before and after.
#[tokio::test]
async fn server_time_is_estimated_without_a_request() -> Result<()> {
    let redis = server().await?;
    let link = link(&redis.url()).await?;
    let before: u64 = link.run(&NOW, &[b"x"], &[]).await?;
    let estimated = link.server_now_ms();
    let after: u64 = link.run(&NOW, &[b"x"], &[]).await?;
    let slack = 2 * (after - before) + 500;
    assert!(estimated.abs_diff(before) <= slack, "{before} {estimated} {after}");
    Ok(())
}

#[tokio::test]
async fn test_clock_stands_in_for_the_server_time() -> Result<()> {
    let redis = server().await?;
    let hand = TestClock::default();
    let link = Link::connect(LinkOptions::from_url(&redis.url())?, hand.clock()).await?;
    let start = hand.clock().unix_ms();
    assert_eq!(link.server_now_ms(), start);
    hand.advance(Duration::from_secs(60));
    assert_eq!(link.server_now_ms(), start + 60_000);
    Ok(())
}

#[tokio::test]
async fn prefix_comes_from_the_url() -> Result<()> {
    let redis = server().await?;
    assert_eq!(link(&redis.url()).await?.prefix(), "evenkeel");
    assert_eq!(link(&format!("{}?prefix=shop", redis.url())).await?.prefix(), "shop");
    Ok(())
}
