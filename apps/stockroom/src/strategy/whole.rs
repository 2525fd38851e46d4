//! What the strategies for a whole stock have in common: decide from what was read, write, and note why.

use super::attempt::{ChangeError, Done, Stop};
use super::tools::Tools;
use crate::domain::Change;
use crate::store::ledger::{self, Movement, Noted, Reason};
use crate::store::stocks::{self, Stock};
use crate::store::words::Words;

/// What a row that was read becomes.
pub(super) fn decided(stock: Stock, tools: &Tools, change: &Change) -> Result<Stock, Stop> {
    let quantity = change.of(stock.quantity, tools.cap)?;
    Ok(Stock { quantity, is_split: false, version: stock.version + 1 })
}

/// Decides from `stock`, which this transaction has read or knows the version of, and writes. `None` if the row has another version
/// now.
pub(super) async fn write<DB: Words>(
    connection: &mut DB::Connection,
    tools: &Tools,
    stock: Stock,
    change: &Change,
    now_ms: i64,
) -> Result<Option<Done>, Stop> {
    let after = decided(stock, tools, change)?;
    let is_written = stocks::write::<DB>(connection, change.commodity, after, stock.version).await;
    if !is_written.map_err(Stop::of::<DB>)? {
        return Ok(None);
    }
    note::<DB>(connection, after, change, now_ms).await.map(Some)
}

/// Notes the movement of a stock that has become `after`, and its cause.
pub(super) async fn note<DB: Words>(
    connection: &mut DB::Connection,
    after: Stock,
    change: &Change,
    now_ms: i64,
) -> Result<Done, Stop> {
    let movement = Movement { slot: 0, version: after.version, delta: change.delta, quantity: after.quantity };
    note_movement::<DB>(connection, movement, change, now_ms).await.map_err(Stop::of::<DB>)?;
    let noted = cause::<DB>(connection, change, now_ms).await?;
    Ok(Done { quantity: after.quantity, noted })
}

/// Notes one movement of a change.
pub(super) async fn note_movement<DB: Words>(
    connection: &mut DB::Connection,
    movement: Movement,
    change: &Change,
    now_ms: i64,
) -> Result<(), sqlx::Error> {
    let reference = change.cause.reference();
    let reason = Reason { kind: change.cause.kind(), reference: &reference };
    ledger::note::<DB>(connection, change.commodity, movement, reason, now_ms).await
}

/// Notes the cause of a change.
pub(super) async fn cause<DB: Words>(
    connection: &mut DB::Connection,
    change: &Change,
    now_ms: i64,
) -> Result<Noted, Stop> {
    match ledger::note_cause::<DB>(connection, change, now_ms).await.map_err(Stop::of::<DB>)? {
        Noted::NothingToRelease => Err(Stop::Error(ChangeError::NothingToRelease)),
        noted => Ok(noted),
    }
}
