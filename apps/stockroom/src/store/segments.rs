//! The rows of a product whose stock is split, within a transaction.

use super::words::Words;

/// A row of `segments`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Which one, from 1. (0 is the stock as a whole.)
    pub(crate) slot: i64,
    /// How many it has.
    pub(crate) quantity: i64,
    /// How many it may have; 0: it is closed.
    pub(crate) room: i64,
    /// Grows with every write.
    pub(crate) version: i64,
}

/// Changes one segment if it has the goods, or the room; answers what it has become.
pub(crate) async fn change<DB: Words>(
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

/// All segments that there ever were, closed ones included, kept from others until the transaction ends. Everybody locks them in
/// this order.
pub(crate) async fn lock_all<DB: Words>(
    connection: &mut DB::Connection,
    commodity: i64,
) -> Result<Vec<Segment>, sqlx::Error> {
    let sql = "SELECT slot, quantity, room, version FROM segments WHERE commodity_id = ? ORDER BY slot {lock}";
    let rows = DB::fetch(connection, sql, &[commodity.into()]).await?;
    rows.iter().map(read::<DB>).collect()
}

/// How many all segments have together.
pub(crate) async fn total<DB: Words>(connection: &mut DB::Connection, commodity: i64) -> Result<i64, sqlx::Error> {
    let sql = "SELECT CAST(COALESCE(SUM(quantity), 0) AS {int}) FROM segments WHERE commodity_id = ?";
    let row = DB::fetch_first(connection, sql, &[commodity.into()]).await?;
    row.map_or(Ok(0), |row| DB::number(&row, 0))
}

/// The products whose segments have another room together than `cap`.
pub(crate) async fn split_otherwise<DB: Words>(
    connection: &mut DB::Connection,
    cap: i64,
) -> Result<Vec<i64>, sqlx::Error> {
    let sql = "SELECT commodity_id FROM segments GROUP BY commodity_id HAVING SUM(room) <> 0 AND SUM(room) <> ?";
    let rows = DB::fetch(connection, sql, &[cap.into()]).await?;
    rows.iter().map(|row| DB::number(row, 0)).collect()
}

/// Writes a segment that this transaction has locked; makes it if it is new.
pub(crate) async fn write<DB: Words>(
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

fn read<DB: Words>(row: &DB::Row) -> Result<Segment, sqlx::Error> {
    Ok(Segment {
        slot: DB::number(row, 0)?,
        quantity: DB::number(row, 1)?,
        room: DB::number(row, 2)?,
        version: DB::number(row, 3)?,
    })
}
