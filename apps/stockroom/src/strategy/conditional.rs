//! `conditional-update`: one `UPDATE` whose `WHERE` clause contains the rule. The database computes the new quantity, so nothing that
//! was read can be stale. Works only if one statement can express the rule.

use super::context::StrategyContext;
use super::retry::{AttemptError, Committed};
use super::single_row;
use crate::domain::StockChange;
use crate::store::database::{Dialect, Pools};
use crate::store::tables::stocks;

pub(super) async fn attempt<DB: Dialect>(
    pools: &Pools<DB>,
    context: &StrategyContext,
    change: &StockChange,
    now_ms: i64,
) -> Result<Committed, AttemptError> {
    let mut transaction = pools.begin().await?;
    let is_changed = stocks::change::<DB>(&mut transaction, change, context.cap).await?;
    let read = stocks::read::<DB>(&mut transaction, change.commodity).await?;
    let stock = stocks::present(read, change.commodity)?;
    if !is_changed {
        if stock.is_split {
            return Err(AttemptError::IsSplit);
        }
        // Returns the rejection, unless another change has made room since the UPDATE.
        single_row::changed(stock, context, change)?;
        return Err(AttemptError::stale());
    }
    let committed = single_row::record::<DB>(&mut transaction, stock, change, now_ms).await?;
    transaction.commit().await.map_err(AttemptError::of_commit)?;
    Ok(committed)
}
