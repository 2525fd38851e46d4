//! The row of a product whose stock is whole, within a transaction.

use super::StoreError;
use super::words::Words;
use crate::domain::Change;

/// The row of `stocks`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stock {
    /// How many there are; 0 while the stock is split.
    pub(crate) quantity: i64,
    /// Whether the stock is in segments now.
    pub(crate) is_split: bool,
    /// Grows with every write.
    pub(crate) version: i64,
}

/// Reads the row; `None` if there is no such product.
pub(crate) async fn read<DB: Words>(
    connection: &mut DB::Connection,
    commodity: i64,
) -> Result<Option<Stock>, sqlx::Error> {
    select::<DB>(connection, "SELECT quantity, is_split, version FROM stocks WHERE commodity_id = ?", commodity).await
}

/// Reads the row and keeps it from others until the transaction ends.
pub(crate) async fn lock<DB: Words>(
    connection: &mut DB::Connection,
    commodity: i64,
) -> Result<Option<Stock>, sqlx::Error> {
    let sql = "SELECT quantity, is_split, version FROM stocks WHERE commodity_id = ? {lock}";
    select::<DB>(connection, sql, commodity).await
}

/// Writes the row as it shall be, if it still has the version that was read; answers whether it had.
pub(crate) async fn write<DB: Words>(
    connection: &mut DB::Connection,
    commodity: i64,
    stock: Stock,
    seen: i64,
) -> Result<bool, sqlx::Error> {
    let sql = "UPDATE stocks SET quantity = ?, is_split = ?, version = ? WHERE commodity_id = ? AND version = ?";
    let is_split = i64::from(stock.is_split);
    let values = [stock.quantity, is_split, stock.version, commodity, seen].map(Into::into);
    Ok(DB::send(connection, sql, &values).await? == 1)
}

/// Writes the row as it shall be, whatever it has become since it was read: what a program does that trusts its lock.
pub(crate) async fn overwrite<DB: Words>(
    connection: &mut DB::Connection,
    commodity: i64,
    stock: Stock,
) -> Result<(), sqlx::Error> {
    let sql = "UPDATE stocks SET quantity = ?, is_split = ?, version = ? WHERE commodity_id = ?";
    let values = [stock.quantity, i64::from(stock.is_split), stock.version, commodity].map(Into::into);
    DB::send(connection, sql, &values).await?;
    Ok(())
}

/// Changes the row if the rule holds afterwards and the stock is whole; answers whether it did.
pub(crate) async fn change<DB: Words>(
    connection: &mut DB::Connection,
    change: &Change,
    cap: i64,
) -> Result<bool, sqlx::Error> {
    // Only what grows meets the cap: a stock above a cap that was lowered may still shrink.
    let (condition, limit) = if change.delta > 0 { ("<= ?", cap) } else { (">= ?", 0) };
    let sql = format!(
        "UPDATE stocks SET quantity = quantity + ?, version = version + 1 \
         WHERE commodity_id = ? AND is_split = 0 AND quantity + ? {condition}"
    );
    let values = [change.delta, change.commodity, change.delta, limit].map(Into::into);
    Ok(DB::send(connection, &sql, &values).await? == 1)
}

/// The row as a statement of this program finds it; a product that is gone is one that never was.
pub(crate) fn present(stock: Option<Stock>, commodity: i64) -> Result<Stock, StoreError> {
    stock.ok_or_else(|| StoreError::Corrupt(format!("the product {commodity} has no stock")))
}

async fn select<DB: Words>(
    connection: &mut DB::Connection,
    sql: &str,
    commodity: i64,
) -> Result<Option<Stock>, sqlx::Error> {
    let Some(row) = DB::fetch_first(connection, sql, &[commodity.into()]).await? else { return Ok(None) };
    Ok(Some(Stock {
        quantity: DB::number(&row, 0)?,
        is_split: DB::number(&row, 1)? != 0,
        version: DB::number(&row, 2)?,
    }))
}
