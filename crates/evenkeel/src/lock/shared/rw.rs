//! [`RwLock`]: many readers, or one writer.

use crate::lock::acquire::builder::LockBuilder;
use crate::lock::acquire::mode::Mode;
use crate::lock::acquire::setters::term_setters;
use crate::lock::hold::guard::Guard;
use crate::lock::store::locks::Locks;
use evenkeel_link::Token;
use evenkeel_protocol::lock::error::LockError;
use evenkeel_protocol::lock::name::LockName;
use evenkeel_protocol::lock::pool::steps::{BreakHolds, Inspect, Kind, PoolHolder, PoolState};
use evenkeel_protocol::lock::steps::Fence;

/// A lock that many readers (up to 500) or one writer can hold at the same time.
///
/// Waiters queue in the order in which they asked, over all processes: a waiting writer blocks readers that asked later for ten seconds,
/// then lets them pass for ten seconds, and so on, until the earlier readers have released the lock. So neither side starves, and no reader
/// waits long for a writer that itself waits for a long-running reader.
///
/// Each holder has a lease of its own. The fence of a writer is above all earlier ones; concurrent readers share one fence.
/// docs/spec/lock.md specifies what a reader's fence protects.
#[derive(Clone)]
pub struct RwLock {
    locks: Locks,
    name: String,
}

/// The settings of an acquisition of a read/write lock. Every setting has a default.
#[must_use = "a builder does nothing until `acquire`"]
#[derive(Clone)]
pub struct RwBuilder {
    pub(crate) lock: LockBuilder,
}

impl RwLock {
    pub(crate) fn new(locks: &Locks, name: &str) -> Self {
        Self { locks: locks.clone(), name: name.to_owned() }
    }

    /// The names of those in use.
    pub(crate) async fn known(locks: &Locks) -> Result<Vec<LockName>, LockError> {
        locks.store.pools()?.names(Kind::ReadWrite).await
    }

    /// Begins the acquisition by a reader.
    pub fn read(&self) -> RwBuilder {
        self.builder(Mode::Read)
    }

    /// Begins the acquisition by a writer.
    pub fn write(&self) -> RwBuilder {
        self.builder(Mode::Write)
    }

    /// The holders and the number of waiters; `None` if the lock was not used for two days. A writer holds all 500 permits, a reader one.
    ///
    /// # Errors
    /// [`LockError::Link`], [`LockError::Invalid`].
    pub async fn inspect(&self) -> Result<Option<PoolState>, LockError> {
        self.locks.store.in_pool(Kind::ReadWrite, &self.name()?, &Inspect).await
    }

    /// Takes the lock away from `owner` (see [`inspect`](Self::inspect)), or from all holders. Returns the former holders, which detect this
    /// at their next renewals; only a check of the fence rejects what a writer writes until then.
    ///
    /// # Errors
    /// As [`inspect`](Self::inspect); after an unknown outcome, inspect the lock again.
    pub async fn break_holds(&self, owner: Option<Token>) -> Result<Vec<PoolHolder>, LockError> {
        self.locks.store.in_pool(Kind::ReadWrite, &self.name()?, &BreakHolds(owner)).await
    }

    fn name(&self) -> Result<LockName, LockError> {
        LockName::new(&self.name)
    }

    fn builder(&self, mode: Mode) -> RwBuilder {
        RwBuilder { lock: LockBuilder::new(&self.locks, &self.name).in_mode(mode) }
    }
}

impl RwBuilder {
    term_setters!(lock.terms, "the lock", " A lock delay is rejected, because only exclusive locks support it.");

    setters! {
        /// A fence that was seen elsewhere, for example in the database: the new fence will be above it. Default none.
        pub fn fence_above(seen: Fence) => lock.fence_floor = seen.0;
    }

    /// Waits for the lock.
    ///
    /// Guaranteed: dropping this future at any point leaves nothing beyond a lease, and no place in the queue for longer than two
    /// seconds. Needs a tokio runtime.
    ///
    /// # Errors
    /// [`LockError::Busy`] after [`wait`](Self::wait); [`LockError::Link`] if Redis did not answer three times in a row;
    /// [`LockError::Invalid`] if the name or a setting is invalid.
    pub async fn acquire(self) -> Result<Guard, LockError> {
        self.lock.acquire().await
    }

    /// Acquires the lock if it is available now; `None` if it is taken.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire), without `Busy`.
    pub async fn try_acquire(self) -> Result<Option<Guard>, LockError> {
        self.lock.try_acquire().await
    }
}

impl std::fmt::Debug for RwLock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RwLock").field("name", &self.name).finish_non_exhaustive()
    }
}
