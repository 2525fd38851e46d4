//! Locks over several servers: three prefixes on the run's Redis, each acting as a server.

use super::fleet::Fleet;
use crate::park::{self, SharedRedis};
use anyhow::Result;
use evenkeel::clock::Clock;
use evenkeel::link::LinkOptions;
use evenkeel::lock::{ExclusiveLocks, Redlock};
use evenkeel::testing::TestClock;
use std::time::Duration;

const SERVERS: usize = 3;
/// No server is slow for a clock that moves in leaps, nor for a busy machine.
const NODE_TIMEOUT: Duration = Duration::from_secs(1_000);

/// A Redlock whose servers' time is their own.
pub struct RedlockFleet {
    server: SharedRedis,
    clock: TestClock,
}

impl RedlockFleet {
    /// Under its own prefixes.
    pub async fn open() -> Result<Self> {
        let fleet = Self { server: park::redis().await?, clock: TestClock::default() };
        // One process initializes the Redlock; all others find it.
        fleet.process(Clock::system()).await?;
        Ok(fleet)
    }
}

impl Fleet for RedlockFleet {
    fn clock(&self) -> &TestClock {
        &self.clock
    }

    async fn process(&self, clock: Clock) -> Result<Box<dyn ExclusiveLocks>> {
        let mut servers = Vec::new();
        for server in 0..SERVERS {
            let mut options = LinkOptions::from_url(&self.server.url)?;
            options.prefix = format!("{}s{server}", self.server.prefix);
            servers.push(options);
        }
        Ok(Box::new(Redlock::builder().clock(clock).node_timeout(NODE_TIMEOUT).connect_with(servers).await?))
    }
}
