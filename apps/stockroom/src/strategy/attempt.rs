//! One change: tried until it happened, was refused, or was tried often enough.

use super::tools::Tools;
use super::{conditional, fenced, optimistic, pessimistic, segmented, split, unfenced};
use crate::domain::{Change, RefusedChange, Strategy};
use crate::store::StoreError;
use crate::store::ledger::Noted;
use crate::store::words::{Pools, Words};
use evenkeel::lock::{FenceError, LockError};
use evenkeel::sql::{Conflict, ConflictError, ConflictPolicy, Contended};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// The first and the longest pause between two attempts. A change takes some milliseconds: where fifty want one product, they must
/// come a fifth of a second apart, or most of what the database does is for those who come too late.
const PAUSES: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(250));

/// A change that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changed {
    /// How many there are now. (Of a split stock: at about the time of the change.)
    pub quantity: i64,
    /// Of an arrival: how many arrived that day so far, in how many deliveries.
    pub arrived: Option<(i64, i64)>,
    /// How often it had to begin again because somebody else was faster.
    pub conflicts: u32,
    /// How often somebody else was there although a lock kept everybody out.
    pub interferences: u32,
}

/// Why a change did not happen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChangeError {
    /// The rule forbids it.
    #[error(transparent)]
    Refused(#[from] RefusedChange),
    /// There is no order of this id whose goods could be given back.
    #[error("the order holds nothing that it could give back")]
    NothingToRelease,
    /// Others were faster again and again. Nothing was changed; try again.
    #[error("others changed the same product {conflicts} times meanwhile; try again")]
    Conflict {
        /// How often.
        conflicts: u32,
    },
    /// The lock was not given in time, or Redis did not answer. Nothing was changed.
    #[error("the lock could not be had: {0}")]
    Lock(LockError),
    /// The database did not do it, or did not say whether it did.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What one attempt came to, when nothing went wrong: it is committed.
pub(super) struct Done {
    pub(super) quantity: i64,
    pub(super) noted: Noted,
}

/// Why one attempt ended early. Nothing of it happened, unless it is an unknown commit.
#[derive(Debug, thiserror::Error)]
pub(super) enum Stop {
    /// Trying again does not help.
    #[error(transparent)]
    Error(ChangeError),
    /// Somebody else was faster: a deadlock, a version that has moved, a lock that was lost, a fence that came too late.
    #[error("somebody else was faster: {0}")]
    Again(Conflict),
    /// Somebody else was there although a lock kept everybody out, and chose another strategy.
    #[error("somebody else was inside the lock")]
    Interference,
    /// The stock is split, and this strategy needs it whole.
    #[error("the stock is split")]
    IsSplit,
}

impl Contended for Stop {
    fn conflict(&self) -> Option<Conflict> {
        match self {
            Self::Error(_) => None,
            Self::Again(conflict) => Some(*conflict),
            Self::Interference | Self::IsSplit => Some(Conflict::Stale),
        }
    }
}

impl From<RefusedChange> for Stop {
    fn from(refused: RefusedChange) -> Self {
        Self::Error(refused.into())
    }
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Self::Error(error.into())
    }
}

impl Stop {
    /// Somebody else has changed what was read.
    pub(super) fn stale() -> Self {
        Self::Again(Conflict::Stale)
    }

    /// There is no Redlock.
    fn no_servers() -> Self {
        let why = "this service knows of no independent servers for a Redlock".to_owned();
        Self::Error(ChangeError::Lock(LockError::Invalid(why)))
    }

    /// What an error of a statement means for its transaction.
    pub(super) fn of<DB: Words>(error: sqlx::Error) -> Self {
        match DB::conflict(&error) {
            Some(conflict) => Self::Again(conflict),
            None => StoreError::from(error).into(),
        }
    }

