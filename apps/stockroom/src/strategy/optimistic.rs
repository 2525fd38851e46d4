//! `optimistic`: read, compute, and write if the version is unchanged (compare-and-set). Costs nothing without contention, and an
//! attempt for every conflict.

use super::context::StrategyContext;
use super::retry::{AttemptError, Committed};
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
    // Reads outside of a transaction, so that a rejected change needs none.
    let read = stocks::read::<DB>(&mut *reader(pools).await?, change.commodity).await?;
    let stock = stocks::present(read, change.commodity)?;
    if stock.is_split {
        return Err(AttemptError::IsSplit);
    }
    single_row::changed(stock, context, change)?;
    let mut transaction = pools.begin().await?;
    let Some(committed) = single_row::write::<DB>(&mut transaction, context, stock, change, now_ms).await? else {
        return Err(AttemptError::stale());
    };
    transaction.commit().await.map_err(AttemptError::of_commit)?;
    Ok(committed)
}
