//! The rows of `evenkeel_guards`: one per lock name, made outside of any business transaction.

use crate::guard::guard;
use crate::lock::name::LockName;
use crate::lock::steps::Fence;
use crate::sql::{Database, Kind, Row, SqlError, Statement, Value};

// One statement that checks and stores. An upsert with the greater of two fences, and a read of what became of it, let a lower
// fence pass on databases that count a row as changed only if it differs; `writes` makes every hit a change.
static STORE: Statement =
    Statement::new("UPDATE evenkeel_guards SET fence = ?, writes = writes + 1 WHERE name = ? AND fence <= ?");
static STORE_UNCHECKED: Statement =
    Statement::new("UPDATE evenkeel_guards SET fence = ?, writes = writes + 1 WHERE name = ? AND ? > 0");
static SEEN: Statement = Statement::new("SELECT fence FROM evenkeel_guards WHERE name = ?");
static CREATE_MYSQL: Statement =
    Statement::new("INSERT IGNORE INTO evenkeel_guards (name, fence, writes) VALUES (?, 0, 0)");
static CREATE: Statement =
    Statement::new("INSERT INTO evenkeel_guards (name, fence, writes) VALUES (?, 0, 0) ON CONFLICT (name) DO NOTHING");

/// Stores a fence, if none above it was seen. Holds the row until the transaction ends.
pub(super) async fn store<DB: Database>(
    connection: &mut DB::Connection,
    name: &LockName,
    fence: Fence,
) -> Result<bool, SqlError> {
    let number = Value::count(fence.0);
    let statement = if guard("lock_fence_is_compared") { &STORE } else { &STORE_UNCHECKED };
    let values = [number, Value::Text(name.as_str()), number];
    Ok(DB::execute(connection, statement.text::<DB>(), &values).await.map_err(SqlError::of::<DB>)? == 1)
}

/// The highest fence that was stored; nothing if there is no row.
pub(super) async fn seen<DB: Database>(
    connection: &mut DB::Connection,
    name: &LockName,
) -> Result<Option<Fence>, SqlError> {
    let row = Row::<DB>::first(connection, &SEEN, &[Value::Text(name.as_str())]).await.map_err(SqlError::of::<DB>)?;
    Ok(row.map(|row| row.count(0)).transpose()?.map(Fence))
}

/// Makes the row, if it is not there.
pub(super) async fn create<DB: Database>(connection: &mut DB::Connection, name: &LockName) -> Result<(), SqlError> {
    let statement = if DB::KIND == Kind::MySql { &CREATE_MYSQL } else { &CREATE };
    let values = [Value::Text(name.as_str())];
    DB::execute(connection, statement.text::<DB>(), &values).await.map_err(SqlError::of::<DB>)?;
    Ok(())
}
