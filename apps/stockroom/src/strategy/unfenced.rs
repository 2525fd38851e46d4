//! `unfenced`, a demonstration of a lost update: a lock whose fencing token is not checked.
//!
//! It reads outside of a transaction and writes the result without a version check, as a program does that relies on a distributed lock
//! alone. If a holder is paused for longer than its lease, it overwrites the change of the next holder.

use super::context::StrategyContext;
use super::pauses::PausePoint;
use super::retry::{AttemptError, ChangeError, Committed};
use super::single_row;
use crate::domain::StockChange;
use crate::store::database::{Dialect, Pools};
use crate::store::reader;
use crate::store::tables::stocks;

pub(super) async fn attempt<DB: Dialect>(
    pools: &Pools<DB>,
    context: &StrategyContext,
    change: &StockChange,
    now_ms: i64,
) -> Result<Committed, AttemptError> {
    let lock = context.unfenced(change.commodity);
    let guard = lock.acquire().await.map_err(|error| AttemptError::Final(ChangeError::Lock(error)))?;
    let read = stocks::read::<DB>(&mut *reader(pools).await?, change.commodity).await?;
    let stock = stocks::present(read, change.commodity)?;
    if stock.is_split {
        return Err(AttemptError::IsSplit);
    }
    let after = single_row::changed(stock, context, change)?;
    context.pauses.at(PausePoint::StockRead).await;
    let mut transaction = pools.begin().await?;
    stocks::overwrite::<DB>(&mut transaction, change.commodity, after).await?;
    let committed = single_row::record::<DB>(&mut transaction, after, change, now_ms).await?;
    transaction.commit().await.map_err(AttemptError::of_commit)?;
    drop(guard);
    Ok(committed)
}
