//! Retries after a conflict.

use super::conflict::{Conflict, Contended};
use super::policy::ConflictPolicy;
use evenkeel_link::clock::Clock;
use evenkeel_link::support::guard;
use metrics::counter;
use std::error::Error;
use std::future::Future;

/// How an attempt protects the rows that it changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approach {
    /// Read without locks, and compare the version when writing ([`Stale::unless`](super::Stale::unless)).
    Optimistic,
    /// Lock the rows while reading ([`ForUpdate`](super::ForUpdate)), because there were too many conflicts.
    Pessimistic,
}

/// Why a retried transaction did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum ConflictError<E: Error + 'static> {
    /// Every allowed attempt met a conflict. No attempt changed anything. There is too much contention for these rows: lock them
    /// ([`Keel::retry_adaptively`](crate::Keel::retry_adaptively)), queue the work, or reject the caller.
    #[error("gave up after {attempts} attempts, each of which met a conflict; the last one was {conflict}: {source}")]
    GaveUp {
        /// The number of attempts.
        attempts: u32,
        /// The last conflict.
        conflict: Conflict,
        /// The error of the last attempt.
        source: E,
    },
    /// The transaction failed for a reason other than a conflict.
    #[error(transparent)]
    Failed(E),
}

impl<E: Error + 'static> ConflictError<E> {
    /// The error of the last attempt.
    pub fn into_inner(self) -> E {
        match self {
            Self::GaveUp { source, .. } | Self::Failed(source) => source,
        }
    }

    /// Whether the same transaction may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::GaveUp { .. })
    }
}

/// As `Keel::retry_adaptively` documents.
pub(crate) async fn retry_adaptively<T, E, F>(
    clock: &Clock,
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
        clock.sleep(policy.delay(conflicts - 1)).await;
    }
}
