//! The steps of all locks of a keel, over whatever it keeps its state in; and the notification that a lock is free.

use super::error::LockError;
use super::memory::MemoryLock;
use super::name::LockName;
#[cfg(feature = "sql")]
use super::other::{Listener, OtherStore};
use super::redis::RedisLock;
use super::redlock::{QuorumLock, RedlockListener};
use super::steps::{Acquire, Acquired, Fence, Holder, LockSteps, Release, Released, Renewed};
use crate::link::{Heard, Subscription};
use crate::token::Token;
use tokio::sync::watch;

/// Bytes of a process's name in a message.
const PROCESS_BYTES: usize = 16;

/// Where the locks of a keel are. Cheap to clone.
#[derive(Clone)]
pub(crate) enum LockStore {
    /// In this process.
    Memory(MemoryLock),
    /// On one Redis.
    Redis(RedisLock),
    /// Anywhere else: in a database, say.
    #[cfg(feature = "sql")]
    Other(std::sync::Arc<dyn OtherStore>),
    /// On several servers.
    Redlock(QuorumLock),
}

/// Is notified when a lock may be free.
pub(super) enum WakeListener {
    Memory(watch::Receiver<u64>),
    Redis(Subscription),
    #[cfg(feature = "sql")]
    Other(Box<dyn Listener>),
    Redlock(RedlockListener),
    /// Receives the names of the waiters whose turn it is, this one among them.
    Named(Subscription, Token),
}

impl LockStore {
    /// Subscribes: from now on it is notified when another holder gives the lock back.
    pub(super) async fn listen(&self, name: &LockName) -> Result<WakeListener, LockError> {
        Ok(match self {
            Self::Memory(memory) => WakeListener::Memory(memory.listen()),
            Self::Redis(redis) => WakeListener::Redis(redis.listen(name).await?),
            #[cfg(feature = "sql")]
            Self::Other(other) => WakeListener::Other(other.listen(name)),
            Self::Redlock(quorum) => WakeListener::Redlock(quorum.listen(name).await?),
        })
    }

    /// The names that are not free, sorted.
    pub(super) async fn held(&self) -> Result<Vec<LockName>, LockError> {
        match self {
            Self::Memory(memory) => Ok(memory.held()),
            Self::Redis(redis) => redis.held().await,
            #[cfg(feature = "sql")]
            Self::Other(other) => other.held().await,
            Self::Redlock(quorum) => quorum.held().await,
        }
    }
}

/// Which process was notified that the lock may be free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    /// This process, or everybody.
    You,
    /// Another process that waits.
    Another,
}

impl WakeListener {
    /// Ready when the lock may be free: it was given back elsewhere, or that may have been missed.
    pub(super) async fn called(&mut self, process: Token) -> Call {
        match self {
            // The store lives as long as its locks are waited for.
            Self::Memory(news) => drop(news.changed().await),
            // `None`: the link is closed; the next attempt says so.
            Self::Redis(subscription) => {
                while let Some(Heard::Message(news)) = subscription.next().await {
                    let (from, called) = sides(&news);
                    // What this process gives back its own queue knows of already.
                    if from != process.as_bytes() {
                        return if called.is_empty() || called == process.as_bytes() {
                            Call::You
                        } else {
                            Call::Another
                        };
                    }
                }
            }
            #[cfg(feature = "sql")]
            Self::Other(listener) => listener.woken().await,
            Self::Redlock(listener) => listener.woken(process).await,
            // An empty message is for everybody.
            Self::Named(subscription, owner) => {
                let is_meant = |names: &[u8]| names.is_empty() || names.chunks(16).any(|name| name == owner.as_bytes());
                while let Some(Heard::Message(names)) = subscription.next().await
                    && !is_meant(&names)
                {}
            }
        }
        Call::You
    }
}

/// Who gave a lock back, and who was called, if not everybody.
pub(super) fn sides(news: &[u8]) -> (&[u8], &[u8]) {
    news.split_at_checked(PROCESS_BYTES).unwrap_or((news, &[]))
}

macro_rules! step {
    ($self:ident, $steps:ident => $call:expr) => {
        match $self {
            LockStore::Memory($steps) => $call.await,
            LockStore::Redis($steps) => $call.await,
            #[cfg(feature = "sql")]
            LockStore::Other(other) => {
                let $steps = &**other;
                $call.await
            }
            LockStore::Redlock($steps) => $call.await,
        }
    };
}

impl LockSteps for LockStore {
    async fn acquire(&self, name: &LockName, call: &Acquire) -> Result<Acquired, LockError> {
        step!(self, steps => steps.acquire(name, call))
    }

    async fn renew(&self, name: &LockName, owner: Token, lease_ms: u64) -> Result<Renewed, LockError> {
        step!(self, steps => steps.renew(name, owner, lease_ms))
    }

    async fn release(&self, name: &LockName, call: Release) -> Result<Released, LockError> {
        step!(self, steps => steps.release(name, call))
    }

    async fn raise(&self, name: &LockName, owner: Token, seen: Fence) -> Result<Option<Fence>, LockError> {
        step!(self, steps => steps.raise(name, owner, seen))
    }

    async fn inspect(&self, name: &LockName) -> Result<Option<Holder>, LockError> {
        step!(self, steps => steps.inspect(name))
    }

    async fn break_lock(&self, name: &LockName, seen: Option<Fence>) -> Result<Option<Holder>, LockError> {
        step!(self, steps => steps.break_lock(name, seen))
    }
}
