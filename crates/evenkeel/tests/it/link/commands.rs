//! Commands, scripts and pipelines on a server that is well.

use super::harness::{cmd, link, server};
use anyhow::Result;
use evenkeel::link::{LinkError, Script};
use redis::{Pipeline, Value};

static COUNT: Script = Script::new("count-1", "return redis.call('INCRBY', KEYS[1], ARGV[1])");
static NOW: Script = Script::new("now-1", "return now_ms()");

#[tokio::test]
async fn a_value_is_read_as_it_was_written() -> Result<()> {
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

#[tokio::test]
async fn a_script_survives_a_script_flush() -> Result<()> {
    let redis = server().await?;
    let link = link(&redis.url()).await?;
    assert_eq!(link.run::<i64>(&COUNT, &[b"n"], &[b"2"]).await?, 2);
    redis.command::<()>(&["SCRIPT", "FLUSH"]).await?;
    assert_eq!(link.run::<i64>(&COUNT, &[b"n"], &[b"3"]).await?, 5);
    Ok(())
}

#[tokio::test]
async fn a_pipeline_answers_each_command() -> Result<()> {
    let redis = server().await?;
    let link = link(&redis.url()).await?;
    let mut pipeline = Pipeline::new();
    pipeline.cmd("SET").arg("a").arg(1).cmd("LPOP").arg("a").cmd("INCR").arg("a");
    let answers = link.pipeline(b"a", &pipeline).await?;
    assert!(matches!(&answers[..], [Value::Okay, Value::ServerError(_), Value::Int(2)]), "{answers:?}");
    assert!(link.pipeline(b"a", &Pipeline::new()).await?.is_empty());
    Ok(())
}

#[tokio::test]
async fn scripts_take_time_from_the_key_that_a_test_sets() -> Result<()> {
    let redis = server().await?;
    let link = link(&redis.url()).await?;
    let free: u64 = link.run(&NOW, &[b"suite:x"], &[]).await?;
    assert!(free > 1_700_000_000_000);
    redis.command::<()>(&["SET", "suite:test:now_ms", "1234567890123"]).await?;
    assert_eq!(link.run::<u64>(&NOW, &[b"suite:x"], &[]).await?, 1_234_567_890_123);
    assert_ne!(link.run::<u64>(&NOW, &[b"other:x"], &[]).await?, 1_234_567_890_123);
    Ok(())
}
