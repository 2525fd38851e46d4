//! Work that is done again after a conflict.

use super::conflict::{Conflict, Contended};
use super::policy::ConflictPolicy;
use crate::keel::Keel;
use evenkeel_link::support::guard;
use metrics::counter;
use std::error::Error;
use std::future::Future;

/// How an attempt is to go about its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approach {
    /// Read without locks, and compare the version when writing ([`Stale::unless`](super::Stale::unless)).
    Optimistic,
    /// Lock the rows while reading ([`ForUpdate`](super::ForUpdate)): there were too many conflicts.
    Pessimistic,
}

/// Why work did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum ConflictError<E: Error + 'static> {
    /// Every attempt met a conflict, and no more are allowed. Nothing of the work happened. Too many want these rows at once: lock
    /// them ([`Keel::retry_adaptively`]), queue the work, or turn the caller away.
    #[error("gave up after {attempts} attempts, each of which met a conflict; the last one was {conflict}: {source}")]
    GaveUp {
        /// How often the work was done.
        attempts: u32,
        /// The last conflict.
        conflict: Conflict,
        /// What the last attempt said.
        source: E,
    },
    /// The work failed, and not for a conflict.
    #[error(transparent)]
    Failed(E),
}

impl<E: Error + 'static> ConflictError<E> {
    /// What the last attempt said.
    pub fn into_inner(self) -> E {
        match self {
            Self::GaveUp { source, .. } | Self::Failed(source) => source,
        }
    }

    /// Whether the same work may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::GaveUp { .. })
    }
}

impl Keel {
    /// Does `work` until it meets no conflict: a row that somebody else has changed since it was read
    /// ([`Stale`](super::Stale)), a deadlock, a lock that was not given, a serialisation failure.
    ///
    /// `work` is a whole transaction, from its first read to its commit: it is called anew each time and must read anew.
    ///
    /// **Guarantee.** At most [`attempts`](ConflictPolicy::attempts) of them, with pauses in between. What is not a conflict is told
    /// at once, a lost connection above all: nobody knows whether that commit happened, and doing it again could do it twice.
    /// **Not guaranteed.** That it ever succeeds, while many want the same rows: see [`retry_adaptively`](Self::retry_adaptively).
    ///
    /// # Errors
    /// [`ConflictError::GaveUp`], [`ConflictError::Failed`].
    pub async fn retry_on_conflict<T, E, F>(
        &self,
        policy: &ConflictPolicy,
        mut work: impl FnMut() -> F,
    ) -> Result<T, ConflictError<E>>
    where
        E: Contended + Error + 'static,
        F: Future<Output = Result<T, E>>,
    {
        self.retry_adaptively(policy, u32::MAX, move |_| work()).await
    }

    /// As [`retry_on_conflict`](Self::retry_on_conflict); after `conflicts_max` conflicts `work` is told to lock its rows, which costs
    /// the others a wait and this one no further conflict over versions.
    ///
    /// # Errors
    /// As [`retry_on_conflict`](Self::retry_on_conflict).
    pub async fn retry_adaptively<T, E, F>(
        &self,
        policy: &ConflictPolicy,
        conflicts_max: u32,
        mut work: impl FnMut(Approach) -> F,
    ) -> Result<T, ConflictError<E>>
    where
        E: Contended + Error + 'static,
        F: Future<Output = Result<T, E>>,
    {
        let mut conflicts = 0;
        loop {
            let locks = conflicts >= conflicts_max && guard("conflicts_then_lock");
            let approach = if locks { Approach::Pessimistic } else { Approach::Optimistic };
            let error = match work(approach).await {
                Ok(done) => return Ok(done),
                Err(error) => error,
            };
            let Some(conflict) = error.conflict() else { return Err(ConflictError::Failed(error)) };
            counter!("evenkeel_sql_conflicts_total", "conflict" => conflict.label()).increment(1);
            conflicts += 1;
            if conflicts >= policy.attempts_max && guard("conflicts_are_bounded") {
                counter!("evenkeel_sql_conflicts_given_up_total").increment(1);
                return Err(ConflictError::GaveUp { attempts: conflicts, conflict, source: error });
            }
            self.clock().sleep(policy.delay(conflicts - 1)).await;
        }
    }
}
