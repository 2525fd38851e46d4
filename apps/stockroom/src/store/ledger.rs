//! What a change leaves behind in the transaction that makes it: its cause (what arrived, an order) and its movements.

use super::words::Words;
use crate::domain::{Cause, Change};

/// One movement: what a slot (0: the stock as a whole, else a segment) has become, and by how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Movement {
    pub(crate) slot: i64,
    /// The slot's version afterwards.
    pub(crate) version: i64,
    pub(crate) delta: i64,
    /// How many it has afterwards.
    pub(crate) quantity: i64,
}

/// Why a movement happened, as the ledger has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reason<'a> {
    pub(crate) kind: &'a str,
    pub(crate) reference: &'a str,
}

/// Writes a movement down.
pub(crate) async fn note<DB: Words>(
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

/// What the cause of a change became.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Noted {
    /// An arrival: how many arrived that day so far, in how many deliveries.
    Arrived { quantity: i64, deliveries: i64 },
    /// An order was made, or gave its goods back.
    Ordered,
    /// There is no such order, or it has nothing to give back: the change must not happen.
    NothingToRelease,
}

/// Writes the cause of a change down. Comes last in its transaction: the row of a day is shared by all arrivals of it.
pub(crate) async fn note_cause<DB: Words>(
    connection: &mut DB::Connection,
    change: &Change,
    now_ms: i64,
) -> Result<Noted, sqlx::Error> {
    match &change.cause {
        Cause::Arrival(day) => note_arrival::<DB>(connection, change, &day.to_string(), now_ms).await,
        Cause::Reserve(order) => {
            let sql = "INSERT INTO orders (id, commodity_id, quantity, state, created_at, updated_at) \
                 VALUES (?, ?, ?, 'reserved', ?, ?)";
            let quantity = -change.delta;
            let values =
                [order.as_str().into(), change.commodity.into(), quantity.into(), now_ms.into(), now_ms.into()];
            DB::send(connection, sql, &values).await?;
            Ok(Noted::Ordered)
        }
        Cause::Release(order) => {
            let sql = "UPDATE orders SET state = 'released', updated_at = ? WHERE id = ? AND state = 'reserved'";
            let is_done = DB::send(connection, sql, &[now_ms.into(), order.as_str().into()]).await? == 1;
            Ok(if is_done { Noted::Ordered } else { Noted::NothingToRelease })
        }
    }
}

/// The arrivals of a day are one row: made by the first, added to by the others. Two firsts at once meet in the primary key, and
/// one does its work again.
async fn note_arrival<DB: Words>(
    connection: &mut DB::Connection,
    change: &Change,
    day: &str,
    now_ms: i64,
) -> Result<Noted, sqlx::Error> {
    let sql = "UPDATE arrivals SET quantity = quantity + ?, deliveries = deliveries + 1, updated_at = ? \
         WHERE commodity_id = ? AND day = ?";
    let values = [change.delta.into(), now_ms.into(), change.commodity.into(), day.into()];
    if DB::send(connection, sql, &values).await? == 0 {
        let sql = "INSERT INTO arrivals (commodity_id, day, quantity, deliveries, updated_at) VALUES (?, ?, ?, 1, ?)";
        let values = [change.commodity.into(), day.into(), change.delta.into(), now_ms.into()];
        DB::send(connection, sql, &values).await?;
        return Ok(Noted::Arrived { quantity: change.delta, deliveries: 1 });
    }
    let sql = "SELECT quantity, deliveries FROM arrivals WHERE commodity_id = ? AND day = ?";
    let row = DB::fetch_first(connection, sql, &[change.commodity.into(), day.into()]).await?;
    let row = row.ok_or(sqlx::Error::RowNotFound)?;
    Ok(Noted::Arrived { quantity: DB::number(&row, 0)?, deliveries: DB::number(&row, 1)? })
}
