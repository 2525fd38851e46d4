//! Asking for a lock.

use super::attempt::{Wait, Wanted, acquire};
use super::error::LockError;
use super::guard::Guard;
use super::locks::Locks;
use super::name::LockName;
use super::steps::{Acquire, Fence, Holder, LockSteps};
use super::terms::LockTerms;
use crate::keel::Keel;
use crate::token::Token;
use bytes::Bytes;
use std::time::Duration;

/// What may be said about a lock before it is acquired. All of it has defaults.
#[must_use = "a builder does nothing until `acquire`"]
#[derive(Clone)]
pub struct LockBuilder {
    locks: Locks,
    name: String,
    terms: LockTerms,
    fence_floor: u64,
}

impl Keel {
    /// Begins the acquisition of the lock called `name`: 1 to 512 bytes that say what it protects, such as `stock/42`.
    pub fn lock(&self, name: &str) -> LockBuilder {
        LockBuilder::new(self.locks(), name)
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
    pub(super) fn new(locks: &Locks, name: &str) -> Self {
        Self { locks: locks.clone(), name: name.to_owned(), terms: LockTerms::default(), fence_floor: 0 }
    }

    /// All of [`LockTerms`] at once.
    pub fn terms(mut self, terms: LockTerms) -> Self {
        self.terms = terms;
        self
    }

    /// How long the lock stays taken after its holder has died. It is renewed every third of that. Default 30 s.
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.terms = self.terms.ttl(ttl);
        self
    }

    /// How long to wait while somebody else has it: [`Wait::No`], a `Duration`, or [`Wait::Forever`]. Default 30 s.
    pub fn wait(mut self, wait: impl Into<Wait>) -> Self {
        self.terms = self.terms.wait(wait);
        self
    }

    /// How long the lock may be held with renewals: then it is lost, so that a guard that was leaked or hangs does not keep it for
    /// ever. Default an hour; `None` for no limit.
    pub fn max_hold(mut self, limit: impl Into<Option<Duration>>) -> Self {
        self.terms = self.terms.max_hold(limit);
        self
    }

    /// How long nobody gets the lock after its lease has run out (not after a release): time for a holder that was paused to
    /// notice, for resources that check no fence. Default none.
    pub fn lock_delay(mut self, delay: Duration) -> Self {
        self.terms = self.terms.lock_delay(delay);
        self
    }

    /// A fence that was seen elsewhere, in the database say: the new one will be above it. Default none.
    pub fn fence_above(mut self, seen: Fence) -> Self {
        self.fence_floor = seen.0;
        self
    }

    /// What the holder says about itself to those who look (`evenkeel lock show`): at most 1 KiB. Default nothing.
    pub fn metadata(mut self, words: impl Into<String>) -> Self {
        self.terms = self.terms.metadata(words);
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
        acquire(&self.locks, wanted).await
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
        self.locks.store.inspect(&LockName::new(&self.name)?).await
    }

    /// Takes the lock away from whoever holds it, and ends its cooling. With `seen`, only from the holder with that fence. Answers
    /// what was taken away. The former holder learns of it at its next renewal; what it writes until then only a fence refuses.
    ///
    /// # Errors
    /// As [`inspect`](Self::inspect); after an unknown outcome look again.
    pub async fn break_lock(&self, seen: Option<Fence>) -> Result<Option<Holder>, LockError> {
        self.locks.store.break_lock(&LockName::new(&self.name)?, seen).await
    }

    /// How long it waits.
    pub(super) fn waits(&self) -> Wait {
        self.terms.wait
    }

    fn wanted(&self) -> Result<Wanted, LockError> {
        let ms = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        let terms = &self.terms;
        let call = Acquire {
            owner: Token::random(),
            process: self.locks.process,
            lease_ms: ms(terms.ttl),
            cooling_ms: ms(terms.lock_delay),
            hold_ms_max: terms.hold_max.map(|limit| ms(limit).max(1)),
            fence_floor: self.fence_floor,
            waits: terms.wait != Wait::No,
            words: Bytes::copy_from_slice(terms.metadata.as_bytes()),
        };
        Ok(Wanted { name: LockName::new(&self.name)?, call, wait: terms.wait })
    }
}
