//! The records of a change, written in its transaction: its movements in the ledger, and the arrival or order that caused it.

use crate::domain::{Cause, StockChange};
use crate::store::database::Dialect;
use crate::store::payments::record_event;
use web::guard;

/// One movement of a slot: 0 is the row in `stocks`, others are segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Movement {
    pub(crate) slot: i64,
    /// The slot's version after the movement.
    pub(crate) version: i64,
    pub(crate) delta: i64,
    /// The slot's quantity after the movement.
    pub(crate) quantity: i64,
}

/// The reason of a movement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reason<'a> {
    pub(crate) kind: &'a str,
    pub(crate) reference: &'a str,
}

/// Inserts a movement.
pub(crate) async fn record_movement<DB: Dialect>(
    connection: &mut DB::Connection,
    commodity: i64,
    movement: Movement,
    reason: Reason<'_>,
    now_ms: i64,
) -> Result<(), sqlx::Error> {
    let sql = "INSERT INTO movements (commodity_id, slot, version, delta, quantity, kind, reference, moved_at) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
    let Movement { slot, version, delta, quantity } = movement;
    let values = [
        commodity.into(),
        slot.into(),
        version.into(),
        delta.into(),
        quantity.into(),
        reason.kind.into(),
        reason.reference.into(),
        now_ms.into(),
    ];
    DB::send(connection, sql, &values).await?;
    Ok(())
}

/// The recorded cause of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordedCause {
    /// The arrivals of that day, with this one.
    Arrival { quantity: i64, deliveries: i64 },
    /// An order was created, released or expired.
    Order,
    /// The order does not exist, or is not an unpaid one any more: the transaction must be rolled back.
    NothingToRelease,
}

/// Records the cause of a change. Last in its transaction, because all arrivals of a day lock the same row.
pub(crate) async fn record_cause<DB: Dialect>(
    connection: &mut DB::Connection,
    change: &StockChange,
    now_ms: i64,
) -> Result<RecordedCause, sqlx::Error> {
    match &change.cause {
        Cause::Arrival(day) => record_arrival::<DB>(connection, change, &day.to_string(), now_ms).await,
        Cause::Reserve { order, pay_by } => {
            let sql = "INSERT INTO orders (id, commodity_id, quantity, state, created_at, updated_at, pay_by) \
                 VALUES (?, ?, ?, 'reserved', ?, ?, ?)";
            let (id, quantity) = (order.as_str(), -change.delta);
            let values =
                [id.into(), change.commodity.into(), quantity.into(), now_ms.into(), now_ms.into(), (*pay_by).into()];
            DB::send(connection, sql, &values).await?;
            record_event::<DB>(connection, id, "reserved", "", now_ms).await?;
            Ok(RecordedCause::Order)
        }
        Cause::Release(order) => end_order::<DB>(connection, order, "released", now_ms).await,
        Cause::Expire(order) => end_order::<DB>(connection, order, "expired", now_ms).await,
    }
}

/// Ends an unpaid order. The condition decides against a payment, a release and a time-out at the same time.
async fn end_order<DB: Dialect>(
    connection: &mut DB::Connection,
    order: &str,
    state: &str,
    now_ms: i64,
) -> Result<RecordedCause, sqlx::Error> {
    let mut sql = "UPDATE orders SET state = ?, updated_at = ? WHERE id = ? AND state = 'reserved'";
    if !guard("order_ends_unpaid") {
        sql = "UPDATE orders SET state = ?, updated_at = ? WHERE id = ?";
    }
    if DB::send(connection, sql, &[state.into(), now_ms.into(), order.into()]).await? == 0 {
        return Ok(RecordedCause::NothingToRelease);
    }
    record_event::<DB>(connection, order, state, "", now_ms).await?;
    Ok(RecordedCause::Order)
}

/// The arrivals of a day are one row. If two transactions insert it at the same time, the primary key rejects one, which is retried.
async fn record_arrival<DB: Dialect>(
    connection: &mut DB::Connection,
    change: &StockChange,
    day: &str,
    now_ms: i64,
) -> Result<RecordedCause, sqlx::Error> {
    let sql = "UPDATE arrivals SET quantity = quantity + ?, deliveries = deliveries + 1, updated_at = ? \
         WHERE commodity_id = ? AND day = ?";
    let values = [change.delta.into(), now_ms.into(), change.commodity.into(), day.into()];
    if DB::send(connection, sql, &values).await? == 0 {
        let sql = "INSERT INTO arrivals (commodity_id, day, quantity, deliveries, updated_at) VALUES (?, ?, ?, 1, ?)";
        let values = [change.commodity.into(), day.into(), change.delta.into(), now_ms.into()];
        DB::send(connection, sql, &values).await?;
        return Ok(RecordedCause::Arrival { quantity: change.delta, deliveries: 1 });
    }
    let sql = "SELECT quantity, deliveries FROM arrivals WHERE commodity_id = ? AND day = ?";
    let row = DB::fetch_first(connection, sql, &[change.commodity.into(), day.into()]).await?;
    let row = row.ok_or(sqlx::Error::RowNotFound)?;
    Ok(RecordedCause::Arrival { quantity: DB::int_at(&row, 0)?, deliveries: DB::int_at(&row, 1)? })
}
