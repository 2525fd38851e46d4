//! The atomic steps of a pool of permits, as a trait; docs/spec/lock.md is their specification. Each backend implements it, and the
//! conformance suite of the test kit runs on all of them.

use crate::lock::error::LockError;
use crate::lock::name::LockName;
use crate::lock::steps::{Fence, Released, Renewed, WORDS_BYTES_MAX, WakeListener, check_floor};
use async_trait::async_trait;
use bytes::Bytes;
use evenkeel_link::Token;

/// Most permits of a pool, and so most holders at once. A read/write lock has so many: a writer takes all of them.
pub const PERMITS_MAX: u32 = 500;

/// Most that have a place in a pool's queue. Who comes later has none, and comes after all of them.
pub const WAITERS_MAX: usize = 500;

/// How long a place in the queue counts after its last attempt.
pub const WAITING_MS: u64 = 2_000;

/// For so long whoever waits keeps those back who asked later; then for as long it lets them pass; and so on.
pub const TURN_MS: u64 = 10_000;

/// Longest lease: a pool is forgotten a day later.
pub const LEASE_MS_MAX: u64 = 86_400_000;

/// What the permits of a pool stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A read/write lock: its holders have a fence.
    ReadWrite,
    /// A semaphore: its holders have none.
    Semaphore,
}

/// One pool. Pools of two kinds and one name have nothing in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pool {
    /// What its permits stand for.
    pub kind: Kind,
    /// What it is called.
    pub name: LockName,
}

/// A call that wants permits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Who will hold them: drawn anew for each acquisition, the same for repeats of the call.
    pub owner: Token,
    /// How many it wants.
    pub permits: u32,
    /// How many the pool has, as the caller knows it.
    pub permits_in_all: u32,
    /// How long they are held without a renewal.
    pub lease_ms: u64,
    /// How long they may be held with renewals; `None` for no limit.
    pub hold_ms_max: Option<u64>,
    /// A fence that was seen elsewhere: this one is above it.
    pub fence_floor: u64,
    /// Whether the caller takes a place in the queue if it gets nothing.
    pub waits: bool,
    /// What the holder says about itself.
    pub words: Bytes,
}

/// What became of an [`Ask`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// The caller holds its permits.
    Granted {
        /// For how long, from when the backend answered.
        lease_left_ms: u64,
        /// Its fence, which readers at the same time share; 0 in a semaphore.
        fence: Fence,
        /// The owner recorded with the fence: the writer, or the first of the readers that share it.
        signer: Token,
    },
    /// There are not enough, or others asked before.
    Taken {
        /// There are not enough before so many ms, unless some are given back.
        free_in_ms: u64,
    },
    /// The pool has another number of permits than the caller thinks. Nothing was done.
    Differs {
        /// So many.
        permits_in_all: u32,
    },
}

/// One of those who hold permits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolHolder {
    /// Who holds them.
    pub owner: Token,
    /// How many.
    pub permits: u32,
    /// What is left of the lease.
    pub lease_left_ms: u64,
    /// For how long they have been held.
    pub held_ms: u64,
    /// What the holder says about itself.
    pub words: Bytes,
}

/// What is known of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolState {
    /// How many permits it has.
    pub permits_in_all: u32,
    /// The last fence that was handed out; 0 in a semaphore.
    pub fence: Fence,
    /// Who holds some, those who came first before the others.
    pub holders: Vec<PoolHolder>,
    /// How many wait in its queue.
    pub waiting: u64,
}

impl PoolState {
    /// Whether nobody holds anything, and nobody waits.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.holders.is_empty() && self.waiting == 0
    }
}

type Reply<T> = Result<T, LockError>;

/// The steps of a pool.
#[async_trait]
pub trait PoolSteps: Send + Sync {
    /// Takes permits, if there are enough beside those that others asked for before.
    async fn acquire(&self, pool: &Pool, ask: &Ask) -> Reply<Asked>;
    /// Lets a lease count from now, if `owner` still has it.
    async fn renew(&self, pool: &Pool, owner: Token, lease_ms: u64) -> Reply<Renewed>;
    /// Gives back what `owner` holds, and its place in the queue.
    async fn release(&self, pool: &Pool, owner: Token) -> Reply<Released>;
    /// Lifts the fence above what SQL has seen, if `owner`, whose fence is `mine`, still holds permits; `None` if not. If another
    /// reader has lifted the fence they share that high before, its fence is the answer.
    async fn raise(&self, pool: &Pool, owner: Token, mine: Fence, seen: Fence) -> Reply<Option<Fence>>;
    /// What is known of a pool; `None` if it was not used for a day.
    async fn inspect(&self, pool: &Pool) -> Reply<Option<PoolState>>;
    /// Takes permits away from `owner` (`None`: from everybody); from whom they were taken.
    async fn break_holds(&self, pool: &Pool, owner: Option<Token>) -> Reply<Vec<PoolHolder>>;
    /// Changes the number of permits. Who holds some keeps them.
    async fn resize(&self, pool: &Pool, permits_in_all: u32) -> Reply<()>;
    /// The names of the pools of this kind that may be in use, sorted.
    async fn names(&self, kind: Kind) -> Reply<Vec<LockName>>;
    /// Subscribes: from now on the listener is notified when it may be the turn of `owner`.
    async fn listen(&self, pool: &Pool, owner: Token) -> Reply<Box<dyn WakeListener>>;
    /// Releases without waiting where the store is in this process; `false` if a server must be asked.
    fn release_now(&self, _pool: &Pool, _owner: Token) -> bool {
        false
    }
}

/// Refuses what no backend takes.
pub fn check(ask: &Ask) -> Reply<()> {
    let refuse = |sentence: String| Err(LockError::Invalid(sentence));
    check_size(ask.permits_in_all)?;
    if ask.permits == 0 || ask.permits > ask.permits_in_all {
        return refuse(format!(
            "{} permits of {}; ask for one at least, and for no more than there are",
            ask.permits, ask.permits_in_all
        ));
    }
    if ask.lease_ms == 0 || ask.lease_ms > LEASE_MS_MAX {
        return refuse(format!("a ttl of {} ms; one that is shared takes 1 ms to a day", ask.lease_ms));
    }
    if ask.words.len() > WORDS_BYTES_MAX {
        return refuse(format!("{} bytes of metadata, at most {WORDS_BYTES_MAX} are taken", ask.words.len()));
    }
    check_floor(ask.fence_floor)
}

/// Refuses a number of permits that no pool can have.
pub(crate) fn check_size(permits_in_all: u32) -> Reply<()> {
    if permits_in_all == 0 || permits_in_all > PERMITS_MAX {
        return Err(LockError::Invalid(format!("{permits_in_all} permits; a semaphore takes 1 to {PERMITS_MAX}")));
    }
    Ok(())
}
