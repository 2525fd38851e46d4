//! A keel that outlives the tokio runtime it was built on, as a static one does in a suite of `#[tokio::test]` functions.

use crate::link::harness::{no_clients, server};
use anyhow::Result;
use evenkeel::Keel;
use evenkeel::link::{LinkError, LinkState};
use evenkeel::lock::{LockError, Redlock};
use evenkeel::queue::QueueError;
use std::convert::Infallible;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

fn runtime(is_shared: bool) -> Runtime {
    let mut builder = if is_shared { Builder::new_multi_thread() } else { Builder::new_current_thread() };
    builder.worker_threads(1).enable_all().build().unwrap()
}

/// Every call returned "the connection was replaced meanwhile", retryable, forever.
// shows: L10, hazard AL5, link::Link::command, link::Link::get
#[test]
fn calls_after_the_runtime_ended_return_that_error() -> Result<()> {
    let servers = runtime(true);
    let redis = servers.block_on(server())?;
    for is_shared in [false, true] {
        let first = runtime(is_shared);
        let keel = first.block_on(Keel::connect(&redis.url()))?;
        let queue = first.block_on(keel.queue::<String>("mail").open())?;
        let guard = first.block_on(keel.lock("stock/42").acquire())?;
        drop(first);
        runtime(is_shared).block_on(every_call(&keel, queue))?;
        // Nothing blocks, and nothing needs the ended runtime.
        drop(guard);
        drop(keel);
        servers.block_on(no_clients(&redis))?;
        servers.block_on(redis.command::<()>(&["FLUSHALL"]))?;
    }
    Ok(())
}

/// "Too few servers answered", retryable, forever.
// shows: hazard AL5
#[test]
fn redlock_after_the_runtime_ended_returns_that_error() -> Result<()> {
    let servers = runtime(true);
    let redis = servers.block_on(server())?;
    let urls = ["a", "b", "c"].map(|prefix| format!("{}?prefix={prefix}", redis.url()));
    let first = runtime(false);
    let redlock = first.block_on(Redlock::connect(&urls.each_ref().map(String::as_str)))?;
    drop(first);
    runtime(false).block_on(async {
        for _ in 0..3 {
            let error = redlock.lock("stock/42").acquire().await.unwrap_err();
            assert!(matches!(error, LockError::Link(LinkError::RuntimeEnded)), "{error}");
            let error = redlock.lock("stock/42").inspect().await.unwrap_err();
            assert!(matches!(error, LockError::Link(LinkError::RuntimeEnded)), "{error}");
        }
    });
    Ok(())
}

async fn every_call(keel: &Keel, queue: evenkeel::queue::Queue<String>) -> Result<()> {
    let link = keel.link().unwrap();
    assert_eq!(*link.state().borrow(), LinkState::Closed);
    for _ in 0..3 {
        let error = link.get(b"k").await.unwrap_err();
        assert!(matches!(error, LinkError::RuntimeEnded), "{error}");
        assert!(!error.is_retryable() && !error.outcome_unknown(), "{error}");
        assert!(error.to_string().contains("`#[tokio::test]`"), "{error}");
    }
    let error = keel.lock("stock/43").acquire().await.unwrap_err();
    assert!(matches!(error, LockError::Link(LinkError::RuntimeEnded)), "{error}");
    let error = queue.now(&"one".to_owned()).await.unwrap_err();
    assert!(matches!(error, QueueError::Link(LinkError::RuntimeEnded)), "{error}");
    let consumer = queue.consume(|_| async { Ok::<_, Infallible>(evenkeel::queue::Handled::Done) });
    let error = consumer.run(std::future::pending()).await.unwrap_err();
    assert!(matches!(error, QueueError::Link(LinkError::RuntimeEnded)), "{error}");
    let rows = keel.cache::<u64, u64>("row").ttl(Duration::from_secs(60)).open().await?;
    let row = rows.get(&7, |id| {
        let id = *id;
        async move { Ok::<_, Infallible>(Some(id)) }
    });
    let row = row.await?;
    assert_eq!(row.as_deref(), Some(&7), "a cache reads through its loader");
    keel.shutdown(Duration::from_secs(1)).await;
    Ok(())
}
