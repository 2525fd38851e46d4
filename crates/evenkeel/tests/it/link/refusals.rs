//! The errors for a server that rejects the client, and for a server of another kind.

use super::harness::{cmd, cut, down, link, quick_link, refusal, server};
use anyhow::{Context, Result};
use evenkeel::Keel;
use evenkeel::cache::Cache;
use evenkeel::clock::Clock;
use evenkeel::link::{Epoch, Link, LinkError, LinkOptions};
use evenkeel_link::EpochHook;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use testkit::servers::{OldRedis, Redis, RedisOptions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// The lowest `proto-max-bulk-len` that a server may have.
const LIMIT: usize = 1 << 20;

/// Sends `words` to every client that has sent something, or before that, and closes the connection.
async fn says(words: &'static [u8], is_first: bool) -> Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("redis://{}", listener.local_addr()?);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            if !is_first {
                let _ = stream.read(&mut [0; 1024]).await;
            }
            let _ = stream.write_all(words).await;
        }
    });
    Ok(url)
}

fn reason(error: &LinkError) -> &str {
    match error {
        LinkError::Down { reason, .. } => reason,
        other => panic!("{other:?}"),
    }
}

/// It read "broken pipe", or was taken for a refusal that lasts.
// shows: hazard AL6, keel::Keel::connect_lazy, keel::KeelBuilder::connect_lazy_with, link::Link::connect_lazy
#[tokio::test]
async fn maxclients_error_is_reported_and_retried() -> Result<()> {
    let redis = server().await?;
    // The one client that there may be.
    let mut only = redis.connection().await?;
    redis::cmd("CONFIG").arg("SET").arg("maxclients").arg(1).query_async::<()>(&mut only).await?;
    for _ in 0..20 {
        let error = refusal(&redis.url()).await;
        assert!(reason(&error).contains("`maxclients`"), "{error}");
        assert!(error.is_retryable() && !error.outcome_unknown(), "{error}");
    }
    let lazy = Link::connect_lazy(LinkOptions::from_url(&redis.url())?, Clock::system()).await?;
    down(&lazy, "`maxclients`").await?;
    drop(only);
    lazy.state().wait_for(|state| state.is_up()).await?;
    Ok(())
}

