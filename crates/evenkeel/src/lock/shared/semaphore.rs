//! [`Semaphore`]: as many at once as there are permits, over all processes.

use crate::keel::Keel;
use crate::lock::acquire::attempt::{Wanted, acquire, at_once};
use crate::lock::acquire::mode::Mode;
use crate::lock::acquire::setters::setters;
use crate::lock::acquire::terms::LockTerms;
use crate::lock::hold::guard::{Guard, Release};
use crate::lock::store::locks::Locks;
use evenkeel_link::Token;
use evenkeel_protocol::lock::error::{LockError, Lost};
use evenkeel_protocol::lock::name::LockName;
use evenkeel_protocol::lock::pool::steps::{Kind, Pool, PoolHolder, PoolState};
use std::fmt;
use std::future::Future;
use std::time::Duration;

/// A number of permits that the processes of a fleet share, each held under a lease.
///
/// Who waits has a place in a queue, in the order of asking over all processes; who asks for many permits keeps those back who asked
/// later, for ten seconds, then lets them pass for ten seconds, and so on.
///
/// **There is no fence.** Those who hold permits at the same time have no order, so a resource cannot tell who came too late. A
/// process that was paused beyond its lease goes on next to the one that got its permit: for a moment more work together than there
/// are permits. Use it to bound load, not to protect data.
///
/// The number of permits is stored at the first use; a program that names another number is refused ([`LockError::Differs`]) until
/// all agree, or [`resize`](Self::resize) changed it.
#[derive(Clone)]
pub struct Semaphore {
    locks: Locks,
    name: String,
    permits: u32,
}

/// What may be said about permits before they are acquired. All of it has defaults.
#[must_use = "a builder does nothing until `acquire`"]
#[derive(Clone)]
pub struct PermitsBuilder {
    semaphore: Semaphore,
    wanted: u32,
    terms: LockTerms,
}

/// Held permits of a semaphore. They are renewed in the background, and given back when this is dropped: in memory at once, on Redis in
/// the background, so that a [`try_acquire`](PermitsBuilder::try_acquire) right after the drop may find none. Where that matters, await
/// [`release`](Self::release).
#[must_use = "the permits are given back as soon as this is dropped"]
pub struct Permits {
    guard: Guard,
    count: u32,
}

impl Keel {
    /// The semaphore called `name` with so many permits: 1 to 500.
    ///
    /// ```
    /// # use evenkeel::Keel;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let keel = Keel::memory();
    /// let mailer = keel.semaphore("mailer", 3);
    /// let two = mailer.take(2).acquire().await?;
    /// let one = mailer.acquire().await?;
    /// assert!(mailer.take(1).try_acquire().await?.is_none());
    /// drop(two);
    /// assert!(mailer.take(2).try_acquire().await?.is_some());
    /// # drop(one);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn semaphore(&self, name: &str, permits: u32) -> Semaphore {
        Semaphore { locks: self.locks().clone(), name: name.to_owned(), permits }
    }

    /// The names of the semaphores that are in use, or were in the last two days; sorted. Walks the whole keyspace of a Redis, in
    /// small steps: for operators.
    ///
    /// # Errors
    /// [`LockError::Link`].
    pub async fn semaphores_known(&self) -> Result<Vec<LockName>, LockError> {
        self.locks().store.pools()?.names(Kind::Semaphore).await
    }
}

impl Semaphore {
    /// Begins the acquisition of `permits` at once: all of them, or none.
    pub fn take(&self, permits: u32) -> PermitsBuilder {
        PermitsBuilder { semaphore: self.clone(), wanted: permits, terms: LockTerms::default() }
    }

    /// Waits for one permit, with the defaults of [`take`](Self::take).
    ///
    /// # Errors
    /// As [`PermitsBuilder::acquire`].
    pub async fn acquire(&self) -> Result<Permits, LockError> {
        self.take(1).acquire().await
    }

