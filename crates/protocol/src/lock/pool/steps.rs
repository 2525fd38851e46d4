//! The atomic steps of a pool of permits, as a trait; docs/spec/lock.md specifies them. The conformance suite of the test kit runs
//! on every backend.

use crate::lock::error::LockError;
use crate::lock::name::LockName;
use crate::lock::steps::{Fence, METADATA_BYTES_MAX, Released, Renewed, WakeListener, check_floor};
use async_trait::async_trait;
use bytes::Bytes;
use evenkeel_link::Token;

/// The maximum number of permits of a pool, and thus of concurrent holders. A read/write lock has this many: a writer takes all.
pub const PERMITS_MAX: u32 = 500;

/// The maximum length of a pool's queue. Later requests have no place in it and come after all others.
pub const WAITERS_MAX: usize = 500;

/// How long a place in the queue is valid after the last attempt.
pub const WAITING_MS: u64 = 2_000;

/// For this long a waiter has precedence over later requests; for as long afterwards it lets them pass; and so on.
pub const TURN_MS: u64 = 10_000;

/// The waiters that poll check the pool at least this often, one of them for all.
pub const WATCH_MS: u64 = 1_000;

/// The longest lease, in ms: a day. It is shorter than the two days after which an unused pool is removed.
pub const LEASE_MS_MAX: u64 = 86_400_000;

/// The kind of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A read/write lock: its holders have a fencing token.
    ReadWrite,
    /// A semaphore: its holders have no fencing token.
    Semaphore,
}

/// The identity of a pool. Pools of different kinds are independent even if they have the same name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pool {
    /// Its kind.
    pub kind: Kind,
    /// Its name.
    pub name: LockName,
}

/// A request for permits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermitRequest {
    /// The future holder: drawn anew for each acquisition, the same for repeats of the call.
    pub owner: Token,
    /// The number of requested permits.
    pub permits: u32,
    /// The number of permits of the pool, according to the caller.
    pub permits_in_all: u32,
    /// How long they are held without a renewal.
    pub lease_ms: u64,
    /// How long they may be held with renewals; `None` for no limit.
    pub hold_ms_max: Option<u64>,
    /// A fencing token that was seen elsewhere: the granted one is above it.
    pub fence_floor: u64,
    /// Whether the caller takes a place in the queue if the request is not granted.
    pub waits: bool,
    /// How long the caller has waited before it takes a place: waiters are served in the order in which they asked.
    pub waited_ms: u64,
    /// Whether the caller, which has a place, was not notified. Such a call renews the place and reads the pool only if a check is due.
    pub polls: bool,
    /// The holder's metadata.
    pub metadata: Bytes,
}

/// The reply to an [`PermitRequest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PermitReply {
    /// The caller holds its permits.
    Granted {
        /// The remaining lease, counted from the backend's reply.
        lease_left_ms: u64,
        /// Its fencing token, which concurrent readers share; 0 in a semaphore.
        fence: Fence,
        /// The owner recorded with the fence: the writer, or the first of the readers that share it.
        signer: Token,
    },
    /// There are not enough permits, or earlier requests have precedence.
    Taken {
        /// The time until there may be enough permits, unless some are released before.
        free_in_ms: u64,
    },
    /// The caller keeps its place, and no check of the pool is due.
    Queued,
    /// The pool's number of permits differs from the caller's. Nothing was done.
    Differs {
        /// The pool's number of permits.
        permits_in_all: u32,
    },
}

/// A holder of permits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolHolder {
    /// The owner.
    pub owner: Token,
    /// The number of its permits.
    pub permits: u32,
    /// The remaining lease.
    pub lease_left_ms: u64,
    /// How long they have been held.
    pub held_ms: u64,
    /// The holder's metadata.
    pub metadata: Bytes,
}

/// The state of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolState {
    /// The number of its permits.
    pub permits_in_all: u32,
    /// The last fencing token that was issued; 0 in a semaphore.
    pub fence: Fence,
    /// The holders, in the order of their acquisitions.
    pub holders: Vec<PoolHolder>,
    /// The length of its queue.
    pub waiting: u64,
}

impl PoolState {
    /// Whether it has neither holders nor waiters.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.holders.is_empty() && self.waiting == 0
    }
}

type Reply<T> = Result<T, LockError>;

/// The steps of a pool.
#[async_trait]
pub trait PoolSteps: Send + Sync {
    /// Acquires permits, if there are enough in addition to those of earlier requests.
    async fn acquire(&self, pool: &Pool, request: &PermitRequest) -> Reply<PermitReply>;
    /// Renews a lease from now, if `owner` still has it.
    async fn renew(&self, pool: &Pool, owner: Token, lease_ms: u64) -> Reply<Renewed>;
    /// Releases the permits of `owner` and its place in the queue.
    async fn release(&self, pool: &Pool, owner: Token) -> Reply<Released>;
    /// Raises the fencing token above the one stored in SQL, if `owner`, whose token is `mine`, still holds permits; `None` if not. If
    /// another reader has already raised the shared token that high, that token is returned.
    async fn raise(&self, pool: &Pool, owner: Token, mine: Fence, seen: Fence) -> Reply<Option<Fence>>;
    /// The state of a pool; `None` if it was not used for two days.
    async fn inspect(&self, pool: &Pool) -> Reply<Option<PoolState>>;
    /// Revokes the permits of `owner` (`None`: of all holders); returns the former holders.
    async fn break_holds(&self, pool: &Pool, owner: Option<Token>) -> Reply<Vec<PoolHolder>>;
    /// Changes the number of permits. Current holders keep theirs.
    async fn resize(&self, pool: &Pool, permits_in_all: u32) -> Reply<()>;
    /// The names of the pools of this kind that may be in use, sorted.
    async fn names(&self, kind: Kind) -> Reply<Vec<LockName>>;
    /// Subscribes: after this the listener is notified when it may be the turn of the owner that it is asked about.
    async fn listen(&self, pool: &Pool) -> Reply<Box<dyn WakeListener>>;
    /// Releases synchronously if the store is in this process; returns `false` otherwise.
    fn release_now(&self, _pool: &Pool, _owner: Token) -> bool {
        false
    }
}

/// Rejects arguments that no backend accepts.
pub fn check(request: &PermitRequest) -> Reply<()> {
    let refuse = |sentence: String| Err(LockError::Invalid(sentence));
    check_size(request.permits_in_all)?;
    if request.permits == 0 || request.permits > request.permits_in_all {
        return refuse(format!(
            "{} permits were requested; the minimum is 1 and the maximum is {}",
            request.permits, request.permits_in_all
        ));
    }
    if request.lease_ms == 0 || request.lease_ms > LEASE_MS_MAX {
        return refuse(format!(
            "a ttl of {} ms; the ttl of permits must be between 1 ms and one day",
            request.lease_ms
        ));
    }
    if request.metadata.len() > METADATA_BYTES_MAX {
        return refuse(format!("{} bytes of metadata; the limit is {METADATA_BYTES_MAX}", request.metadata.len()));
    }
    check_floor(request.fence_floor)
}

/// Rejects an invalid number of permits.
pub(crate) fn check_size(permits_in_all: u32) -> Reply<()> {
    if permits_in_all == 0 || permits_in_all > PERMITS_MAX {
        return Err(LockError::Invalid(format!("{permits_in_all} permits; a semaphore must have 1 to {PERMITS_MAX}")));
    }
    Ok(())
}
