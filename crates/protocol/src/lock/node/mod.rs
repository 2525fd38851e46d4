//! One server of a Redlock, as the `Redlock` uses it.

pub mod memory;
pub mod redis;

use self::memory::MemoryNode;
use self::redis::RedisNode;
use super::error::LockError;
use super::name::LockName;
use super::redis::sides;
use super::steps::{Acquire, Acquired, Fence, Holder, LockSteps, Release, Released, Renewed};
use evenkeel_link::{Heard, Subscription, Token};
use tokio::sync::watch;

/// One server. Cheap to clone.
#[derive(Clone)]
pub enum Node {
    /// A model of a server in this process.
    Memory(MemoryNode),
    /// A Redis server.
    Redis(RedisNode),
}

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
pub enum Standing {
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

/// Receives one server's notifications about a lock.
pub enum NodeListener {
    /// The release counter of a model.
    Memory(watch::Receiver<u64>),
    /// The messages of a Redis server.
    Redis(Subscription),
}

type Reply<T> = Result<T, LockError>;

macro_rules! locks {
    ($self:ident, $locks:ident => $call:expr) => {
        match $self {
            Node::Memory(node) => {
                let $locks = node.locks();
                $call.await
            }
            Node::Redis(node) => {
                let $locks = node.locks()?;
                $call.await
            }
        }
    };
}

impl Node {
    /// Acquires the lock here, if this server is a member. `rejoins`: as the holder of a lock that this server does not have.
    pub async fn acquire(&self, name: &LockName, call: &Acquire, rejoins: bool) -> Reply<Vote> {
        match self {
            Self::Memory(node) => node.acquire(name, call, rejoins).await,
            Self::Redis(node) => node.acquire(name, call, rejoins).await,
        }
    }

    /// [`LockSteps::renew`].
    pub async fn renew(&self, name: &LockName, owner: Token, lease_ms: u64) -> Reply<Renewed> {
        locks!(self, locks => locks.renew(name, owner, lease_ms))
    }

    /// Releases the lock here. `buries`: a delayed rejoin of this owner is rejected for so many ms.
    pub async fn release(&self, name: &LockName, call: Release, buries: Option<u64>) -> Reply<Released> {
        match (self, buries) {
            (Self::Memory(node), Some(_)) => node.add_tombstone(call.owner),
            (Self::Redis(node), Some(buried_ms)) => return node.release_and_bury(name, call, buried_ms).await,
            (_, None) => {}
        }
        locks!(self, locks => locks.release(name, call))
    }

    /// [`LockSteps::raise`].
    pub async fn raise(&self, name: &LockName, owner: Token, seen: Fence) -> Reply<Option<Fence>> {
        locks!(self, locks => locks.raise(name, owner, seen))
    }

    /// [`LockSteps::inspect`].
    pub async fn inspect(&self, name: &LockName) -> Reply<Option<Holder>> {
        locks!(self, locks => locks.inspect(name))
    }

    /// [`LockSteps::break_lock`].
    pub async fn break_lock(&self, name: &LockName, seen: Fence) -> Reply<Option<Holder>> {
        locks!(self, locks => locks.break_lock(name, Some(seen)))
    }

    /// [`LockSteps::held`].
    pub async fn held(&self) -> Reply<Vec<LockName>> {
        match self {
            Self::Memory(node) => Ok(node.locks().held()),
            Self::Redis(node) => node.locks()?.held().await,
        }
    }

    /// Its membership; creates its mark if it has none.
    pub async fn stand(&self, sit_out_ms: u64) -> Reply<Standing> {
        match self {
            Self::Memory(node) => Ok(node.stand(sit_out_ms)),
            Self::Redis(node) => node.stand(sit_out_ms).await,
        }
    }

    /// Makes it a member whose fencing tokens are above `floor`; `false` if its mark has changed.
    pub async fn admit(&self, mark: Mark, floor: u64) -> Reply<bool> {
        match self {
            Self::Memory(node) => Ok(node.admit(mark, floor)),
            Self::Redis(node) => node.admit(mark, floor).await,
        }
    }

    /// The highest fencing token that it has stored, of all names.
    pub async fn fence_max(&self) -> Reply<u64> {
        match self {
            Self::Memory(node) => Ok(node.fence_max()),
            Self::Redis(node) => node.fence_max().await,
        }
    }

    /// Subscribes to this server's notifications about a lock.
    pub async fn listen(&self, name: &LockName) -> Reply<NodeListener> {
        Ok(match self {
            Self::Memory(node) => NodeListener::Memory(node.locks().listen()),
            Self::Redis(node) => NodeListener::Redis(node.locks()?.subscribe(name).await?),
        })
    }
}

impl NodeListener {
    /// The next message of another process: `true` for a message, `false` if messages may have been lost.
    pub async fn next(&mut self, process: Token) -> bool {
        match self {
            Self::Memory(releases) => releases.changed().await.is_ok(),
            Self::Redis(subscription) => loop {
                match subscription.next().await {
                    // The waiter that this server called is ignored, because other servers may call other waiters.
                    Some(Heard::Message(message)) if sides(&message).0 == process.as_bytes() => {}
                    Some(Heard::Message(_)) => return true,
                    Some(Heard::Reset) | None => return false,
                }
            },
        }
    }
}
