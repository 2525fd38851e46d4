//! What is asked for under a name: the lock as a whole, or permits of a pool. The one place where the two part.

use super::error::LockError;
#[cfg(feature = "sql")]
use super::lease::Held;
use super::name::LockName;
use super::pool::steps::{Ask, Asked, Kind, PERMITS_MAX, Pool, PoolSteps, check as check_ask};
use super::steps::{Acquire, Acquired, Fence, LockSteps, Release, Released, Renewed, check};
use super::store::{LockStore, WakeListener};
use crate::link::LinkError;
#[cfg(feature = "sql")]
use crate::sql::SqlError;
use crate::token::Token;

/// How something is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// By one.
    Exclusive,
    /// With other readers.
    Read,
    /// Without any reader.
    Write,
    /// So many permits of a semaphore.
    Permits { wanted: u32, in_all: u32 },
}

/// What became of an acquisition.
pub(super) enum Answer {
    Granted {
        fence: Fence,
        /// The owner recorded with the fence.
        signer: Token,
        lease_left_ms: u64,
    },
    Taken {
        free_in_ms: u64,
    },
}

impl Mode {
    /// Whether the tasks of a process wait for their turn here, and not in the server's queue.
    pub(super) fn queues_here(self) -> bool {
        self == Self::Exclusive
    }

    fn pool(self, name: &LockName) -> Option<Pool> {
        let kind = match self {
            Self::Exclusive => return None,
            Self::Read | Self::Write => Kind::ReadWrite,
            Self::Permits { .. } => Kind::Semaphore,
        };
        Some(Pool { kind, name: name.clone() })
    }

    fn ask(self, call: &Acquire) -> Ask {
        let (permits, permits_in_all) = match self {
            Self::Read => (1, PERMITS_MAX),
            Self::Exclusive | Self::Write => (PERMITS_MAX, PERMITS_MAX),
            Self::Permits { wanted, in_all } => (wanted, in_all),
        };
        Ask {
            owner: call.owner,
            permits,
            permits_in_all,
            lease_ms: call.lease_ms,
            hold_ms_max: call.hold_ms_max,
            fence_floor: call.fence_floor,
            waits: call.waits,
            words: call.words.clone(),
        }
    }
}

impl LockStore {
    /// Refuses what this store does not take, before anybody waits for it.
    pub(super) fn check(&self, mode: Mode, call: &Acquire) -> Result<(), LockError> {
        if mode != Mode::Exclusive {
            return check_ask(&mode.ask(call));
        }
        match self {
            Self::Memory(_) | Self::Redis(_) => check(call),
            #[cfg(feature = "sql")]
            Self::Other(other) => other.check(call),
            Self::Redlock(quorum) => quorum.check(call),
        }
    }

    /// What an acquisition says whose time was over before the store answered.
    pub(super) fn no_answer(&self) -> LockError {
        match self {
            #[cfg(feature = "sql")]
            Self::Other(_) => {
                LockError::Sql(SqlError::Busy("the time to wait for the lock was over before the database answered"))
            }
            _ => {
                LockError::Link(LinkError::NoAnswer { reason: "the time to wait for the lock was over before it came" })
            }
        }
    }

    /// Asks for what `mode` says.
    pub(super) async fn ask(&self, mode: Mode, name: &LockName, call: &Acquire) -> Result<Answer, LockError> {
        let Some(pool) = mode.pool(name) else {
            return Ok(match self.acquire(name, call).await? {
                Acquired::Granted { fence, lease_left_ms } => {
                    Answer::Granted { fence, signer: call.owner, lease_left_ms }
                }
                Acquired::Taken { free_in_ms } => Answer::Taken { free_in_ms },
            });
        };
        let ask = mode.ask(call);
        match self.pools()?.acquire(&pool, &ask).await? {
            Asked::Granted { lease_left_ms, fence, signer } => Ok(Answer::Granted { fence, signer, lease_left_ms }),
            Asked::Taken { free_in_ms } => Ok(Answer::Taken { free_in_ms }),
            Asked::Differs { permits_in_all } => Err(LockError::Differs {
                what: "semaphore",
                name: name.to_string(),
                asked: ask.permits_in_all,
                stored: permits_in_all,
            }),
        }
    }

    pub(super) async fn renew_in(
        &self,
        mode: Mode,
        name: &LockName,
        owner: Token,
        lease_ms: u64,
    ) -> Result<Renewed, LockError> {
        match mode.pool(name) {
            None => self.renew(name, owner, lease_ms).await,
            Some(pool) => self.pools()?.renew(&pool, owner, lease_ms).await,
        }
    }

    pub(super) async fn release_in(&self, mode: Mode, name: &LockName, call: Release) -> Result<Released, LockError> {
        match mode.pool(name) {
            None => self.release(name, call).await,
            Some(pool) => self.pools()?.release(&pool, call.owner).await,
        }
    }

    /// Lifts the fence `mine` of a holder above what SQL has seen.
    #[cfg(feature = "sql")]
    pub(super) async fn raise_in(&self, held: &Held, mine: Fence, seen: Fence) -> Result<Option<Fence>, LockError> {
        match held.mode.pool(&held.name) {
            None => self.raise(&held.name, held.owner, seen).await,
            Some(pool) => self.pools()?.raise(&pool, held.owner, mine, seen).await,
        }
    }

    /// Gives back without waiting what this process keeps itself; `false` if a server must be asked.
    pub(super) fn release_now(&self, mode: Mode, name: &LockName, call: Release) -> bool {
        let Self::Memory(memory) = self else { return false };
        match mode.pool(name) {
            None => memory.release_now(name, call),
            Some(pool) => memory.pools().release_now(&pool, call.owner),
        };
        true
    }

    /// Subscribes: from now on it is notified when it may be this owner's turn.
    pub(super) async fn listen_in(&self, mode: Mode, name: &LockName, owner: Token) -> Result<WakeListener, LockError> {
        match mode.pool(name) {
            None => self.listen(name).await,
            Some(pool) => self.pools()?.listen(&pool, owner).await,
        }
    }
}
