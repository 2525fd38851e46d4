//! The pools of a keel, over whatever it keeps its locks in.

use super::steps::{Ask, Asked, Kind, Pool, PoolHolder, PoolState, PoolSteps};
use super::{MemoryPool, RedisPool};
use crate::lock::error::LockError;
use crate::lock::name::LockName;
use crate::lock::steps::{Fence, Released, Renewed};
use crate::lock::store::{LockStore, WakeListener};
use crate::token::Token;

/// Where the pools of a keel are. Cheap to clone.
#[derive(Clone)]
pub(in crate::lock) enum PoolStore {
    /// In this process.
    Memory(MemoryPool),
    /// On one Redis.
    Redis(RedisPool),
}

impl LockStore {
    /// The pools beside the locks.
    pub(in crate::lock) fn pools(&self) -> Result<PoolStore, LockError> {
        Ok(match self {
            Self::Memory(memory) => PoolStore::Memory(memory.pools().clone()),
            Self::Redis(redis) => PoolStore::Redis(redis.pools()),
            // Neither can be asked for by type; said here for whoever adds a way to.
            #[cfg(feature = "sql")]
            Self::Other(_) => return Err(elsewhere()),
            Self::Redlock(_) => return Err(elsewhere()),
        })
    }
}

impl PoolStore {
    /// Subscribes: from now on it is notified when it may be this owner's turn.
    pub(in crate::lock) async fn listen(&self, pool: &Pool, owner: Token) -> Result<WakeListener, LockError> {
        Ok(match self {
            Self::Memory(memory) => WakeListener::Memory(memory.listen()),
            Self::Redis(redis) => WakeListener::Named(redis.listen(pool).await?, owner),
        })
    }

    /// The names of the pools of this kind that may be in use, sorted.
    pub(in crate::lock) async fn names(&self, kind: Kind) -> Result<Vec<LockName>, LockError> {
        match self {
            Self::Memory(memory) => Ok(memory.used(kind)),
            Self::Redis(redis) => redis.known(kind).await,
        }
    }
}

fn elsewhere() -> LockError {
    LockError::Invalid("read/write locks and semaphores are kept on one Redis or in this process only".to_owned())
}

macro_rules! step {
    ($self:ident, $steps:ident => $call:expr) => {
        match $self {
            PoolStore::Memory($steps) => $call.await,
            PoolStore::Redis($steps) => $call.await,
        }
    };
}

impl PoolSteps for PoolStore {
    async fn acquire(&self, pool: &Pool, ask: &Ask) -> Result<Asked, LockError> {
        step!(self, steps => steps.acquire(pool, ask))
    }

    async fn renew(&self, pool: &Pool, owner: Token, lease_ms: u64) -> Result<Renewed, LockError> {
        step!(self, steps => steps.renew(pool, owner, lease_ms))
    }

    async fn release(&self, pool: &Pool, owner: Token) -> Result<Released, LockError> {
        step!(self, steps => steps.release(pool, owner))
    }

    async fn raise(&self, pool: &Pool, owner: Token, mine: Fence, seen: Fence) -> Result<Option<Fence>, LockError> {
        step!(self, steps => steps.raise(pool, owner, mine, seen))
    }

    async fn inspect(&self, pool: &Pool) -> Result<Option<PoolState>, LockError> {
        step!(self, steps => steps.inspect(pool))
    }

    async fn break_holds(&self, pool: &Pool, owner: Option<Token>) -> Result<Vec<PoolHolder>, LockError> {
        step!(self, steps => steps.break_holds(pool, owner))
    }

    async fn resize(&self, pool: &Pool, permits_in_all: u32) -> Result<(), LockError> {
        step!(self, steps => steps.resize(pool, permits_in_all))
    }
}
