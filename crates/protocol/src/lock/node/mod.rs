//! One server of a Redlock, as the `Redlock` uses it.

pub mod memory;
pub mod redis;

use super::error::{LockError, Unreached};
use super::name::LockName;
use super::redis::sides;
use super::steps::{Acquire, Acquired, Fence, Holder, LockSteps, Release, Released, Renewed};
use async_trait::async_trait;
use evenkeel_link::{Notification, Subscription, Token};
use std::time::Duration;
use tokio::sync::watch;

/// A server's reply to an acquisition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vote {
    /// It is a member; its reply counts.
    Counts(Acquired),
    /// It is not a member, because it may have lost locks.
    Outsider,
}

/// The membership of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Membership {
    /// It is a member.
    Member,
    /// It is excluded.
    Out {
        /// The remaining time of its exclusion.
        left_ms: u64,
        /// Its mark.
        mark: Mark,
    },
}

/// Identifies the data set of a server: created when the server is first seen, and again after a restart or a flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(pub(crate) u64);

type Reply<T> = Result<T, LockError>;

/// One server.
#[async_trait]
pub trait Node: Send + Sync {
    /// Acquires the lock here, if this server is a member. `rejoins`: as the holder of a lock that this server does not have.
    async fn acquire(&self, name: &LockName, call: &Acquire, rejoins: bool) -> Reply<Vote>;
    /// Releases the lock here. `tombstone_ms`: a delayed rejoin of this owner is rejected for so many ms.
    async fn release(&self, name: &LockName, call: Release, tombstone_ms: Option<u64>) -> Reply<Released>;
    /// Its membership; creates its mark if it has none.
    async fn membership(&self, sit_out_ms: u64) -> Reply<Membership>;
    /// Makes it a member whose fencing tokens are above `floor`; `false` if its mark has changed.
    async fn admit(&self, mark: Mark, floor: u64) -> Reply<bool>;
    /// The highest fencing token of all names that the server has stored.
    async fn fence_max(&self) -> Reply<u64>;
    /// Subscribes to this server's notifications about a lock.
    async fn listen(&self, name: &LockName) -> Reply<Box<dyn NodeListener>>;
    /// The steps of its locks, for the calls that do not depend on its membership.
    fn locks(&self) -> Reply<Box<dyn LockSteps>>;

    /// [`LockSteps::renew`].
    async fn renew(&self, name: &LockName, owner: Token, lease_ms: u64) -> Reply<Renewed> {
        self.locks()?.renew(name, owner, lease_ms).await
    }
    /// [`LockSteps::raise`].
    async fn raise(&self, name: &LockName, owner: Token, seen: Fence) -> Reply<Option<Fence>> {
        self.locks()?.raise(name, owner, seen).await
    }
    /// [`LockSteps::inspect`].
    async fn inspect(&self, name: &LockName) -> Reply<Option<Holder>> {
        self.locks()?.inspect(name).await
    }
    /// [`LockSteps::break_lock`].
    async fn break_lock(&self, name: &LockName, seen: Fence) -> Reply<Option<Holder>> {
        self.locks()?.break_lock(name, Some(seen)).await
    }
    /// [`LockSteps::held`].
    async fn held(&self) -> Reply<Vec<LockName>> {
        self.locks()?.held().await
    }

    /// [`LockSteps::eviction`].
    async fn eviction(&self) -> Reply<Option<(String, String)>> {
        self.locks()?.eviction().await
    }

    /// Connects to it, unless it is connected.
    async fn connect(&self) {}
    /// Closes its connections.
    async fn shutdown(&self, _deadline: Duration) {}
    /// Whether it was ever reached.
    fn is_connected(&self) -> bool {
        true
    }
    /// Why it has no connection; `None` if it has one.
    fn unreached(&self) -> Option<Unreached> {
        None
    }
    /// Whether the tokio runtime of its link has ended.
    fn has_runtime_ended(&self) -> bool {
        false
    }
    /// Loses all state, if it is in this process.
    #[cfg(feature = "testing")]
    fn forget(&self) {}
}

/// Receives one server's notifications about a lock.
#[async_trait]
pub trait NodeListener: Send {
    /// The next message of another process: `true` for a message, `false` if messages may have been lost.
    async fn next(&mut self, process: Token) -> bool;
}

/// The release counter of a model.
#[async_trait]
impl NodeListener for watch::Receiver<u64> {
    async fn next(&mut self, _process: Token) -> bool {
        self.changed().await.is_ok()
    }
}

/// The messages of a Redis server.
#[async_trait]
impl NodeListener for Subscription {
    async fn next(&mut self, process: Token) -> bool {
        loop {
            match Self::next(self).await {
                // The waiter that this server called is ignored, because other servers may call other waiters.
                Some(Notification::Message(message)) if sides(&message).0 == process.as_bytes() => {}
                Some(Notification::Message(_)) => return true,
                Some(Notification::Reset) | None => return false,
            }
        }
    }
}