    /// Stores this handle's number of permits as that of the semaphore: programs with the old number are refused from then on. Who
    /// holds some keeps them, so after a decrease none is granted until enough were given back.
    ///
    /// # Errors
    /// [`LockError::Link`], [`LockError::Invalid`].
    pub async fn resize(&self) -> Result<(), LockError> {
        self.locks.store.pools()?.resize(&self.pool()?, self.permits).await
    }

    /// Who holds permits, and how many wait; `None` if it was not used lately.
    ///
    /// # Errors
    /// [`LockError::Link`], [`LockError::Invalid`].
    pub async fn inspect(&self) -> Result<Option<PoolState>, LockError> {
        self.locks.store.pools()?.inspect(&self.pool()?).await
    }

    /// Takes permits away from `owner` ([`inspect`](Self::inspect) names it), or from everybody. Answers from whom. They learn of it
    /// at their next renewals, and go on until then.
    ///
    /// # Errors
    /// As [`inspect`](Self::inspect); after an unknown outcome look again.
    pub async fn break_holds(&self, owner: Option<Token>) -> Result<Vec<PoolHolder>, LockError> {
        self.locks.store.pools()?.break_holds(&self.pool()?, owner).await
    }

    fn pool(&self) -> Result<Pool, LockError> {
        Ok(Pool { kind: Kind::Semaphore, name: LockName::new(&self.name)? })
    }
}

impl PermitsBuilder {
    setters!("a permit");

    /// Waits for the permits.
    ///
    /// Guaranteed: dropping this future at any point leaves nothing beyond a lease, and no place in the queue for longer than two
    /// seconds. Needs a tokio runtime.
    ///
    /// # Errors
    /// [`LockError::Busy`] after [`wait`](Self::wait); [`LockError::Differs`] if the semaphore has another number of permits;
    /// [`LockError::Link`] if Redis did not answer three times in a row; [`LockError::Invalid`] if it cannot work like this.
    pub async fn acquire(self) -> Result<Permits, LockError> {
        let guard = acquire(&self.semaphore.locks, self.wanted()?).await?;
        Ok(Permits { guard, count: self.wanted })
    }

    /// The permits if they are to be had now; `None` if not.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire), without `Busy`.
    pub async fn try_acquire(self) -> Result<Option<Permits>, LockError> {
        let guard = at_once(&self.semaphore.locks, self.wanted()?).await?;
        Ok(guard.map(|guard| Permits { guard, count: self.wanted }))
    }

    fn wanted(&self) -> Result<Wanted, LockError> {
        let mode = Mode::Permits { wanted: self.wanted, in_all: self.semaphore.permits };
        Wanted::new(&self.semaphore.locks, &self.semaphore.name, mode, &self.terms, 0)
    }
}

impl Permits {
    /// The semaphore's name.
    #[must_use]
    pub fn name(&self) -> &LockName {
        self.guard.name()
    }

    /// How many they are.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// What is left of the lease without another renewal; zero once they are lost.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.guard.remaining()
    }

    /// Looks at the clock: whether they are lost. Once they are, they stay so.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.guard.is_lost()
    }

    /// As [`Guard::lost`].
    pub async fn lost(&self) -> Lost {
        self.guard.lost().await
    }

    /// As [`Guard::expiring_soon`].
    pub async fn expiring_soon(&self) {
        self.guard.expiring_soon().await;
    }

    /// Runs `future` while the permits are held. If they are lost, the future is dropped, and never polled again.
    ///
    /// # Errors
    /// [`Lost`]: the future was dropped in the middle of whatever it did.
    pub async fn run<F: Future>(&self, future: F) -> Result<F::Output, Lost> {
        self.guard.run(future).await
    }

    /// Gives them back and says what is known about it, as [`Guard::release`].
    ///
    /// # Errors
    /// [`LockError::Link`]: Redis did not answer; they end with their lease, nothing is to be done.
    pub async fn release(self) -> Result<Release, LockError> {
        self.guard.release().await
    }
}

impl fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Semaphore").field("name", &self.name).field("permits", &self.permits).finish_non_exhaustive()
    }
}

impl fmt::Debug for Permits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Permits");
        shown.field("name", self.name()).field("count", &self.count).field("remaining", &self.remaining()).finish()
    }
}
