//! The row of a product's stock. All functions run within a transaction.

use crate::domain::StockChange;
use crate::store::StoreError;
use crate::store::database::Dialect;

/// The row of `stocks`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stock {
    /// The quantity; 0 while the stock is split.
    pub(crate) quantity: i64,
    /// Whether the stock is in segments.
    pub(crate) is_split: bool,
    /// Incremented by every write.
    pub(crate) version: i64,
}

/// Reads the row; `None` if the product does not exist.
pub(crate) async fn read<DB: Dialect>(
    connection: &mut DB::Connection,
    commodity: i64,
) -> Result<Option<Stock>, sqlx::Error> {
    select::<DB>(connection, "SELECT quantity, is_split, version FROM stocks WHERE commodity_id = ?", commodity).await
}

/// Reads and locks the row.
pub(crate) async fn lock<DB: Dialect>(
    connection: &mut DB::Connection,
    commodity: i64,
) -> Result<Option<Stock>, sqlx::Error> {
    let sql = "SELECT quantity, is_split, version FROM stocks WHERE commodity_id = ?{for_update}";
    select::<DB>(connection, sql, commodity).await
}

/// Writes the row if it still has the version `read_version` (compare-and-set), and returns whether it had.
pub(crate) async fn write<DB: Dialect>(
    connection: &mut DB::Connection,
    commodity: i64,
    stock: Stock,
    read_version: i64,
) -> Result<bool, sqlx::Error> {
    let sql = "UPDATE stocks SET quantity = ?, is_split = ?, version = ? WHERE commodity_id = ? AND version = ?";
    let is_split = i64::from(stock.is_split);
    let values = [stock.quantity, is_split, stock.version, commodity, read_version].map(Into::into);
    Ok(DB::send(connection, sql, &values).await? == 1)
}

/// Writes the row without a version check, as a program does that relies on its lock alone.
pub(crate) async fn overwrite<DB: Dialect>(
    connection: &mut DB::Connection,
    commodity: i64,
    stock: Stock,
) -> Result<(), sqlx::Error> {
    let sql = "UPDATE stocks SET quantity = ?, is_split = ?, version = ? WHERE commodity_id = ?";
    let values = [stock.quantity, i64::from(stock.is_split), stock.version, commodity].map(Into::into);
    DB::send(connection, sql, &values).await?;
    Ok(())
}

/// Changes the row if the rule holds for the result and the stock is not split, and returns whether it did.
pub(crate) async fn change<DB: Dialect>(
    connection: &mut DB::Connection,
    change: &StockChange,
    cap: i64,
) -> Result<bool, sqlx::Error> {
    // Only arrivals are checked against the cap: a stock above a lowered cap may still decrease.
    let (condition, limit) = if change.delta > 0 { ("<= ?", cap) } else { (">= ?", 0) };
    let sql = format!(
        "UPDATE stocks SET quantity = quantity + ?, version = version + 1 \
         WHERE commodity_id = ? AND is_split = 0 AND quantity + ? {condition}"
    );
    let values = [change.delta, change.commodity, change.delta, limit].map(Into::into);
    Ok(DB::send(connection, &sql, &values).await? == 1)
}

/// The row, which exists for every product.
pub(crate) fn present(stock: Option<Stock>, commodity: i64) -> Result<Stock, StoreError> {
    stock.ok_or_else(|| StoreError::Corrupt(format!("product {commodity} has no row in stocks")))
}

async fn select<DB: Dialect>(
    connection: &mut DB::Connection,
    sql: &str,
    commodity: i64,
) -> Result<Option<Stock>, sqlx::Error> {
    let Some(row) = DB::fetch_first(connection, sql, &[commodity.into()]).await? else { return Ok(None) };
    Ok(Some(Stock {
        quantity: DB::int_at(&row, 0)?,
        is_split: DB::int_at(&row, 1)? != 0,
        version: DB::int_at(&row, 2)?,
    }))
}
