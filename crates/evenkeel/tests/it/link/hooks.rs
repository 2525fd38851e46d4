//! What happens on a new epoch before its first command.

use super::harness::{cmd, cut, down, epoch_after, link, no_clients, server};
use anyhow::Result;
use evenkeel::link::{Epoch, Link, LinkError, LinkState};
use evenkeel_link::EpochHook;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;
use tokio::sync::{Notify, watch};

/// Writes a key on the new epoch and notes the link's state at that time; fails the first `failures` times.
struct Hook {
    state: watch::Receiver<LinkState>,
    failures: AtomicU32,
    seen: std::sync::Mutex<Vec<LinkState>>,
}

impl Hook {
    fn on(link: &Link, failures: u32) -> Arc<Self> {
        let failures = AtomicU32::new(failures);
        let hook = Arc::new(Self { state: link.state(), failures, seen: std::sync::Mutex::default() });
        link.before_open(&hook);
        hook
    }

    fn seen(&self) -> Vec<LinkState> {
        self.seen.lock().unwrap().clone()
    }
}

impl EpochHook for Hook {
    fn open<'a>(&'a self, epoch: &'a Epoch) -> Pin<Box<dyn Future<Output = Result<(), LinkError>> + Send + 'a>> {
        Box::pin(async move {
            self.seen.lock().unwrap().push(self.state.borrow().clone());
            epoch.command(b"hook", &cmd(&["SET", "hook", &epoch.number().to_string()])).await?;
            match self.failures.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)) {
                Ok(_) => Err(LinkError::Unexpected("not yet".to_owned())),
                Err(_) => Ok(()),
            }
        })
    }
}

/// The cache replays its recent invalidations here. If the epoch were open before, a hit could serve a value that they
/// ended.
// shows: L4
#[tokio::test]
async fn hook_completes_before_the_first_command() -> Result<()> {
    let redis = server().await?;
    let link = link(&redis.url()).await?;
    let hook = Hook::on(&link, 0);
    assert!(hook.seen().is_empty(), "the first epoch was open before the hook was registered");
    cut(&redis).await?;
    epoch_after(&link, 1).await?;
    assert_eq!(link.get(b"hook").await?.as_deref(), Some(&b"2"[..]));
    assert!(matches!(&hook.seen()[..], [LinkState::Down { .. }]), "{:?}", hook.seen());
    Ok(())
}

// shows: L2, L4
#[tokio::test]
async fn failing_hook_keeps_the_link_closed() -> Result<()> {
    let redis = server().await?;
    let link = link(&redis.url()).await?;
    let hook = Hook::on(&link, 3);
    cut(&redis).await?;
    down(&link, "a step before opening failed").await?;
    assert!(matches!(link.get(b"k").await, Err(LinkError::Down { .. })));
    epoch_after(&link, 1).await?;
    let seen = hook.seen();
    assert!(seen.len() == 4 && seen.iter().all(|state| !state.is_up()), "{seen:?}");
    Ok(())
}

/// Panics on the first new epoch.
struct Panicking(AtomicU32);

impl EpochHook for Panicking {
    fn open<'a>(&'a self, _: &'a Epoch) -> Pin<Box<dyn Future<Output = Result<(), LinkError>> + Send + 'a>> {
        assert!(self.0.fetch_add(1, SeqCst) > 0, "a bug in a hook");
        Box::pin(async { Ok(()) })
    }
}

// shows: L1
#[tokio::test]
async fn panicking_hook_does_not_end_supervision() -> Result<()> {
    let redis = server().await?;
    let link = link(&redis.url()).await?;
    let hook = Arc::new(Panicking(AtomicU32::new(0)));
    link.before_open(&hook);
    cut(&redis).await?;
    epoch_after(&link, 1).await?;
    assert_eq!(hook.0.load(SeqCst), 2);
    Ok(())
}

/// Waits in the hook until released, and reports its arrival.
#[derive(Default)]
struct Waiting {
    arrived: Notify,
    go_on: Notify,
}

impl EpochHook for Waiting {
    fn open<'a>(&'a self, _: &'a Epoch) -> Pin<Box<dyn Future<Output = Result<(), LinkError>> + Send + 'a>> {
        Box::pin(async {
            self.arrived.notify_one();
            self.go_on.notified().await;
            Ok(())
        })
    }
}

/// A link that was shut down while an epoch was being opened published it nevertheless, and remained open.
// shows: L10
#[tokio::test]
async fn closed_link_does_not_reconnect() -> Result<()> {
    let redis = server().await?;
    let link = link(&redis.url()).await?;
    let hook = Arc::new(Waiting::default());
    link.before_open(&hook);
    cut(&redis).await?;
    hook.arrived.notified().await;
    link.shutdown(Duration::ZERO).await;
    hook.go_on.notify_one();
    no_clients(&redis).await?;
    assert_eq!(*link.state().borrow(), LinkState::Closed);
    assert!(matches!(link.get(b"k").await, Err(LinkError::Down { .. })));
    Ok(())
}

#[tokio::test]
async fn dropped_hook_does_not_run() -> Result<()> {
    let redis = server().await?;
    let link = link(&redis.url()).await?;
    drop(Hook::on(&link, 1000));
    cut(&redis).await?;
    epoch_after(&link, 1).await?;
    assert_eq!(link.get(b"hook").await?, None);
    Ok(())
}
