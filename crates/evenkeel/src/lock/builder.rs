//! Asking for a lock.

use super::attempt::{Wait, Wanted, acquire};
use super::error::LockError;
use super::guard::Guard;
use super::name::LockName;
use super::steps::{Acquire, Fence, Holder, LockSteps};
use crate::keel::Keel;
use crate::token::Token;
use bytes::Bytes;
use std::time::Duration;

/// How long a lock is held without a renewal.
const TTL: Duration = Duration::from_secs(30);
/// How long one is held with renewals: a guard that was leaked must end some day.
const HOLD_MAX: Duration = Duration::from_secs(3_600);
const WAIT: Wait = Wait::UpTo(Duration::from_secs(30));

/// What may be said about a lock before it is acquired. All of it has defaults.
#[must_use = "a builder does nothing until `acquire`"]
#[derive(Clone)]
pub struct LockBuilder {
    keel: Keel,
    name: String,
    ttl: Duration,
    wait: Wait,
    hold_max: Option<Duration>,
    lock_delay: Duration,
    fence_floor: u64,
    metadata: String,
}

impl Keel {
    /// Begins the acquisition of the lock called `name`: 1 to 512 bytes that say what it protects, such as `stock/42`.
    pub fn lock(&self, name: &str) -> LockBuilder {
        LockBuilder {
            keel: self.clone(),
            name: name.to_owned(),
            ttl: TTL,
            wait: WAIT,
            hold_max: Some(HOLD_MAX),
            lock_delay: Duration::ZERO,
            fence_floor: 0,
            metadata: String::new(),
        }
    }

    /// The names of all locks that are held or cool, sorted. Walks the whole keyspace of a Redis, in small steps: for operators.
    ///
    /// # Errors
    /// [`LockError::Link`].
    pub async fn locks_held(&self) -> Result<Vec<LockName>, LockError> {
        self.locks().store.held().await
    }
}

impl LockBuilder {
    /// How long the lock stays taken after its holder has died. It is renewed every third of that. Default 30 s.
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = ttl;
        self
    }

    /// How long to wait while somebody else has it: [`Wait::No`], a `Duration`, or [`Wait::Forever`]. Default 30 s.
    pub fn wait(mut self, wait: impl Into<Wait>) -> Self {
        self.wait = wait.into();
        self
    }

    /// How long the lock may be held with renewals: then it is lost, so that a guard that was leaked or hangs does not keep it for
    /// ever. Default an hour; `None` for no limit.
    pub fn max_hold(mut self, limit: impl Into<Option<Duration>>) -> Self {
        self.hold_max = limit.into();
        self
    }

    /// How long nobody gets the lock after its lease has run out (not after a release): time for a holder that was paused to
    /// notice, for resources that check no fence. Default none.
    pub fn lock_delay(mut self, delay: Duration) -> Self {
        self.lock_delay = delay;
        self
    }

    /// A fence that was seen elsewhere, in the database say: the new one will be above it. Default none.
    pub fn fence_above(mut self, seen: Fence) -> Self {
        self.fence_floor = seen.0;
        self
    }

    /// What the holder says about itself to those who look (`evenkeel lock show`): at most 1 KiB. Default nothing.
    pub fn metadata(mut self, words: impl Into<String>) -> Self {
        self.metadata = words.into();
        self
    }

    /// Waits for the lock.
    ///
    /// Guaranteed: dropping this future at any point leaves nothing beyond a lease; what may have reached Redis is released.
    /// Tasks of this process get it in the order in which they asked, and other processes in between. Needs a tokio runtime.
    ///
    /// # Errors
    /// [`LockError::Busy`] after [`wait`](Self::wait); [`LockError::Link`] if Redis did not answer three times in a row;
    /// [`LockError::Invalid`] if it cannot work like this.
    pub async fn acquire(self) -> Result<Guard, LockError> {
        let wanted = self.wanted()?;
        acquire(self.keel.locks(), wanted).await
    }

    /// The lock if it is free now; `None` if not.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire), without `Busy`.
    pub async fn try_acquire(self) -> Result<Option<Guard>, LockError> {
        match self.wait(Wait::No).acquire().await {
            Ok(guard) => Ok(Some(guard)),
            Err(LockError::Busy { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Who holds the lock; `None` if it is free.
    ///
    /// # Errors
    /// [`LockError::Link`], [`LockError::Invalid`].
    pub async fn inspect(&self) -> Result<Option<Holder>, LockError> {
        self.keel.locks().store.inspect(&LockName::new(&self.name)?).await
    }

    /// Takes the lock away from whoever holds it, and ends its cooling. With `seen`, only from the holder with that fence. Answers
    /// what was taken away. The former holder learns of it at its next renewal; what it writes until then only a fence refuses.
    ///
    /// # Errors
    /// As [`inspect`](Self::inspect); after an unknown outcome look again.
    pub async fn break_lock(&self, seen: Option<Fence>) -> Result<Option<Holder>, LockError> {
        self.keel.locks().store.break_lock(&LockName::new(&self.name)?, seen).await
    }

    /// How long it waits.
    pub(super) fn waits(&self) -> Wait {
        self.wait
    }

    fn wanted(&self) -> Result<Wanted, LockError> {
        let ms = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        let call = Acquire {
            owner: Token::random(),
            process: self.keel.locks().process,
            lease_ms: ms(self.ttl),
            cooling_ms: ms(self.lock_delay),
            hold_ms_max: self.hold_max.map(|limit| ms(limit).max(1)),
            fence_floor: self.fence_floor,
            waits: self.wait != Wait::No,
            words: Bytes::copy_from_slice(self.metadata.as_bytes()),
        };
        Ok(Wanted { name: LockName::new(&self.name)?, call, wait: self.wait })
    }
}
