//! `redis-lock`, `striped` and `redlock`: a lock outside of the database with a fencing token that the database checks.
//!
//! The lock keeps waiters out of the database. The fencing token, stored by the first statement of the transaction, rejects a holder
//! that was paused and lost the lock, so that it cannot overwrite the changes of a later holder.

use super::context::StrategyContext;
use super::pauses::PausePoint;
use super::retry::{AttemptError, ChangeError, Committed};
use super::single_row;
use crate::domain::StockChange;
use crate::store::database::{Dialect, Pools};
use crate::store::tables::stocks;
use evenkeel::lock::{Guard, LockBuilder};

pub(super) async fn attempt<DB: Dialect>(
    pools: &Pools<DB>,
    context: &StrategyContext,
    lock: LockBuilder,
    change: &StockChange,
    now_ms: i64,
) -> Result<Committed, AttemptError> {
    let guard = lock.acquire().await.map_err(|error| AttemptError::Final(ChangeError::Lock(error)))?;
    context.pauses.at(PausePoint::LockAcquired).await;
    let result = under_lock(pools, context, &guard, change, now_ms).await;
    // If the release fails, the lock expires with its lease.
    if let Err(error) = guard.release().await {
        tracing::debug!(%error, "a lock was not released");
    }
    result
}

async fn under_lock<DB: Dialect>(
    pools: &Pools<DB>,
    context: &StrategyContext,
    guard: &Guard,
    change: &StockChange,
    now_ms: i64,
) -> Result<Committed, AttemptError> {
    let mut transaction = guard.begin(&pools.writer).await?;
    let connection = transaction.tx()?;
    let read = stocks::read::<DB>(connection, change.commodity).await?;
    let stock = stocks::present(read, change.commodity)?;
    if stock.is_split {
        return Err(AttemptError::IsSplit);
    }
    let Some(committed) = single_row::write::<DB>(connection, context, stock, change, now_ms).await? else {
        return Err(AttemptError::Interference);
    };
    transaction.commit().await?;
    Ok(committed)
}
