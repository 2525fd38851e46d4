//! [`LockBuilder`]: the settings of an acquisition.

use super::attempt::{LockRequest, Wait, acquire, at_once};
use super::mode::Mode;
use super::setters::term_setters;
use super::terms::LockTerms;
use crate::lock::exclusive::{BoxFuture, ExclusiveGuard};
use crate::lock::hold::guard::Guard;
use crate::lock::shared::stripes::Stripes;
use crate::lock::store::locks::Locks;
use evenkeel_protocol::lock::error::LockError;
use evenkeel_protocol::lock::name::LockName;
use evenkeel_protocol::lock::steps::{Fence, Holder};
use std::time::Duration;

/// The settings of an acquisition. Every setting has a default.
#[must_use = "a builder does nothing until `acquire`"]
#[derive(Clone)]
pub struct LockBuilder {
    locks: Locks,
    name: String,
    mode: Mode,
    pub(crate) terms: LockTerms,
    pub(crate) fence_floor: u64,
    /// The stripes that the lock belongs to, if their number must be checked.
    stripes: Option<Stripes>,
}

impl LockBuilder {
    pub(crate) fn new(locks: &Locks, name: &str) -> Self {
        let (locks, name) = (locks.clone(), name.to_owned());
        Self { locks, name, mode: Mode::Exclusive, terms: LockTerms::default(), fence_floor: 0, stripes: None }
    }

    term_setters!(terms, "the lock", "");

    setters! {
        /// How long the lock stays unavailable after its lease has expired (not after a release). It gives a paused holder time to notice the
        /// loss, for resources that do not check fencing tokens. Default none.
        pub fn lock_delay(delay: Duration) => terms.lock_delay = delay;

        /// A fence that was seen elsewhere, for example in the database: the new fence will be above it. Default none.
        pub fn fence_above(seen: Fence) => fence_floor = seen.0;
    }

    /// Waits for the lock.
    ///
    /// Guaranteed: dropping this future at any point leaves nothing beyond a lease; an acquisition that may have reached Redis is released.
    /// Tasks of this process get the lock in the order in which they asked, with other processes in between. Needs a tokio runtime.
    ///
    /// # Errors
    /// [`LockError::Busy`] after [`wait`](Self::wait); [`LockError::Link`] if Redis did not answer three times in a row
    /// (`LockError::Database` for a database, [`LockError::NoQuorum`] for a Redlock); [`LockError::Invalid`] if the name or a setting is
    /// invalid.
    pub async fn acquire(self) -> Result<Guard, LockError> {
        self.check_stripes().await?;
        acquire(&self.locks, self.request()?).await
    }

    /// Acquires the lock if it is free now; `None` if it is taken.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire), without `Busy`.
    pub async fn try_acquire(self) -> Result<Option<Guard>, LockError> {
        self.check_stripes().await?;
        at_once(&self.locks, self.request()?).await
    }

    /// The holder of the lock; `None` if it is free.
    ///
    /// # Errors
    /// [`LockError::Link`], [`LockError::Invalid`].
    pub async fn inspect(&self) -> Result<Option<Holder>, LockError> {
        self.locks.store.inspect(&LockName::new(&self.name)?).await
    }

    /// Breaks the lock: takes it away from its holder, and ends its lock delay. With `seen`, only from the holder with that fence. Returns
    /// the former holder, which detects this at its next renewal; only a check of its fence rejects what it writes until then.
    ///
    /// # Errors
    /// As [`inspect`](Self::inspect); after an unknown outcome, inspect the lock again.
    pub async fn break_lock(&self, seen: Option<Fence>) -> Result<Option<Holder>, LockError> {
        self.locks.store.break_lock(&LockName::new(&self.name)?, seen).await
    }

    /// Acquires the lock with these terms.
    pub(crate) fn acquire_boxed<'a>(
        self,
        terms: &LockTerms,
    ) -> BoxFuture<'a, Result<Box<dyn ExclusiveGuard>, LockError>> {
        let lock = self.terms(terms.clone());
        Box::pin(async move { Ok(Box::new(lock.acquire().await?) as Box<dyn ExclusiveGuard>) })
    }

    /// Acquires in this mode instead of the exclusive one.
    pub(crate) fn in_mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// Makes this one of the locks of these stripes.
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

    /// The waiting time.
    pub(crate) fn waits(&self) -> Wait {
        self.terms.wait
    }

    fn request(&self) -> Result<LockRequest, LockError> {
        LockRequest::new(&self.locks, &self.name, self.mode, &self.terms, self.fence_floor)
    }
}
