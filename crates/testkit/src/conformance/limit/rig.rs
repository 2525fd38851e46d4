//! Limits, their backend, and a clock that a test advances.

use crate::conformance::rig::{ServerTime, shared_link};
use crate::park::SharedRedis;
use anyhow::{Result, bail};
use evenkeel::Token;
use evenkeel::limit::{LimitError, Quota, Rate, Window};
use evenkeel::link::Link;
use evenkeel::testing::TestClock;
use evenkeel_protocol::limit::steps::{Attend, Debit, Debited, Level};
use evenkeel_protocol::limit::{LimitBackend, Subject};
use std::time::Duration;

/// The limit and the first subject of the suite.
const LIMIT: &str = "api";
const SUBJECT: &str = "acme:}%";

/// Limits, and the clock of their store.
pub struct Rig {
    /// What runs the steps.
    pub limits: LimitBackend,
    /// The clock they go by.
    pub time: ServerTime,
    _redis: Option<SharedRedis>,
}

/// So many tokens in so many ms, and a burst.
#[must_use]
pub fn rate(tokens: u32, period_ms: u64, burst: u32) -> Quota {
    Rate::new(tokens, Duration::from_millis(period_ms)).burst(burst).into()
}

/// At most so many tokens in so many ms.
#[must_use]
pub fn window(tokens: u32, period_ms: u64) -> Quota {
    Window::new(tokens, Duration::from_millis(period_ms)).into()
}

impl Rig {
    /// The model.
    pub async fn memory() -> Result<Self> {
        let clock = TestClock::default();
        Ok(Self { limits: LimitBackend::memory(clock.clock()), time: ServerTime::Model(clock), _redis: None })
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
        Ok(Self { limits: LimitBackend::redis(link), time, _redis: None })
    }

    /// The first subject of the suite.
    #[must_use]
    pub fn subject(&self) -> Subject {
        self.limits.subject(LIMIT, SUBJECT)
    }

    /// Runs a debit of these levels, with the subjects `key-0`, `key-1`, .. after the first.
    pub async fn debit(&self, quotas: &[Quota], tokens: u32, wait_ms_max: u64) -> Result<Debited, LimitError> {
        let names = ["tenant", "key", "user"];
        let further = ["key-0", "key-1"];
        let level = |(place, quota): (usize, &Quota)| Level::new(names[place], *quota, &further[..place]);
        let levels = quotas.iter().enumerate().map(level).collect();
        self.limits.run(&self.subject(), &Debit { tokens, wait_ms_max, levels }).await
    }

    /// Takes tokens of one level, which must be available now; returns how many are left.
    pub async fn take(&self, quota: Quota, tokens: u32) -> Result<u64> {
        match self.debit(&[quota], tokens, 0).await? {
            Debited::Admitted { wait_ms: 0, remaining } => Ok(remaining),
            other => bail!("{other:?}"),
        }
    }

    /// Asks for tokens of one level, which must not be available now; returns the time after which they would be.
    pub async fn refused(&self, quota: Quota, tokens: u32) -> Result<u64> {
        match self.debit(&[quota], tokens, 0).await? {
            Debited::Refused { retry_after_ms, level: 0 } => Ok(retry_after_ms),
            other => bail!("{other:?}"),
        }
    }

    /// Reserves a token of one level; returns the wait.
    pub async fn reserve(&self, quota: Quota, wait_ms_max: u64) -> Result<u64> {
        match self.debit(&[quota], 1, wait_ms_max).await? {
            Debited::Admitted { wait_ms, .. } => Ok(wait_ms),
            other => bail!("{other:?}"),
        }
    }

    /// An instance uses the limit of the suite; returns how many there are.
    pub async fn attend(&self, number: u8) -> Result<u32> {
        let attend = Attend { instance: Token::from([number; 16]) };
        Ok(self.limits.run(&self.limits.instances(LIMIT), &attend).await?)
    }
}
