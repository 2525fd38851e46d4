//! The backends that need no database: this process, and one Redis.

use super::fleet::{Fleet, SHORT};
use crate::park::{self, SharedRedis};
use anyhow::Result;
use evenkeel::Keel;
use evenkeel::clock::Clock;
use evenkeel::link::LinkOptions;
use evenkeel::lock::{BoxFuture, ExclusiveGuard, ExclusiveLocks, LockError, LockTerms};
use evenkeel::testing::TestClock;
use std::time::Duration;

/// This long nothing happens in this process before its clock advances.
const STILL: Duration = Duration::from_millis(2);

/// Locks in this process: all share one frozen clock.
pub struct MemoryFleet {
    clock: TestClock,
    keel: Keel,
}

impl MemoryFleet {
    /// With its own store.
    pub async fn open() -> Result<Self> {
        let clock = TestClock::default();
        let keel = Keel::builder().clock(clock.clock()).memory();
        Ok(Self { clock, keel })
    }
}

impl Fleet for MemoryFleet {
    fn clock(&self) -> &TestClock {
        &self.clock
    }

    /// All share the store's clock.
    async fn process(&self, _clock: Clock) -> Result<Box<dyn ExclusiveLocks>> {
        Ok(Box::new(self.keel.another_process()))
    }

    /// Its acquisitions move the clock of all on, a little.
    async fn running(&self) -> Result<Box<dyn ExclusiveLocks>> {
        Ok(Box::new(Ticking { keel: self.keel.another_process(), clock: self.clock.clone() }))
    }

    async fn expire_leases(&self) -> Result<()> {
        self.clock.advance(SHORT);
        Ok(())
    }
}

/// A process whose clock advances while it waits.
struct Ticking {
    keel: Keel,
    clock: TestClock,
}

impl ExclusiveLocks for Ticking {
    fn acquire<'a>(
        &'a self,
        name: &'a str,
        terms: &'a LockTerms,
    ) -> BoxFuture<'a, Result<Box<dyn ExclusiveGuard>, LockError>> {
        Box::pin(async move {
            self.clock.advance(Duration::from_millis(1));
            let mut acquiring = self.keel.acquire(name, terms);
            loop {
                match tokio::time::timeout(STILL, &mut acquiring).await {
                    Ok(acquired) => return acquired,
                    Err(_) => self.clock.advance(Duration::from_millis(10)),
                }
            }
        })
    }
}

/// Locks on the run's Redis, whose time is its own.
pub struct RedisFleet {
    server: SharedRedis,
    clock: TestClock,
}

impl RedisFleet {
    /// Under its own prefix.
    pub async fn open() -> Result<Self> {
        Ok(Self { server: park::redis().await?, clock: TestClock::default() })
    }
}

impl Fleet for RedisFleet {
    fn clock(&self) -> &TestClock {
        &self.clock
    }

    async fn process(&self, clock: Clock) -> Result<Box<dyn ExclusiveLocks>> {
        let mut options = LinkOptions::from_url(&self.server.url)?;
        options.prefix.clone_from(&self.server.prefix);
        Ok(Box::new(Keel::builder().clock(clock).connect_with(options).await?))
    }
}
