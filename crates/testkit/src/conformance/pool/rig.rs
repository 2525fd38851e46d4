//! Pools, their backend, and a clock that a test advances.

use crate::conformance::lock::LEASE_MS;
use crate::conformance::rig::{ServerTime, shared_link};
use crate::park::SharedRedis;
use anyhow::{Result, bail};
use bytes::Bytes;
use evenkeel::Token;
use evenkeel::link::Link;
use evenkeel::lock::{Fence, LockName};
use evenkeel::testing::TestClock;
use evenkeel_protocol::lock::pool::steps::{Inspect, Kind, PERMITS_MAX, PermitReply, PermitRequest, Release, Renew};
use evenkeel_protocol::lock::pool::{Pool, PoolBackend};
use evenkeel_protocol::lock::steps::{Released, Renewed};

/// Permits of the suite's semaphore.
pub const PERMITS: u32 = 3;

/// Pools, and the clock of their server.
pub struct Rig {
    /// What runs the steps.
    pub pools: PoolBackend,
    /// The clock they go by.
    pub time: ServerTime,
    /// The read/write lock of the suite.
    pub shelf: Pool,
    /// The semaphore of the suite.
    pub desks: Pool,
    _redis: Option<SharedRedis>,
}

/// The owner with this number.
#[must_use]
pub fn owner(number: u8) -> Token {
    Token::from([number; 16])
}

/// A reader's call that does not wait.
#[must_use]
pub fn reader(number: u8) -> PermitRequest {
    PermitRequest { permits: 1, permits_in_all: PERMITS_MAX, ..permits(number, 1) }
}

/// A writer's call that does not wait.
#[must_use]
pub fn writer(number: u8) -> PermitRequest {
    PermitRequest { permits: PERMITS_MAX, ..reader(number) }
}

/// A call for this many permits of the suite's semaphore, that does not wait.
#[must_use]
pub fn permits(number: u8, permits: u32) -> PermitRequest {
    PermitRequest {
        owner: owner(number),
        permits,
        permits_in_all: PERMITS,
        lease_ms: LEASE_MS,
        hold_ms_max: None,
        fence_floor: 0,
        waits: false,
        waited_ms: 0,
        polls: false,
        metadata: Bytes::new(),
    }
}

/// The same call by a waiter.
#[must_use]
pub fn waiting(ask: PermitRequest) -> PermitRequest {
    PermitRequest { waits: true, ..ask }
}

/// The same call by a waiter that was not notified.
#[must_use]
pub fn polling(ask: PermitRequest) -> PermitRequest {
    PermitRequest { polls: true, ..waiting(ask) }
}

impl Rig {
    /// The model.
    pub async fn memory() -> Result<Self> {
        let clock = TestClock::default();
        let pools = PoolBackend::memory(clock.clock());
        Self::of(pools, ServerTime::Model(clock), None)
    }

    /// The scripts, on the run's shared Redis.
    pub async fn redis() -> Result<Self> {
        let (link, redis) = shared_link().await?;
        let mut rig = Self::over(link).await?;
        rig._redis = Some(redis);
        Ok(rig)
    }

    /// The scripts over this link, under its prefix.
    pub async fn over(link: Link) -> Result<Self> {
        let time = ServerTime::of_scripts(&link, link.prefix()).await?;
        Self::of(PoolBackend::redis(link), time, None)
    }

    fn of(pools: PoolBackend, time: ServerTime, redis: Option<SharedRedis>) -> Result<Self> {
        let shelf = pools.pool(Kind::ReadWrite, LockName::new("shelf")?);
        let desks = pools.pool(Kind::Semaphore, LockName::new("desks}%")?);
        Ok(Self { pools, time, shelf, desks, _redis: redis })
    }

    /// The pool of this kind.
    pub(super) fn of_kind(&self, kind: Kind) -> &Pool {
        match kind {
            Kind::ReadWrite => &self.shelf,
            Kind::Semaphore => &self.desks,
        }
    }

    /// Acquires the read/write lock, which must be free; returns its fence and the signer.
    pub async fn enter(&self, ask: &PermitRequest) -> Result<(Fence, Token)> {
        match self.pools.run(&self.shelf, ask).await? {
            PermitReply::Granted { fence, signer, .. } => Ok((fence, signer)),
            other => bail!("{other:?}"),
        }
    }

    /// For how long the read/write lock is taken; it must be.
    pub async fn shut_for(&self, ask: &PermitRequest) -> Result<u64> {
        taken(self.pools.run(&self.shelf, ask).await?)
    }

    /// Acquires permits of the semaphore, which must be free; returns the rest of the lease.
    pub async fn sit(&self, ask: &PermitRequest) -> Result<u64> {
        match self.pools.run(&self.desks, ask).await? {
            PermitReply::Granted { lease_left_ms, .. } => Ok(lease_left_ms),
            other => bail!("{other:?}"),
        }
    }

    /// For how long there are not enough permits; there must not be.
    pub async fn full_for(&self, ask: &PermitRequest) -> Result<u64> {
        taken(self.pools.run(&self.desks, ask).await?)
    }

    /// A poll for permits right after that of another waiter, which has looked for all.
    pub async fn poll_desks(&self, ask: &PermitRequest) -> Result<()> {
        queued(self.pools.run(&self.desks, ask).await?)
    }

    /// A poll for the read/write lock right after that of another waiter.
    pub async fn poll_shelf(&self, ask: &PermitRequest) -> Result<()> {
        queued(self.pools.run(&self.shelf, ask).await?)
    }

    /// Renews a lease of the read/write lock.
    pub async fn renew(&self, number: u8) -> Result<Renewed> {
        Ok(self.pools.run(&self.shelf, &Renew { owner: owner(number), lease_ms: LEASE_MS }).await?)
    }

    /// Releases the read/write lock.
    pub async fn leave(&self, number: u8) -> Result<Released> {
        Ok(self.pools.run(&self.shelf, &Release { owner: owner(number) }).await?)
    }

    /// Releases permits.
    pub async fn stand_up(&self, number: u8) -> Result<Released> {
        Ok(self.pools.run(&self.desks, &Release { owner: owner(number) }).await?)
    }

    /// The owners of the read/write lock.
    pub async fn readers(&self) -> Result<Vec<Token>> {
        let found = self.pools.run(&self.shelf, &Inspect).await?;
        Ok(found.map_or_else(Vec::new, |state| state.holders.iter().map(|holder| holder.owner).collect()))
    }
}

fn queued(reply: PermitReply) -> Result<()> {
    if reply != PermitReply::Queued {
        bail!("{reply:?}");
    }
    Ok(())
}

fn taken(asked: PermitReply) -> Result<u64> {
    match asked {
        PermitReply::Taken { free_in_ms } => Ok(free_in_ms),
        other => bail!("{other:?}"),
    }
}
