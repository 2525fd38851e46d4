//! The rows of a product whose stock is split. All functions run within a transaction.

use crate::store::database::Dialect;

/// A row of `segments`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Its number, from 1. (0 is the row in `stocks`.)
    pub(crate) slot: i64,
    /// Its quantity.
    pub(crate) quantity: i64,
    /// Its limit; 0: the segment is closed.
    pub(crate) room: i64,
    /// Incremented by every write.
    pub(crate) version: i64,
}

/// Changes one segment if the result is between 0 and its limit, and returns the new row.
pub(crate) async fn change<DB: Dialect>(
    connection: &mut DB::Connection,
    commodity: i64,
    slot: i64,
    delta: i64,
) -> Result<Option<Segment>, sqlx::Error> {
    let sql = "UPDATE segments SET quantity = quantity + ?, version = version + 1 \
         WHERE commodity_id = ? AND slot = ? AND quantity + ? >= 0 AND quantity + ? <= room";
    let values = [delta, commodity, slot, delta, delta].map(Into::into);
    if DB::send(connection, sql, &values).await? == 0 {
        return Ok(None);
    }
    let sql = "SELECT slot, quantity, room, version FROM segments WHERE commodity_id = ? AND slot = ?";
    let row = DB::fetch_first(connection, sql, &[commodity.into(), slot.into()]).await?;
    row.map(|row| read::<DB>(&row)).transpose()
}

/// Locks and returns all segments, including closed ones. Every transaction locks them in this order.
pub(crate) async fn lock_all<DB: Dialect>(
    connection: &mut DB::Connection,
    commodity: i64,
) -> Result<Vec<Segment>, sqlx::Error> {
    let sql = "SELECT slot, quantity, room, version FROM segments WHERE commodity_id = ? ORDER BY slot{for_update}";
    let rows = DB::fetch(connection, sql, &[commodity.into()]).await?;
    rows.iter().map(read::<DB>).collect()
}

/// The total quantity of all segments.
pub(crate) async fn total<DB: Dialect>(connection: &mut DB::Connection, commodity: i64) -> Result<i64, sqlx::Error> {
    let sql = "SELECT CAST(COALESCE(SUM(quantity), 0) AS {int}) FROM segments WHERE commodity_id = ?";
    let row = DB::fetch_first(connection, sql, &[commodity.into()]).await?;
    row.map_or(Ok(0), |row| DB::int_at(&row, 0))
}

/// The products that are split for another cap: the limits of their segments do not add up to `cap`.
pub(crate) async fn split_for_other_cap<DB: Dialect>(
    connection: &mut DB::Connection,
    cap: i64,
) -> Result<Vec<i64>, sqlx::Error> {
    let sql = "SELECT commodity_id FROM segments GROUP BY commodity_id HAVING SUM(room) <> 0 AND SUM(room) <> ?";
    let rows = DB::fetch(connection, sql, &[cap.into()]).await?;
    rows.iter().map(|row| DB::int_at(row, 0)).collect()
}

/// Writes a segment that this transaction has locked; inserts it if it is new.
pub(crate) async fn write<DB: Dialect>(
    connection: &mut DB::Connection,
    commodity: i64,
    segment: Segment,
) -> Result<(), sqlx::Error> {
    let Segment { slot, quantity, room, version } = segment;
    let sql = "UPDATE segments SET quantity = ?, room = ?, version = ? WHERE commodity_id = ? AND slot = ?";
    let values = [quantity, room, version, commodity, slot].map(Into::into);
    if DB::send(connection, sql, &values).await? == 0 {
        let sql = "INSERT INTO segments (commodity_id, slot, quantity, room, version) VALUES (?, ?, ?, ?, ?)";
        DB::send(connection, sql, &[commodity, slot, quantity, room, version].map(Into::into)).await?;
    }
    Ok(())
}

fn read<DB: Dialect>(row: &DB::Row) -> Result<Segment, sqlx::Error> {
    Ok(Segment {
        slot: DB::int_at(row, 0)?,
        quantity: DB::int_at(row, 1)?,
        room: DB::int_at(row, 2)?,
        version: DB::int_at(row, 3)?,
    })
}
