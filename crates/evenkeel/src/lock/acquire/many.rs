//! Several locks at once.

use super::attempt::Wait;
use super::builder::LockBuilder;
use crate::keel::Keel;
use crate::lock::hold::guard::{Guard, Release};
use evenkeel_protocol::lock::error::{LockError, Lost};
use std::future::{Future, poll_fn};
use std::task::Poll;

/// Several locks, taken one after another in the order of their names, so that callers that take several this way never deadlock.
///
/// Not guaranteed: atomicity. Others see some of them taken while the rest is waited for, and each has a lease and a fence of its own.
/// Dropping them releases them in the background: where they must be free right after, await [`release`](Self::release).
#[must_use = "the locks are given back as soon as the guards are dropped"]
#[derive(Debug)]
pub struct Guards(Vec<Guard>);

impl Keel {
    /// Waits for all these locks, each asked for as `with` says (`|lock| lock.ttl(..)`). A name that is there twice counts once.
    ///
    /// Guaranteed: all of them, or none: what was taken is given back when one fails, or when the future is dropped.
    /// [`wait`](LockBuilder::wait) counts for the whole.
    ///
    /// # Errors
    /// As [`LockBuilder::acquire`].
    pub async fn lock_many(
        &self,
        names: &[&str],
        with: impl Fn(LockBuilder) -> LockBuilder,
    ) -> Result<Guards, LockError> {
        let mut names: Vec<&str> = names.to_vec();
        names.sort_unstable();
        names.dedup();
        let began = self.clock().now();
        let mut guards = Vec::with_capacity(names.len());
        for name in names {
            let lock = with(self.lock(name));
            let lock = match lock.waits() {
                Wait::UpTo(limit) => lock.wait(limit.saturating_sub(self.clock().now().since(began))),
                Wait::No | Wait::Forever => lock,
            };
            // Dropping `guards` on the way out gives back what was taken.
            guards.push(lock.acquire().await?);
        }
        Ok(Guards(guards))
    }
}

impl Guards {
    /// The guard of each lock, in the order of the names.
    pub fn each(&self) -> &[Guard] {
        &self.0
    }

    /// Looks at the clock: how one of the locks was lost, if one was.
    pub async fn lost(&self) -> Lost {
        let mut losses: Vec<_> = self.0.iter().map(|guard| Box::pin(guard.lost())).collect();
        poll_fn(|context| {
            let first = losses.iter_mut().find_map(|lost| match lost.as_mut().poll(context) {
                Poll::Ready(lost) => Some(lost),
                Poll::Pending => None,
            });
            first.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }

    /// Gives all of them back, in the opposite order; what was found of each, in the order of the names.
    ///
    /// # Errors
    /// The first of [`Guard::release`]; all others are given back nevertheless.
    pub async fn release(self) -> Result<Vec<Release>, LockError> {
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
