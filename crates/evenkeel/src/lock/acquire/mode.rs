//! The mode of an acquisition: an exclusive lock, or permits of a pool. The only place that distinguishes the two.

#[cfg(feature = "sql")]
use crate::lock::hold::lease::Held;
use crate::lock::store::LockStore;
use evenkeel_link::Token;
use evenkeel_link::support::ms;
use evenkeel_protocol::lock::error::LockError;
use evenkeel_protocol::lock::name::LockName;
use evenkeel_protocol::lock::pool::Pool;
use evenkeel_protocol::lock::pool::steps::{self, Kind, PERMITS_MAX, PermitReply, PermitRequest};
use evenkeel_protocol::lock::steps::WakeListener;
use evenkeel_protocol::lock::steps::{Acquire, Acquired, Fence, Release, Released, Renewed};
use evenkeel_protocol::step::Step;
use std::time::Duration;

/// The mode in which a lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Mode {
    /// One holder.
    Exclusive,
    /// A reader of a read/write lock, together with other readers.
    Read,
    /// A writer of a read/write lock, without readers.
    Write,
    /// `count` permits of a semaphore with `in_all` permits.
    Permits { count: u32, in_all: u32 },
}

/// The store's reply to an acquisition.
pub(crate) enum AcquireReply {
    Granted {
        fence: Fence,
        /// The owner recorded with the fence.
        signer: Token,
        lease_left_ms: u64,
    },
    Taken {
        free_in_ms: u64,
    },
    /// The caller keeps its place; the pool was not read.
    Queued,
}

impl Mode {
    /// Whether several can hold the lock at once, and waiters have places in the store's queue.
    pub(crate) fn is_shared(self) -> bool {
        self != Self::Exclusive
    }

    /// The kind of the pool; `None` for an exclusive lock.
    fn kind(self) -> Option<Kind> {
        match self {
            Self::Exclusive => None,
            Self::Read | Self::Write => Some(Kind::ReadWrite),
            Self::Permits { .. } => Some(Kind::Semaphore),
        }
    }

    fn permit_request(self, call: &Acquire, waited: Duration, polls: bool) -> PermitRequest {
        let (permits, permits_in_all) = match self {
            Self::Read => (1, PERMITS_MAX),
            Self::Exclusive | Self::Write => (PERMITS_MAX, PERMITS_MAX),
            Self::Permits { count, in_all } => (count, in_all),
        };
        PermitRequest {
            owner: call.owner,
            permits,
            permits_in_all,
            lease_ms: call.lease_ms,
            hold_ms_max: call.hold_ms_max,
            fence_floor: call.fence_floor,
            waits: call.waits,
            waited_ms: ms(waited),
            polls,
            metadata: call.metadata.clone(),
        }
    }
}

impl LockStore {
    /// Rejects a call that this store does not support, before the caller waits.
    pub(crate) fn check_in(&self, mode: Mode, call: &Acquire) -> Result<(), LockError> {
        match mode {
            Mode::Exclusive => self.check(call),
            shared => shared.permit_request(call, Duration::ZERO, false).check(),
        }
    }

    /// Makes the acquisition step of `mode` for a caller that has waited for so long; it `polls` if it has a place in the queue of a pool and
    /// was not notified.
    pub(crate) async fn ask(
        &self,
        mode: Mode,
        name: &LockName,
        call: &Acquire,
        (waited, polls): (Duration, bool),
    ) -> Result<AcquireReply, LockError> {
        let Some(kind) = mode.kind() else {
            return Ok(match self.acquire(name, call).await? {
                Acquired::Granted { fence, lease_left_ms } => {
                    AcquireReply::Granted { fence, signer: call.owner, lease_left_ms }
                }
                Acquired::Taken { free_in_ms } => AcquireReply::Taken { free_in_ms },
            });
        };
        let ask = mode.permit_request(call, waited, polls);
        match self.in_pool(kind, name, &ask).await? {
            PermitReply::Granted { lease_left_ms, fence, signer } => {
                Ok(AcquireReply::Granted { fence, signer, lease_left_ms })
            }
            PermitReply::Taken { free_in_ms } => Ok(AcquireReply::Taken { free_in_ms }),
            PermitReply::Queued => Ok(AcquireReply::Queued),
            PermitReply::Differs { permits_in_all } => Err(LockError::Differs {
                what: "semaphore",
                name: name.to_string(),
                asked: ask.permits_in_all,
                stored: permits_in_all,
            }),
        }
    }

    /// Runs a step of the pool of this kind and name.
    pub(crate) async fn in_pool<S: Step<Pool>>(
        &self,
        kind: Kind,
        name: &LockName,
        step: &S,
    ) -> Result<S::Reply, LockError> {
        let pools = self.pools()?;
        pools.run(&pools.pool(kind, name.clone()), step).await
    }

    pub(crate) async fn renew_in(
        &self,
        mode: Mode,
        name: &LockName,
        owner: Token,
        lease_ms: u64,
    ) -> Result<Renewed, LockError> {
        match mode.kind() {
            None => self.renew(name, owner, lease_ms).await,
            Some(kind) => self.in_pool(kind, name, &steps::Renew { owner, lease_ms }).await,
        }
    }

    pub(crate) async fn release_in(&self, mode: Mode, name: &LockName, call: Release) -> Result<Released, LockError> {
        match mode.kind() {
            None => self.release(name, call).await,
            Some(kind) => self.in_pool(kind, name, &steps::Release { owner: call.owner }).await,
        }
    }

    /// Raises the fence `mine` of a holder above the fence in SQL.
    #[cfg(feature = "sql")]
    pub(crate) async fn raise_in(&self, held: &Held, mine: Fence, seen: Fence) -> Result<Option<Fence>, LockError> {
        match held.mode.kind() {
            None => self.raise(&held.name, held.owner, seen).await,
            Some(kind) => self.in_pool(kind, &held.name, &steps::Raise { owner: held.owner, mine, seen }).await,
        }
    }

    /// Releases without waiting if the store is in this process; `false` if a server must be called.
    pub(crate) fn release_now_in(&self, mode: Mode, name: &LockName, call: Release) -> bool {
        match (mode.kind(), self.pools()) {
            (Some(kind), Ok(pools)) => {
                pools.run_now(&pools.pool(kind, name.clone()), &steps::Release { owner: call.owner }).is_some()
            }
            _ => self.release_now(name, call),
        }
    }

    /// Subscribes to notifications that the lock may be free in this mode.
    pub(crate) async fn listen_in(&self, mode: Mode, name: &LockName) -> Result<Box<dyn WakeListener>, LockError> {
        let Some(kind) = mode.kind() else { return self.listen(name).await };
        let pools = self.pools()?;
        pools.listen(&pools.pool(kind, name.clone())).await
    }
}
