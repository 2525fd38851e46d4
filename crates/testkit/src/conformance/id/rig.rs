//! A scope, its backend, and a clock that a test advances.

use crate::conformance::rig::{ServerTime, shared_link};
use crate::park::SharedRedis;
use anyhow::{Result, bail};
use evenkeel::Token;
use evenkeel::id::Layout;
use evenkeel::link::Link;
use evenkeel::testing::TestClock;
use evenkeel_protocol::id::settings::Settings;
use evenkeel_protocol::id::steps::{Acquire, Call, Extend, Refused, Release, Replied, Reserved};
use evenkeel_protocol::id::{Scope, ScopeBackend, Sequence, WitnessBackend};

/// The settings of the suite's scope, with four worker ids.
pub const SETTINGS: Settings =
    Settings { layout: Layout::new(41, 2, 12), ahead_ms: 3_000, margin_ms: 1_000, lease_ms: 30_000 };

/// A scope, and the clock of its server.
pub struct Rig {
    /// What runs the steps.
    pub scopes: ScopeBackend,
    /// The clock they go by.
    pub time: ServerTime,
    /// The scope of the suite.
    pub scope: Scope,
    /// What runs the steps of witnesses.
    pub witnesses: WitnessBackend,
    /// The sequence of the suite.
    pub sequence: Sequence,
    _redis: Option<SharedRedis>,
}

/// The owner with this number.
#[must_use]
pub fn owner(number: u8) -> Token {
    Token::from([number; 16])
}

impl Rig {
    /// The model.
    pub async fn memory() -> Result<Self> {
        let clock = TestClock::default();
        let (scopes, witnesses) = (ScopeBackend::memory(clock.clock()), WitnessBackend::memory(clock.clock()));
        Self::of(scopes, witnesses, ServerTime::Model(clock), None)
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
        Self::of(ScopeBackend::redis(link.clone()), WitnessBackend::redis(link), time, None)
    }

    fn of(
        scopes: ScopeBackend,
        witnesses: WitnessBackend,
        time: ServerTime,
        redis: Option<SharedRedis>,
    ) -> Result<Self> {
        let (scope, sequence) = (scopes.scope("orders")?, witnesses.sequence("invoices")?);
        Ok(Self { scopes, time, scope, witnesses, sequence, _redis: redis })
    }

    /// The call of this owner, whose clock agrees with the server's.
    #[must_use]
    pub fn call(&self, number: u8) -> Call {
        Call { owner: owner(number), settings: SETTINGS, own_ms: self.time.now() }
    }

    /// An acquisition by this owner.
    pub async fn ask(&self, number: u8) -> Result<Replied> {
        Ok(self.scopes.run(&self.scope, &Acquire(self.call(number))).await?)
    }

    /// An acquisition by this owner, which must succeed.
    pub async fn acquire(&self, number: u8) -> Result<Reserved> {
        granted(self.ask(number).await?)
    }

    /// An extension by this owner of this worker id.
    pub async fn ask_more(&self, number: u8, worker: u16) -> Result<Replied> {
        Ok(self.scopes.run(&self.scope, &Extend { call: self.call(number), worker }).await?)
    }

    /// An extension, which must succeed.
    pub async fn extend(&self, number: u8, worker: u16) -> Result<Reserved> {
        granted(self.ask_more(number, worker).await?)
    }

    /// A release by this owner of this worker id.
    pub async fn release(&self, number: u8, worker: u16) -> Result<Replied> {
        Ok(self.scopes.run(&self.scope, &Release { call: self.call(number), worker }).await?)
    }

    /// Lets time pass for this long, with the extensions of an owner, one each second.
    pub async fn keep(&self, number: u8, worker: u16, seconds: u64) -> Result<Reserved> {
        let mut last = self.extend(number, worker).await?;
        for _ in 0..seconds {
            self.time.advance(1_000).await?;
            last = self.extend(number, worker).await?;
        }
        Ok(last)
    }
}

/// What was reserved.
pub(super) fn granted(replied: Replied) -> Result<Reserved> {
    match replied {
        Ok(reserved) => Ok(reserved),
        Err(refused) => bail!("{refused:?}"),
    }
}

/// Why nothing was reserved; something must not be.
pub(super) fn refused(replied: Replied) -> Result<Refused> {
    match replied {
        Ok(reserved) => bail!("{reserved:?}"),
        Err(refused) => Ok(refused),
    }
}
