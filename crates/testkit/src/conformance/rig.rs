//! What every suite needs of a backend's server: its clock, which is frozen until a test advances it, and the run's shared Redis.

use crate::park::{self, SharedRedis};
use anyhow::Result;
use evenkeel::clock::Clock;
use evenkeel::link::{Link, LinkOptions};
use evenkeel::testing::TestClock;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The server's clock; it is frozen until a test advances it.
pub enum ServerTime {
    /// Of the model.
    Model(TestClock),
    /// Of the scripts: the key their prelude reads.
    Redis {
        /// Over which it is set.
        link: Link,
        /// The key.
        key: String,
        /// What it holds.
        now: AtomicU64,
    },
    /// Of a database: the statement that sets the time on each of its connections before use.
    OnConnections(Arc<AtomicU64>),
}

impl ServerTime {
    /// The clock of the scripts under this prefix, which is frozen from now on.
    pub async fn of_scripts(link: &Link, prefix: &str) -> Result<Self> {
        let start = TestClock::default().clock().unix_ms();
        let key = format!("{prefix}:test:now_ms");
        let time = Self::Redis { link: link.clone(), key, now: AtomicU64::new(start) };
        time.set(start).await?;
        Ok(time)
    }

    /// What the server's clock says, in ms.
    pub fn now(&self) -> u64 {
        match self {
            Self::Model(clock) => clock.clock().unix_ms(),
            Self::Redis { now, .. } => now.load(Ordering::Relaxed),
            Self::OnConnections(now) => now.load(Ordering::SeqCst),
        }
    }

    /// Lets time pass.
    pub async fn advance(&self, ms: u64) -> Result<()> {
        if let Self::Model(clock) = self {
            clock.advance(Duration::from_millis(ms));
        }
        self.set(self.now() + ms).await
    }

    /// Sets the clock back.
    pub async fn set_back(&self, ms: u64) -> Result<()> {
        if let Self::Model(clock) = self {
            clock.set_back(Duration::from_millis(ms));
        }
        self.set(self.now() - ms).await
    }

    async fn set(&self, ms: u64) -> Result<()> {
        if let Self::Redis { link, key, now } = self {
            link.command(key.as_bytes(), redis::cmd("SET").arg(key).arg(ms)).await?;
            now.store(ms, Ordering::Relaxed);
        }
        if let Self::OnConnections(now) = self {
            now.store(ms, Ordering::SeqCst);
        }
        Ok(())
    }
}

/// A link to the run's shared Redis, under a prefix of its own.
pub(super) async fn shared_link() -> Result<(Link, SharedRedis)> {
    let redis = park::redis().await?;
    let mut options = LinkOptions::from_url(&redis.url)?;
    options.prefix.clone_from(&redis.prefix);
    Ok((Link::connect(options, Clock::system()).await?, redis))
}
