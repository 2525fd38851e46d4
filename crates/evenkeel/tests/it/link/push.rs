//! What the server says unasked: invalidations in order, and messages that outlive connections.

use super::harness::{cut, epoch_after, link, server};
use anyhow::{Context, Result};
use evenkeel::link::{Link, LinkError, Notification, Subscription};
use evenkeel_link::{Push, PushListener};
use redis::{PushKind, Value};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use testkit::eventually;
use testkit::servers::Redis;
use tokio::time::timeout;

/// Notes the keys of invalidations.
#[derive(Default)]
struct Invalidated(Mutex<Vec<String>>);

impl PushListener for Invalidated {
    fn received(&self, push: &Push<'_>) {
        if let (PushKind::Invalidate, [Value::Array(keys)]) = (push.kind, push.data) {
            let keys = keys.iter().map(|key| redis::from_redis_value_ref::<String>(key).unwrap());
            self.0.lock().unwrap().extend(keys);
        }
    }
}

fn tracking(link: &Link) -> Arc<Invalidated> {
    let invalidated = Arc::new(Invalidated::default());
    link.listen(&invalidated);
    invalidated
}

// shows: L7, link::Link::get_tracked, link::Link::get_tracked_many
#[tokio::test]
async fn pushes_arrive_in_the_order_of_the_writes() -> Result<()> {
    let redis = server().await?;
    let link = link(&redis.url()).await?;
    let invalidated = tracking(&link);
    let keys: Vec<String> = (0..200).map(|number| format!("k{number}")).collect();
    for key in &keys {
        link.get_tracked(key.as_bytes()).await?;
    }
    for key in &keys {
        redis.command::<()>(&["SET", key, "v"]).await?;
    }
    eventually("all invalidations are received", async || (invalidated.0.lock().unwrap().len() == 200).then_some(()))
        .await?;
    assert_eq!(*invalidated.0.lock().unwrap(), keys);
    Ok(())
}

/// A near cache that read the answer first could put the old value in after the push that should have kept it out.
// shows: L7, hazard N4, link::Link::get_tracked, link::Link::get_tracked_many
#[tokio::test]
async fn push_is_delivered_before_a_later_reply() -> Result<()> {
    let redis = server().await?;
    let link = link(&redis.url()).await?;
    let invalidated = tracking(&link);
    for round in 1..=50 {
        link.get_tracked(b"k").await?;
        redis.command::<()>(&["SET", "k", &round.to_string()]).await?;
        assert_eq!(link.get(b"k").await?.as_deref(), Some(round.to_string().as_bytes()));
        assert_eq!(invalidated.0.lock().unwrap().len(), round);
    }
    Ok(())
}

async fn publish(redis: &Redis, channel: &str, message: &str) -> Result<i64> {
    redis.command(&["SPUBLISH", channel, message]).await
}

async fn next(subscription: &mut Subscription) -> Result<Notification> {
    timeout(Duration::from_secs(30), subscription.next()).await.context("nothing was received")?.context("closed")
}

fn message(text: &str) -> Notification {
    Notification::Message(text.to_owned().into())
}

#[tokio::test]
async fn messages_reach_all_subscribers_in_order() -> Result<()> {
    let redis = server().await?;
    let link = link(&redis.url()).await?;
    let mut first = link.subscribe(b"notifications").await?;
    let mut second = link.subscribe(b"notifications").await?;
    let _other = link.subscribe(b"other").await?;
    for text in ["a", "b", "c"] {
        assert_eq!(publish(&redis, "notifications", text).await?, 1, "one connection, however many listen");
    }
    for text in ["a", "b", "c"] {
        assert_eq!(next(&mut first).await?, message(text));
        assert_eq!(next(&mut second).await?, message(text));
    }
    assert_eq!(link.get(b"k").await?, None);
    Ok(())
}

// shows: L8, link::Link::subscribe
#[tokio::test]
async fn subscription_survives_and_reports_a_reconnect() -> Result<()> {
    let redis = server().await?;
    let link = link(&redis.url()).await?;
    let mut notifications = link.subscribe(b"notifications").await?;
    publish(&redis, "notifications", "before").await?;
    assert_eq!(next(&mut notifications).await?, message("before"));
    cut(&redis).await?;
    epoch_after(&link, 1).await?;
    assert_eq!(next(&mut notifications).await?, Notification::Reset);
    assert_eq!(publish(&redis, "notifications", "after").await?, 1);
    assert_eq!(next(&mut notifications).await?, message("after"));
    Ok(())
}

// shows: L8, link::Link::subscribe
#[tokio::test]
async fn slow_subscriber_receives_a_reset() -> Result<()> {
    let redis = server().await?;
    let link = link(&redis.url()).await?;
    let mut notifications = link.subscribe(b"notifications").await?;
    let flood = "for i = 1, 3000 do redis.call('SPUBLISH', 'notifications', i) end";
    redis.command::<()>(&["EVAL", flood, "0"]).await?;
    let mut messages = 0;
    while next(&mut notifications).await? != Notification::Reset {
        messages += 1;
        assert!(messages < 3000, "more was delivered than a subscriber may be behind");
    }
    Ok(())
}

#[tokio::test]
async fn dropped_subscription_is_removed_from_the_server() -> Result<()> {
    let redis = server().await?;
    let link = link(&format!("{}?heartbeat_ms=50", redis.url())).await?;
    let left = link.subscribe(b"left").await?;
    let _stays = link.subscribe(b"stays").await?;
    drop(left);
    eventually("the channel is released", async || {
        let channels: Vec<String> = redis.command(&["PUBSUB", "SHARDCHANNELS"]).await.ok()?;
        (channels == ["stays"]).then_some(())
    })
    .await
}

// shows: L8, link::Link::subscribe
#[tokio::test]
async fn subscribe_fails_while_the_link_is_down() -> Result<()> {
    let mut redis = server().await?;
    let link = link(&redis.url()).await?;
    let mut notifications = link.subscribe(b"notifications").await?;
    redis.kill()?;
    super::harness::down(&link, "").await?;
    assert!(matches!(link.subscribe(b"notifications").await, Err(LinkError::Down { .. })));
    redis.restart().await?;
    assert_eq!(next(&mut notifications).await?, Notification::Reset);
    link.shutdown(Duration::from_secs(1)).await;
    assert_eq!(notifications.next().await, None);
    Ok(())
}