    /// What an error of a commit means.
    pub(super) fn of_commit<DB: Words>(error: sqlx::Error) -> Self {
        match DB::conflict(&error) {
            Some(conflict) => Self::Again(conflict),
            None => StoreError::of_commit(error).into(),
        }
    }

    /// What an error of work under a fence means. A fence that came too late is a lock that was lost: acquire it again.
    pub(super) fn of_fence(error: FenceError) -> Self {
        match error {
            error if error.is_fenced() => Self::stale(),
            FenceError::CommitUnknown(error) => StoreError::CommitUnknown(error.to_string()).into(),
            FenceError::Lock(error) => Self::Error(ChangeError::Lock(error)),
            FenceError::Sql(error) if error.is_retryable() => Self::stale(),
            FenceError::Sql(error) => StoreError::Library(error).into(),
            error => StoreError::Corrupt(error.to_string()).into(),
        }
    }
}

/// Changes a stock by a strategy.
///
/// Guaranteed, except for [`Strategy::Unfenced`]: an answer `Ok` says that exactly this change was committed, with its cause and its
/// movement; an error that it was not, unless it is [`StoreError::CommitUnknown`].
///
/// # Errors
/// See [`ChangeError`].
pub(crate) async fn change<DB: Words>(
    pools: &Pools<DB>,
    tools: &Tools,
    strategy: Strategy,
    change: &Change,
    now_ms: i64,
) -> Result<Changed, ChangeError> {
    let (conflicts, interferences) = (AtomicU32::new(0), AtomicU32::new(0));
    let policy = ConflictPolicy::default().attempts(tools.attempts_max).delays(PAUSES.0, PAUSES.1);
    let attempt = || {
        Box::pin(async {
            let stop = match once(pools, tools, strategy, change, now_ms).await {
                Ok(done) => return Ok(done),
                Err(stop) => stop,
            };
            match &stop {
                Stop::Again(_) => _ = conflicts.fetch_add(1, Ordering::Relaxed),
                Stop::Interference => _ = interferences.fetch_add(1, Ordering::Relaxed),
                Stop::IsSplit => split::join(pools, change.commodity, now_ms).await?,
                Stop::Error(_) => {}
            }
            Err(stop)
        })
    };
    let tried = tools.keel().retry_on_conflict(&policy, attempt).await;
    let (conflicts, interferences) = (conflicts.into_inner(), interferences.into_inner());
    match tried {
        Ok(Done { quantity, noted }) => {
            let arrived = match noted {
                Noted::Arrived { quantity, deliveries } => Some((quantity, deliveries)),
                Noted::Ordered | Noted::NothingToRelease => None,
            };
            Ok(Changed { quantity, arrived, conflicts, interferences })
        }
        Err(ConflictError::Failed(Stop::Error(error))) => Err(error),
        Err(_) => Err(ChangeError::Conflict { conflicts: conflicts + interferences }),
    }
}

async fn once<DB: Words>(
    pools: &Pools<DB>,
    tools: &Tools,
    strategy: Strategy,
    change: &Change,
    now_ms: i64,
) -> Result<Done, Stop> {
    match strategy {
        Strategy::Optimistic => optimistic::once(pools, tools, change, now_ms).await,
        Strategy::Pessimistic => pessimistic::once(pools, tools, change, now_ms).await,
        Strategy::RedisLock => fenced::once(pools, tools, tools.lock(change.commodity), change, now_ms).await,
        Strategy::Striped => fenced::once(pools, tools, tools.stripe(change.commodity), change, now_ms).await,
        Strategy::Redlock => {
            let lock = tools.redlock(change.commodity).ok_or_else(Stop::no_servers)?;
            fenced::once(pools, tools, lock, change, now_ms).await
        }
        Strategy::ConditionalUpdate => conditional::once(pools, tools, change, now_ms).await,
        Strategy::Segmented => segmented::once(pools, tools, change, now_ms).await,
        Strategy::Unfenced => unfenced::once(pools, tools, change, now_ms).await,
    }
}
