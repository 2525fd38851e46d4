//! The rows of `evenkeel_guards`: one per lock name, created outside of the caller's transactions.

use crate::sql::SqlError;
use crate::sql::database::{Connection, Row, Statement, Value};
use evenkeel_link::Token;
use evenkeel_link::support::guard;
use evenkeel_protocol::lock::name::LockName;
use evenkeel_protocol::lock::steps::Fence;

// One statement checks and stores. An upsert of the greater fence followed by a read would accept a lower fence on databases that count a
// row as changed only if it differs, so `writes` makes every match a change. A Redis that has lost its fences can grant one twice, so the
// owner distinguishes the two holders.
static STORE: Statement = Statement::new(
    "UPDATE evenkeel_guards SET fence = ?, owner = ?, writes = writes + 1 \
     WHERE name = ? AND (fence < ? OR (fence = ? AND owner = ?))",
);
static STORE_EQUAL: Statement = Statement::new(
    "UPDATE evenkeel_guards SET fence = ?, owner = ?, writes = writes + 1 \
     WHERE name = ? AND (fence < ? OR (fence = ? AND ? IS NOT NULL))",
);
static STORE_UNCHECKED: Statement = Statement::new(
    "UPDATE evenkeel_guards SET fence = ?, owner = ?, writes = writes + 1 \
     WHERE name = ? AND (fence < ? OR ? > 0 OR owner = ?)",
);
static SEEN: Statement = Statement::new("SELECT fence FROM evenkeel_guards WHERE name = ?");
static ROW: Statement = Statement::new("SELECT fence, owner, writes FROM evenkeel_guards WHERE name = ?");
static CREATE: Statement =
    Statement::new("{insert} evenkeel_guards (name, fence, writes) VALUES (?, 0, 0) {or ignore}");

/// Stores a fence, unless another owner has stored one that is as high. Locks the row until the transaction ends.
pub(super) async fn store(
    connection: &mut Connection,
    name: &LockName,
    owner: Token,
    fence: Fence,
) -> Result<bool, SqlError> {
    let (number, owner) = (Value::count(fence.0), Value::Bytes(owner.as_bytes()));
    let statement = match (guard("lock_fence_is_compared"), guard("lock_fence_owner")) {
        (false, _) => &STORE_UNCHECKED,
        (true, false) => &STORE_EQUAL,
        (true, true) => &STORE,
    };
    let values = [number, owner, Value::Text(name.as_str()), number, number, owner];
    Ok(statement.execute(connection, &values).await? == 1)
}

/// The highest stored fence; `None` if there is no row.
pub(super) async fn seen(connection: &mut Connection, name: &LockName) -> Result<Option<Fence>, SqlError> {
    let row = Row::first(connection, &SEEN, &[Value::Text(name.as_str())]).await?;
    Ok(row.map(|row| row.count(0)).transpose()?.map(Fence))
}

/// A row as it is: every write of a fence changes it.
pub(super) type Image = Option<(i64, Vec<u8>, i64)>;

/// The whole row; `None` if there is none.
pub(super) async fn image(connection: &mut Connection, name: &LockName) -> Result<Image, SqlError> {
    let row = Row::first(connection, &ROW, &[Value::Text(name.as_str())]).await?;
    Ok(row.map(|row| Ok::<_, sqlx::Error>((row.int(0)?, row.bytes(1)?, row.int(2)?))).transpose()?)
}

/// Creates the row, if it does not exist.
pub(super) async fn create(connection: &mut Connection, name: &LockName) -> Result<(), SqlError> {
    CREATE.execute(connection, &[Value::Text(name.as_str())]).await?;
    Ok(())
}
