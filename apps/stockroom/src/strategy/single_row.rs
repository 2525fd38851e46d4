//! What all strategies for a stock in a single row share: apply the change to what was read, write it, and record it.

use super::context::StrategyContext;
use super::retry::{AttemptError, ChangeError, Committed};
use crate::domain::StockChange;
use crate::store::database::Dialect;
use crate::store::tables::ledger::{self, Movement, Reason, RecordedCause};
use crate::store::tables::stocks::{self, Stock};

/// The row after the change.
pub(super) fn changed(stock: Stock, context: &StrategyContext, change: &StockChange) -> Result<Stock, AttemptError> {
    let quantity = change.apply(stock.quantity, context.cap)?;
    Ok(Stock { quantity, is_split: false, version: stock.version + 1 })
}

/// Applies the change to `stock` and writes it if the row still has that version; `None` if it does not.
pub(super) async fn write<DB: Dialect>(
    connection: &mut DB::Connection,
    context: &StrategyContext,
    stock: Stock,
    change: &StockChange,
    now_ms: i64,
) -> Result<Option<Committed>, AttemptError> {
    let after = changed(stock, context, change)?;
    if !stocks::write::<DB>(connection, change.commodity, after, stock.version).await? {
        return Ok(None);
    }
    record::<DB>(connection, after, change, now_ms).await.map(Some)
}

/// Records the movement to `after` and its cause.
pub(super) async fn record<DB: Dialect>(
    connection: &mut DB::Connection,
    after: Stock,
    change: &StockChange,
    now_ms: i64,
) -> Result<Committed, AttemptError> {
    let movement = Movement { slot: 0, version: after.version, delta: change.delta, quantity: after.quantity };
    record_movement::<DB>(connection, movement, change, now_ms).await?;
    let cause = record_cause::<DB>(connection, change, now_ms).await?;
    Ok(Committed { quantity: after.quantity, cause })
}

/// Records a movement of the change.
pub(super) async fn record_movement<DB: Dialect>(
    connection: &mut DB::Connection,
    movement: Movement,
    change: &StockChange,
    now_ms: i64,
) -> Result<(), sqlx::Error> {
    let reference = change.cause.reference();
    let reason = Reason { kind: change.cause.kind(), reference: &reference };
    ledger::record_movement::<DB>(connection, change.commodity, movement, reason, now_ms).await
}

/// Records the cause of the change.
pub(super) async fn record_cause<DB: Dialect>(
    connection: &mut DB::Connection,
    change: &StockChange,
    now_ms: i64,
) -> Result<RecordedCause, AttemptError> {
    match ledger::record_cause::<DB>(connection, change, now_ms).await? {
        RecordedCause::NothingToRelease => Err(AttemptError::Final(ChangeError::NothingToRelease)),
        cause => Ok(cause),
    }
}
