//! Asking for a lock.

use super::attempt::{Wait, Wanted, acquire, at_once};
use super::mode::Mode;
use super::terms::LockTerms;
use crate::keel::Keel;
use crate::lock::hold::guard::Guard;
use crate::lock::shared::stripes::Stripes;
use crate::lock::store::locks::Locks;
use evenkeel_protocol::lock::error::LockError;
use evenkeel_protocol::lock::name::LockName;
use evenkeel_protocol::lock::steps::{Fence, Holder};
use std::time::Duration;

/// What may be said about a lock before it is acquired. All of it has defaults.
#[must_use = "a builder does nothing until `acquire`"]
#[derive(Clone)]
pub struct LockBuilder {
    locks: Locks,
    name: String,
    terms: LockTerms,
    fence_floor: u64,
    /// What it is one of, if its number must be agreed upon.
    stripes: Option<Stripes>,
}

impl Keel {
    /// Begins the acquisition of the lock called `name`: 1 to 512 bytes that say what it protects, such as `stock/42`. While somebody
    /// else has it, [`acquire`](LockBuilder::acquire) waits for 30 seconds; in a request handler say
    /// [`wait`](LockBuilder::wait) with what the request can bear, or [`try_acquire`](LockBuilder::try_acquire).
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
    pub(crate) fn new(locks: &Locks, name: &str) -> Self {
        let (locks, name) = (locks.clone(), name.to_owned());
        Self { locks, name, terms: LockTerms::default(), fence_floor: 0, stripes: None }
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

    /// How long to wait while another holder has it: [`Wait::No`], a `Duration`, or [`Wait::Forever`]. Default 30 s.
    pub fn wait(mut self, wait: impl Into<Wait>) -> Self {
        self.terms = self.terms.wait(wait);
        self
    }

    /// How long the lock may be held with renewals: then it is lost, so that a guard that was leaked or hangs does not keep it for
    /// ever. Default an hour; `None` for no limit, as is a hundred years or more.
    pub fn max_hold(mut self, limit: impl Into<Option<Duration>>) -> Self {
        self.terms = self.terms.max_hold(limit);
        self
    }

    /// How long the lock stays unavailable after its lease has run out (not after a release): time for a holder that was paused to
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
    /// [`LockError::Busy`] after [`wait`](Self::wait); [`LockError::Link`] if Redis did not answer three times in a row (`LockError::Database`
    /// of a database, [`LockError::NoQuorum`] of a Redlock); [`LockError::Invalid`] if it cannot work like this.
    pub async fn acquire(self) -> Result<Guard, LockError> {
        self.check_stripes().await?;
        acquire(&self.locks, self.wanted()?).await
    }

    /// The lock if it is free now; `None` if not.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire), without `Busy`.
    pub async fn try_acquire(self) -> Result<Option<Guard>, LockError> {
        self.check_stripes().await?;
        at_once(&self.locks, self.wanted()?).await
    }

    /// Who holds the lock; `None` if it is free.
    ///
    /// # Errors
    /// [`LockError::Link`], [`LockError::Invalid`].
    pub async fn inspect(&self) -> Result<Option<Holder>, LockError> {
        self.locks.store.inspect(&LockName::new(&self.name)?).await
    }

    /// Takes the lock away from its holder, and ends its cooling. With `seen`, only from the holder with that fence. Answers
    /// what was taken away. The former holder learns of it at its next renewal; what it writes until then only a fence refuses.
    ///
    /// # Errors
    /// As [`inspect`](Self::inspect); after an unknown outcome look again.
    pub async fn break_lock(&self, seen: Option<Fence>) -> Result<Option<Holder>, LockError> {
        self.locks.store.break_lock(&LockName::new(&self.name)?, seen).await
    }

    /// One of the locks of these stripes.
    pub(crate) fn of_stripes(mut self, stripes: Stripes) -> Self {
        self.stripes = Some(stripes);
        self
    }

    async fn check_stripes(&self) -> Result<(), LockError> {
        match &self.stripes {
            Some(stripes) => stripes.check().await,
            None => Ok(()),
        }
    }

    /// How long it waits.
    pub(crate) fn waits(&self) -> Wait {
        self.terms.wait
    }

    fn wanted(&self) -> Result<Wanted, LockError> {
        Wanted::new(&self.locks, &self.name, Mode::Exclusive, &self.terms, self.fence_floor)
    }
}