/// It read "Incompatible type - Parse error".
// shows: hazard AL6
#[tokio::test]
async fn http_server_is_named_in_the_error() -> Result<()> {
    let error = refusal(&says(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", false).await?).await;
    assert!(reason(&error).contains("an HTTP server, not Redis (HTTP/1.1 400 Bad Request)"), "{error}");
    Ok(())
}

// shows: hazard AL6
#[tokio::test]
async fn foreign_server_greeting_is_shown_in_the_error() -> Result<()> {
    let error = refusal(&says(b"J\0\0\0\n8.0.36\0", true).await?).await;
    assert!(reason(&error).contains("not Redis (it replied `J"), "{error}");
    Ok(())
}

// shows: hazard AL6
#[tokio::test]
async fn tls_port_is_named_in_the_error() -> Result<()> {
    let redis = Redis::start(RedisOptions::new().tls()).await?;
    let error = refusal(&redis.url().replace("rediss://", "redis://")).await;
    assert!(matches!(&error, LinkError::Down { .. }) && error.is_retryable(), "{error}");
    assert!(!error.to_string().contains("Incompatible"), "{error}");
    Ok(())
}

/// The connection broke, also for the calls of other tasks, and again at each repetition; the reason was lost with it.
// shows: hazard T27
#[tokio::test]
async fn value_above_the_limit_of_the_server_is_not_sent() -> Result<()> {
    let redis = Redis::start(RedisOptions::new().arguments(["--proto-max-bulk-len", "1mb"])).await?;
    let keel = Keel::connect(&redis.url()).await?;
    let link = keel.link().context("it is on Redis")?;
    let epoch = || link.epoch().map(|epoch| epoch.number());
    let began = epoch();
    let set = |bytes: usize| redis::cmd("SET").arg("a").arg(vec![b'x'; bytes]).clone();
    let mut pipeline = redis::pipe();
    pipeline.add_command(set(1)).add_command(set(LIMIT + 1));
    for _ in 0..2 {
        for refused in [
            link.command(b"a", &set(LIMIT + 1)).await.map(drop),
            link.pipeline(b"a", &pipeline).await.map(drop),
            link.blocking().await?.command(&set(LIMIT + 1), Duration::ZERO).await.map(drop),
        ] {
            let error = refused.unwrap_err();
            let text = error.to_string();
            assert!(text.contains("1048577") && text.contains("limit of 1048576 (`proto-max-bulk-len`)"), "{text}");
            assert!(!error.is_retryable() && !error.outcome_unknown(), "{text}");
        }
    }
    link.command(b"a", &set(LIMIT)).await?;

    // Through a queue and a cache.
    let text = "x".repeat(2 * LIMIT);
    let refused = keel.queue::<String>("mail").body_bytes_max(4 * LIMIT).open().await?.now(&text).await.unwrap_err();
    assert!(refused.to_string().contains("proto-max-bulk-len"), "{refused}");
    let cache: Cache<u64, String> = keel.cache("text").ttl(Duration::from_secs(60)).open().await?;
    let load = |_: &u64| {
        let value = text.clone();
        async move { Ok::<_, std::io::Error>(Some(value)) }
    };
    let loaded = cache.get(&1, load).await?;
    assert_eq!(loaded.map(|text| text.len()), Some(text.len()), "a value that cannot be stored is returned");
    assert_eq!(epoch(), began, "no connection broke");
    Ok(())
}

/// It read "unknown command 'HELLO'", without the version that is needed.
// shows: hazard AL6
#[tokio::test]
async fn server_without_hello_is_rejected_with_version() -> Result<()> {
    let redis = server_without_hello().await?;
    let error = refusal(&redis.url()).await;
    assert!(matches!(&error, LinkError::Refused { code, .. } if code == "NOPROTO") && !error.is_retryable(), "{error}");
    assert!(error.to_string().contains("Evenkeel needs Redis 7.0 or Valkey 7.2"), "{error}");
    Ok(())
}

/// Redis 6 speaks RESP3, and rejected the handshake: the error was "Redis refused: ERR syntax error".
// shows: hazard AL14
#[tokio::test]
async fn redis_six_is_rejected_with_the_required_version() -> Result<()> {
    for version in ["6.0.16", "6.2.14"] {
        let redis = OldRedis::start(version).await?;
        let address = redis.url().replace("redis://", "");
        let expected = format!("Redis at {address} is version {version}; Evenkeel needs Redis 7.0 or Valkey 7.2");
        let error = refusal(&redis.url()).await;
        assert_eq!(error.to_string(), expected);
        assert!(!error.is_retryable() && !error.outcome_unknown(), "{error:?}");
        let options = LinkOptions::from_url(&redis.url())?;
        let lazy = Link::connect_lazy(options.clone(), Clock::system()).await.err();
        assert_eq!(lazy.expect("the link was opened").to_string(), expected);
        assert_eq!(Link::check(options).await.unwrap_err().to_string(), expected);
    }
    Ok(())
}

async fn server_without_hello() -> Result<Redis> {
    Redis::start(RedisOptions::new().arguments(["--rename-command", "HELLO", ""])).await
}

/// Without a password the user was ignored, and the default user logged in.
// shows: hazard AL7
#[tokio::test]
async fn user_without_a_password_is_logged_in() -> Result<()> {
    let rules = ["--user", "app", "on", "nopass", "~app:*", "&*", "+@all", "-@dangerous", "+info", "+acl|whoami"];
    let redis = Redis::start(RedisOptions::new().arguments(rules)).await?;
    let socket = redis.folder().join("socket");
    let over_tcp = redis.url().replace("redis://", "redis://app:@");
    for url in [over_tcp, format!("unix://{}?user=app", socket.display())] {
        let link = link(&url).await?;
        let name: String = redis::from_redis_value(link.command(b"k", &cmd(&["ACL", "WHOAMI"])).await?)?;
        assert_eq!(name, "app", "{url}");
        let error = link.command(b"other", &cmd(&["SET", "other", "v"])).await.unwrap_err();
        assert!(matches!(&error, LinkError::Refused { code, .. } if code == "NOPERM"), "{url}: {error}");
    }
    Ok(())
}

/// A step that waits for a reply that does not arrive.
struct Waits;

impl EpochHook for Waits {
    fn open<'a>(&'a self, epoch: &'a Epoch) -> Pin<Box<dyn Future<Output = Result<(), LinkError>> + Send + 'a>> {
        Box::pin(async move { epoch.command(b"k", &cmd(&["BLPOP", "nothing", "0"])).await.map(|_| ()) })
    }
}

/// One sentence said "the command may have happened; nothing was sent": the first half was about another command.
// shows: hazard AL6
#[tokio::test]
async fn error_describes_only_its_own_command() -> Result<()> {
    let redis = server().await?;
    let link = quick_link(&redis).await?;
    let hook = Arc::new(Waits);
    link.before_open(&hook);
    cut(&redis).await?;
    down(&link, "a step before opening failed: no answer from Redis").await?;
    let error = link.get(b"k").await.unwrap_err();
    assert!(error.to_string().ends_with("; nothing was sent"), "{error}");
    assert!(!error.to_string().contains("may have happened"), "{error}");
    Ok(())
}
