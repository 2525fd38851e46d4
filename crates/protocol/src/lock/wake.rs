//! How a waiting process is notified that a lock may be free.

use super::redis::sides;
use super::steps::{Call, WakeListener};
use async_trait::async_trait;
use evenkeel_link::{Notification, Subscription, Token};
use tokio::sync::watch;

/// An embedded store counts its releases.
#[async_trait]
impl WakeListener for watch::Receiver<u64> {
    async fn called(&mut self, _process: Token) -> Call {
        // The sender cannot be dropped, because the store lives as long as its locks are waited for.
        let _ = self.changed().await;
        Call::You
    }
}

/// On Redis a release is a message with the process that released and the process that is notified.
pub(super) struct ReleaseMessages(pub(super) Subscription);

#[async_trait]
impl WakeListener for ReleaseMessages {
    async fn called(&mut self, process: Token) -> Call {
        // `None`: the link is closed; the next attempt returns the error.
        while let Some(Notification::Message(message)) = self.0.next().await {
            let (from, called) = sides(&message);
            // The local queue already knows of the releases of this process.
            if from != process.as_bytes() {
                let is_called = called.is_empty() || called == process.as_bytes();
                return if is_called { Call::You } else { Call::Another };
            }
        }
        Call::You
    }
}

/// Messages of a pool contain the owners whose turn it is; an empty one is for all waiters.
pub(super) struct TurnMessages(pub(super) Subscription);

#[async_trait]
impl WakeListener for TurnMessages {
    async fn called(&mut self, owner: Token) -> Call {
        let is_meant = |names: &[u8]| names.is_empty() || names.chunks(16).any(|name| name == owner.as_bytes());
        while let Some(Notification::Message(names)) = self.0.next().await
            && !is_meant(&names)
        {}
        Call::You
    }
}
