//! [`change`]: attempts a change by a strategy until it is committed, is rejected, or the attempts are used up.

use super::attempt::Attempt;
use super::context::StrategyContext;
use super::{conditional, fenced, optimistic, pessimistic, segmented, split, unfenced};
use crate::domain::{ChangeRejected, StockChange, Strategy};
use crate::store::StoreError;
use crate::store::database::{Dialect, Pools};
use crate::store::tables::ledger::RecordedCause;
use evenkeel::lock::{FenceError, LockError};
use evenkeel::sql::{Conflict, ConflictError, ConflictPolicy, Contended, SqlError};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// The first and the longest pause between two attempts. A change takes milliseconds; with fifty changes of one product, shorter pauses
/// would spend most of the database's work on attempts that conflict.
const PAUSES: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(250));

/// A committed change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Applied {
    /// Quantity in stock after the change. (Of a segmented stock: approximately.)
    pub quantity: i64,
    /// Of an arrival: quantity and number of deliveries of that day, with this one.
    pub arrived: Option<(i64, i64)>,
    /// Number of attempts that another change made conflict.
    pub conflicts: u32,
    /// Number of attempts that conflicted although a lock should have excluded all others.
    pub interferences: u32,
}

/// Why a change was not committed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChangeError {
    /// The rule forbids it.
    #[error(transparent)]
    Rejected(#[from] ChangeRejected),
    /// The order does not exist or is already released.
    #[error("the order does not exist or is already released")]
    NothingToRelease,
    /// Every attempt conflicted. Nothing was changed; try again.
    #[error("{conflicts} attempts conflicted with other changes of the product; try again")]
    Conflict {
        /// Number of attempts.
        conflicts: u32,
    },
    /// The lock was not acquired in time, or Redis did not respond. Nothing was changed.
    #[error("the lock was not acquired: {0}")]
    Lock(LockError),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A committed attempt.
pub(super) struct Committed {
    pub(super) quantity: i64,
    pub(super) cause: RecordedCause,
}

/// Why an attempt ended without a commit, except for [`StoreError::CommitUnknown`].
#[derive(Debug, thiserror::Error)]
pub(super) enum AttemptError {
    /// A repetition does not help.
    #[error(transparent)]
    Final(ChangeError),
    /// Another change was in the way: a deadlock, a newer version, a lost lock, an outdated fencing token.
    #[error("conflict with another change: {0}")]
    Conflict(Conflict),
    /// Another strategy changed the row although this one held a lock.
    #[error("another change was made under the lock")]
    Interference,
    /// The stock is split, and this strategy needs a single row.
    #[error("the stock is split")]
    IsSplit,
}

impl Contended for AttemptError {
    fn conflict(&self) -> Option<Conflict> {
        match self {
            Self::Final(_) => None,
            Self::Conflict(conflict) => Some(*conflict),
            Self::Interference | Self::IsSplit => Some(Conflict::Stale),
        }
    }
}

impl From<ChangeRejected> for AttemptError {
    fn from(rejected: ChangeRejected) -> Self {
        Self::Final(rejected.into())
    }
}

impl From<StoreError> for AttemptError {
    fn from(error: StoreError) -> Self {
        Self::Final(error.into())
    }
}

/// An error of a statement.
impl From<sqlx::Error> for AttemptError {
    fn from(error: sqlx::Error) -> Self {
        conflict(&error).map_or_else(|| StoreError::from(error).into(), Self::Conflict)
    }
}

/// An error of the library's transactions.
impl From<SqlError> for AttemptError {
    fn from(error: SqlError) -> Self {
        error.conflict().map_or_else(|| StoreError::from(error).into(), Self::Conflict)
    }
}

/// An error under a fencing token. An outdated token means a lost lock: the next attempt acquires it again.
impl From<FenceError> for AttemptError {
    fn from(error: FenceError) -> Self {
        match error {
            error if error.is_fenced() => Self::stale(),
            FenceError::CommitUnknown(error) => StoreError::CommitUnknown(error.to_string()).into(),
            FenceError::Lock(error) => Self::Final(ChangeError::Lock(error)),
            FenceError::Sql(error) if error.is_retryable() => Self::stale(),
            FenceError::Sql(error) => StoreError::from(error).into(),
            error => StoreError::Corrupt(error.to_string()).into(),
        }
    }
}

impl AttemptError {
    /// The row has a newer version than the one that was read.
    pub(super) fn stale() -> Self {
        Self::Conflict(Conflict::Stale)
    }

    fn no_redlock() -> Self {
        let reason = "no servers for redlock are configured".to_owned();
        Self::Final(ChangeError::Lock(LockError::Invalid(reason)))
    }

    /// An error of a commit.
    pub(super) fn of_commit(error: sqlx::Error) -> Self {
        conflict(&error).map_or_else(|| StoreError::of_commit(error).into(), Self::Conflict)
    }
}

/// The library's conflicts, and a row that another transaction has inserted in the meantime.
fn conflict(error: &sqlx::Error) -> Option<Conflict> {
    let is_duplicate = error.as_database_error().is_some_and(|known| known.is_unique_violation());
    Conflict::of(error).or(is_duplicate.then_some(Conflict::Stale))
}

/// Changes a stock by a strategy.
///
/// Guarantee, except for [`Strategy::Unfenced`]: `Ok` means that exactly this change was committed, with its cause and its movements; an
/// error means that it was not, unless it is [`StoreError::CommitUnknown`].
///
/// # Errors
/// See [`ChangeError`].
pub(crate) async fn change<DB: Dialect>(
    pools: &Pools<DB>,
    context: &StrategyContext,
    strategy: Strategy,
    change: &StockChange,
    now_ms: i64,
) -> Result<Applied, ChangeError> {
    let (conflicts, interferences) = (AtomicU32::new(0), AtomicU32::new(0));
    let policy = ConflictPolicy::default().attempts(context.attempts_max).delays(PAUSES.0, PAUSES.1);
    let of = Attempt { pools, context, change, now_ms };
    let attempt = || {
        Box::pin(async {
            let error = match attempt(&of, strategy).await {
                Ok(committed) => return Ok(committed),
                Err(error) => error,
            };
            match &error {
                AttemptError::Conflict(_) => _ = conflicts.fetch_add(1, Ordering::Relaxed),
                AttemptError::Interference => _ = interferences.fetch_add(1, Ordering::Relaxed),
                AttemptError::IsSplit => split::join(pools, change.commodity, now_ms).await?,
                AttemptError::Final(_) => {}
            }
            Err(error)
        })
    };
    let result = context.keel().retry_on_conflict(&policy, attempt).await;
    let (conflicts, interferences) = (conflicts.into_inner(), interferences.into_inner());
    match result {
        Ok(Committed { quantity, cause }) => {
            let arrived = match cause {
                RecordedCause::Arrival { quantity, deliveries } => Some((quantity, deliveries)),
                RecordedCause::Order | RecordedCause::NothingToRelease => None,
            };
            Ok(Applied { quantity, arrived, conflicts, interferences })
        }
        Err(ConflictError::Failed(AttemptError::Final(error))) => Err(error),
        Err(_) => Err(ChangeError::Conflict { conflicts: conflicts + interferences }),
    }
}

async fn attempt<DB: Dialect>(of: &Attempt<'_, DB>, strategy: Strategy) -> Result<Committed, AttemptError> {
    let (context, commodity) = (of.context, of.change.commodity);
    match strategy {
        Strategy::Optimistic => optimistic::attempt(of).await,
        Strategy::Pessimistic => pessimistic::attempt(of).await,
        Strategy::RedisLock => fenced::attempt(of, context.lock(commodity)).await,
        Strategy::Striped => fenced::attempt(of, context.stripe(commodity)).await,
        Strategy::Redlock => {
            let lock = context.redlock(commodity).ok_or_else(AttemptError::no_redlock)?;
            fenced::attempt(of, lock).await
        }
        Strategy::ConditionalUpdate => conditional::attempt(of).await,
        Strategy::Segmented => segmented::attempt(of).await,
        Strategy::Unfenced => unfenced::attempt(of).await,
    }
}
