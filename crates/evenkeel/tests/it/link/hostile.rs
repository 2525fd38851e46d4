//! A user's hook or listener panics or hangs: the link continues, and so do all other callers.

use super::harness::{cmd, cut, epoch_after, link, no_clients, quick_link, server};
use anyhow::Result;
use evenkeel::link::{Epoch, LinkError, Notification};
use evenkeel_link::{EpochHook, Push, PushListener, Tracked};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use testkit::eventually;

/// Panics as often as configured, then does nothing.
struct PanicsAtFirst(AtomicU32);

impl EpochHook for PanicsAtFirst {
    fn open<'a>(&'a self, _: &'a Epoch) -> Pin<Box<dyn Future<Output = Result<(), LinkError>> + Send + 'a>> {
        Box::pin(async move {
            let is_over = self.0.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_err();
            assert!(is_over, "the hook panics");
            Ok(())
        })
    }
}

// shows: hazard AL10
#[tokio::test]
async fn panicking_hook_is_called_again() -> Result<()> {
    let redis = server().await?;
    let link = quick_link(&redis).await?;
    let hook = Arc::new(PanicsAtFirst(AtomicU32::new(2)));
    link.before_open(&hook);
    cut(&redis).await?;
    epoch_after(&link, 1).await?;
    assert_eq!(hook.0.load(SeqCst), 0);
    assert_eq!(link.get(b"k").await?, None);
    drop(link);
    no_clients(&redis).await
}

/// Panics at every notification, and counts them.
#[derive(Default)]
struct Panics(AtomicU32);

impl Panics {
    fn notified(&self) {
        self.0.fetch_add(1, SeqCst);
        panic!("the listener panics");
    }
}

impl PushListener for Panics {
    fn received(&self, _: &Push<'_>) {
        self.notified();
    }

    fn opened(&self, _: u64) {
        self.notified();
    }

    fn ended(&self) {
        self.notified();
    }
}

/// Counts the notifications.
#[derive(Default)]
struct Counts(AtomicU32);

impl PushListener for Counts {
    fn received(&self, _: &Push<'_>) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// It ended the task that reads the socket, at every push anew: every command that was on its way was in doubt.
// shows: hazard AL10
#[tokio::test]
async fn panicking_listener_keeps_the_connection() -> Result<()> {
    let redis = server().await?;
    let link = link(&redis.url()).await?;
    let (panics, counts) = (Arc::new(Panics::default()), Arc::new(Counts::default()));
    link.listen(&panics);
    link.listen(&counts);
    let mut subscription = link.subscribe(b"notifications").await?;
    for round in 1..=20_u32 {
        assert!(matches!(link.get_tracked(b"k").await?, Tracked { .. }));
        redis.command::<()>(&["SET", "k", "v"]).await?;
        link.command(b"notifications", &cmd(&["SPUBLISH", "notifications", "hello"])).await?;
        assert_eq!(subscription.next().await, Some(Notification::Message("hello".into())));
        eventually("the invalidation is received", async || (counts.0.load(SeqCst) >= round).then_some(())).await?;
    }
    assert_eq!(link.epoch().map(|epoch| epoch.number()), Some(1), "the connection lives");
    assert!(panics.0.load(SeqCst) >= 20);
    cut(&redis).await?;
    epoch_after(&link, 1).await?;
    assert_eq!(link.get(b"k").await?.as_deref(), Some(&b"v"[..]));
    Ok(())
}
