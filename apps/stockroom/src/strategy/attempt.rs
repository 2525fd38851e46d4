//! [`Attempt`]: what one attempt of a strategy needs, and what the strategies share: apply the change to what was read, write it, and
//! record it.

use super::context::StrategyContext;
use super::retry::{AttemptError, ChangeError, Committed};
use crate::domain::StockChange;
use crate::store::database::{Dialect, Pools};
use crate::store::tables::ledger::{self, Movement, Reason, RecordedCause};
use crate::store::tables::stocks::{self, Stock};

/// A change that a strategy attempts.
pub(super) struct Attempt<'a, DB: Dialect> {
    pub(super) pools: &'a Pools<DB>,
    pub(super) context: &'a StrategyContext,
    pub(super) change: &'a StockChange,
    pub(super) now_ms: i64,
}

impl<DB: Dialect> Attempt<'_, DB> {
    /// The stock, if it is in a single row.
    pub(super) fn single_row(&self, read: Option<Stock>) -> Result<Stock, AttemptError> {
        let stock = stocks::present(read, self.change.commodity)?;
        if stock.is_split { Err(AttemptError::IsSplit) } else { Ok(stock) }
    }

    /// The row after the change.
    pub(super) fn changed(&self, stock: Stock) -> Result<Stock, AttemptError> {
        let quantity = self.change.apply(stock.quantity, self.context.cap)?;
        Ok(Stock { quantity, is_split: false, version: stock.version + 1 })
    }

    /// Applies the change to `stock` and writes it if the row still has that version; `None` if it does not.
    pub(super) async fn write(
        &self,
        connection: &mut DB::Connection,
        stock: Stock,
    ) -> Result<Option<Committed>, AttemptError> {
        let after = self.changed(stock)?;
        if !stocks::write::<DB>(connection, self.change.commodity, after, stock.version).await? {
            return Ok(None);
        }
        self.record(connection, after).await.map(Some)
    }

    /// Records the movement to `after` and its cause.
    pub(super) async fn record(
        &self,
        connection: &mut DB::Connection,
        after: Stock,
    ) -> Result<Committed, AttemptError> {
        let delta = self.change.delta;
        let movement = Movement { slot: 0, version: after.version, delta, quantity: after.quantity };
        self.record_movement(connection, movement).await?;
        let cause = self.record_cause(connection).await?;
        Ok(Committed { quantity: after.quantity, cause })
    }

    /// Records a movement of the change.
    pub(super) async fn record_movement(
        &self,
        connection: &mut DB::Connection,
        movement: Movement,
    ) -> Result<(), sqlx::Error> {
        let StockChange { commodity, cause, .. } = self.change;
        let reference = cause.reference();
        let reason = Reason { kind: cause.kind(), reference: &reference };
        ledger::record_movement::<DB>(connection, *commodity, movement, reason, self.now_ms).await
    }

    /// Records the cause of the change.
    pub(super) async fn record_cause(&self, connection: &mut DB::Connection) -> Result<RecordedCause, AttemptError> {
        match ledger::record_cause::<DB>(connection, self.change, self.now_ms).await? {
            RecordedCause::NothingToRelease => Err(AttemptError::Final(ChangeError::NothingToRelease)),
            cause => Ok(cause),
        }
    }
}
