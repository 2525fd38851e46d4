//! Many commands at once: their order, their limit, and dropped callers.

use super::harness::{begin, cmd, link, server};
use anyhow::Result;
use evenkeel::link::LinkError;
use redis::Pipeline;
use std::pin::pin;

// shows: L6
#[tokio::test]
async fn commands_on_one_key_keep_their_order() -> Result<()> {
    let redis = server().await?;
    let link = link(&format!("{}?connections=4", redis.url())).await?;
    let keys = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let mut begun = Vec::new();
    for digit in "0123456789".repeat(10).chars() {
        for key in keys {
            let (link, command) = (link.clone(), cmd(&["APPEND", key, &digit.to_string()]));
            let mut call = Box::pin(async move { link.command(key.as_bytes(), &command).await });
            assert!(!begin(call.as_mut()));
            begun.push(call);
        }
    }
    for call in begun {
        call.await?;
    }
    for key in keys {
        assert_eq!(link.get(key.as_bytes()).await?.as_deref(), Some("0123456789".repeat(10).as_bytes()), "{key}");
    }
    Ok(())
}

// shows: L9, link::Link::command, link::Link::get, link::Link::pipeline, link::Link::run, link::Epoch::command
// shows: link::Epoch::pipeline, link::Epoch::run
#[tokio::test]
async fn command_above_the_limit_is_rejected_at_once() -> Result<()> {
    let redis = server().await?;
    let link = link(&format!("{}?in_flight_max=4", redis.url())).await?;
    let mut waiting: Vec<_> = (0..4).map(|_| Box::pin(link.get(b"k"))).collect();
    for call in &mut waiting {
        assert!(!begin(call.as_mut()));
    }
    let error = link.get(b"k").await.unwrap_err();
    assert!(matches!(error, LinkError::Busy { limit: 4 }) && error.is_retryable(), "{error}");
    for call in waiting {
        assert_eq!(call.await?, None);
    }
    assert_eq!(link.get(b"k").await?, None);
    Ok(())
}

// shows: L9
#[tokio::test]
async fn batch_above_the_bound_is_sent_alone() -> Result<()> {
    let redis = server().await?;
    let link = link(&format!("{}?in_flight_max=4", redis.url())).await?;
    let mut batch = Pipeline::new();
    (0..10).for_each(|_| {
        batch.cmd("INCR").arg("n");
    });
    assert_eq!(link.pipeline(b"n", &batch).await?.len(), 10);
    let mut other = pin!(link.get(b"k"));
    assert!(!begin(other.as_mut()));
    assert!(matches!(link.pipeline(b"n", &batch).await, Err(LinkError::Busy { .. })));
    other.await?;
    Ok(())
}

/// A dropped caller must neither occupy a place among the commands in flight nor leave a reply for the next caller.
// shows: L10
#[tokio::test]
async fn dropped_callers_do_not_disturb_others() -> Result<()> {
    let redis = server().await?;
    let link = link(&format!("{}?in_flight_max=1", redis.url())).await?;
    link.command(b"a", &cmd(&["MSET", "a", "of a", "b", "of b"])).await?;
    for _ in 0..50 {
        let mut left = Box::pin(link.get(b"a"));
        assert!(!begin(left.as_mut()));
        drop(left);
        assert_eq!(link.get(b"b").await?.as_deref(), Some(&b"of b"[..]));
    }
    Ok(())
}
