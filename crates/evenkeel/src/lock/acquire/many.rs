//! The acquisition of several locks.

use super::attempt::Wait;
use super::builder::LockBuilder;
use crate::lock::hold::guard::{Guard, ReleaseOutcome};
use crate::lock::store::locks::Locks;
use evenkeel_protocol::lock::error::{LockError, Lost};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use std::future::pending;

/// Several locks, acquired one after another in the order of their names, so that callers of [`Keel::lock_many`] never deadlock.
///
/// Not guaranteed: atomicity. Other processes see some of the locks taken while this one waits for the rest, and each lock has a lease and
/// a fence of its own. Dropping them releases them in the background: where they must be free at once, await [`release`](Self::release).
///
/// [`Keel::lock_many`]: crate::Keel::lock_many
#[must_use = "the locks are released as soon as the guards are dropped"]
#[derive(Debug)]
pub struct Guards(Vec<Guard>);

impl Guards {
    /// As `Keel::lock_many` documents.
    pub(crate) async fn acquire(
        locks: &Locks,
        names: &[&str],
        with: impl Fn(LockBuilder) -> LockBuilder,
    ) -> Result<Self, LockError> {
        let mut names: Vec<&str> = names.to_vec();
        names.sort_unstable();
        names.dedup();
        let began = locks.clock.now();
        let mut guards = Vec::with_capacity(names.len());
        for name in names {
            let lock = with(LockBuilder::new(locks, name));
            let lock = match lock.waits() {
                Wait::UpTo(limit) => lock.wait(limit.saturating_sub(locks.clock.now().since(began))),
                Wait::No | Wait::Forever => lock,
            };
            // An early return drops `guards`, which releases the acquired locks.
            guards.push(lock.acquire().await?);
        }
        Ok(Self(guards))
    }

    /// The guards, in the order of the names.
    pub fn each(&self) -> &[Guard] {
        &self.0
    }

    /// Completes when one of the locks is lost.
    pub async fn lost(&self) -> Lost {
        let mut losses: FuturesUnordered<_> = self.0.iter().map(Guard::lost).collect();
        match losses.next().await {
            Some(lost) => lost,
            None => pending().await,
        }
    }

    /// Releases all locks, in reverse order; returns the results in the order of the names.
    ///
    /// # Errors
    /// The first error of [`Guard::release`]; the other locks are released all the same.
    pub async fn release(self) -> Result<Vec<ReleaseOutcome>, LockError> {
        let mut found = Vec::with_capacity(self.0.len());
        let mut failed = None;
        for guard in self.0.into_iter().rev() {
            match guard.release().await {
                Ok(release) => found.push(release),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        found.reverse();
        failed.map_or(Ok(found), Err)
    }
}
