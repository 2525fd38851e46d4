//! A lock, its backend, and a clock that a test advances.

use crate::conformance::rig::{ServerTime, shared_link};
use crate::park::SharedRedis;
use anyhow::{Result, bail};
use bytes::Bytes;
use evenkeel::Token;
use evenkeel::link::Link;
use evenkeel::lock::{Fence, LockName};
use evenkeel::testing::TestClock;
use evenkeel_protocol::lock::steps::{Acquire, Acquired, LockSteps, Release, Released, Renewed};
use evenkeel_protocol::lock::{MemoryLock, RedisLock};

/// The lease of the suite's holders.
pub const LEASE_MS: u64 = 30_000;

/// Locks, and the clock of their server.
pub struct Rig<L> {
    /// The steps under test.
    pub locks: L,
    /// The clock they go by.
    pub time: ServerTime,
    /// The lock of the suite.
    pub name: LockName,
    pub(super) _redis: Option<SharedRedis>,
}

/// A caller that requests a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Party {
    /// Of one acquisition.
    pub owner: Token,
    /// Where it runs.
    pub process: Token,
}

impl Party {
    /// Number `number`: the same number is the same party, in its own process.
    #[must_use]
    pub fn new(number: u8) -> Self {
        Self { owner: Token::from([number; 16]), process: Token::from([number | 0x80; 16]) }
    }

    /// Another one in the same process.
    #[must_use]
    pub fn neighbor(self, number: u8) -> Self {
        Self { owner: Token::from([number; 16]), ..self }
    }

    /// A call that does not wait.
    #[must_use]
    pub fn call(self) -> Acquire {
        Acquire {
            owner: self.owner,
            process: self.process,
            lease_ms: LEASE_MS,
            cooling_ms: 0,
            hold_ms_max: None,
            fence_floor: 0,
            waits: false,
            metadata: Bytes::new(),
        }
    }

    /// A call that waits.
    #[must_use]
    pub fn waiting_call(self) -> Acquire {
        Acquire { waits: true, ..self.call() }
    }
}

impl Rig<MemoryLock> {
    /// The model.
    pub async fn memory() -> Result<Self> {
        let clock = TestClock::default();
        let locks = MemoryLock::new(clock.clock());
        Ok(Self { locks, time: ServerTime::Model(clock), name: LockName::new("stock/42")?, _redis: None })
    }
}

impl Rig<RedisLock> {
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
        Ok(Self { locks: RedisLock::new(link), time, name: LockName::new("stock/42")?, _redis: None })
    }
}

impl<L: LockSteps> Rig<L> {
    /// Asks for the lock.
    pub async fn ask(&self, call: &Acquire) -> Result<Acquired> {
        Ok(self.locks.acquire(&self.name, call).await?)
    }

    /// Takes the lock, which must be free.
    pub async fn take(&self, party: Party) -> Result<Fence> {
        self.take_with(&party.call()).await
    }

    /// Takes the lock, which must be free, with this call.
    pub async fn take_with(&self, call: &Acquire) -> Result<Fence> {
        match self.ask(call).await? {
            Acquired::Granted { fence, .. } => Ok(fence),
            Acquired::Taken { free_in_ms } => bail!("it is taken for {free_in_ms} ms"),
        }
    }

    /// For how long the lock is taken; it must be.
    pub async fn taken_for(&self, call: &Acquire) -> Result<u64> {
        match self.ask(call).await? {
            Acquired::Granted { fence, .. } => bail!("it was granted with {fence}"),
            Acquired::Taken { free_in_ms } => Ok(free_in_ms),
        }
    }

    /// Renews the lease.
    pub async fn renew(&self, party: Party) -> Result<Renewed> {
        Ok(self.locks.renew(&self.name, party.owner, LEASE_MS).await?)
    }

    /// Releases the lock.
    pub async fn give_back(&self, party: Party) -> Result<Released> {
        let call = Release { owner: party.owner, process: party.process, waits: false };
        Ok(self.locks.release(&self.name, call).await?)
    }

    /// The owner of the lock.
    pub async fn owner(&self) -> Result<Option<Token>> {
        Ok(self.locks.inspect(&self.name).await?.map(|holder| holder.owner))
    }
}
