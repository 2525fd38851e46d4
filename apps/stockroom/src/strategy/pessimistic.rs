//! `pessimistic`: lock the row (`SELECT .. FOR UPDATE`), compute, write. Waiters wait in the database, each with a connection.

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
    // `None`: the server's own limit of lock waits.
    let mut transaction = context.keel().begin_locking(&pools.writer, None).await?;
    let connection = transaction.tx()?;
    let locked = stocks::lock::<DB>(connection, change.commodity).await?;
    let stock = stocks::present(locked, change.commodity)?;
    if stock.is_split {
        return Err(AttemptError::IsSplit);
    }
    let Some(committed) = single_row::write::<DB>(connection, context, stock, change, now_ms).await? else {
        return Err(AttemptError::Interference);
    };
    transaction.commit().await?;
    Ok(committed)
}
