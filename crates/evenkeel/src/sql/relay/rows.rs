//! The relay's statements on `evenkeel_outbox`: one row has all unordered effects of a unit of work.

use crate::sql::database::{Connection, Kind, LIST_MAX, Lists, PooledConnection, Row, Statement, Value};
use crate::sql::outbox::WorkId;
use crate::sql::transaction::Transaction;
use evenkeel_link::Token;
use evenkeel_link::support::guard;
use sqlx::SqlSafeStr;
use std::time::Duration;

/// The due time of a parked row, in ms, which is never reached. It keeps the row in the index of rows that are not done, where
/// operators find it.
pub(super) const NEVER: u64 = 9_000_000_000_000_000;

/// The maximum size of a claim of more than one row; further rows are left to the next claim.
pub(super) const CLAIM_BYTES_MAX: u64 = 16 << 20;

/// Larger effects are read one by one, once they are known to fit into the claim. The statements contain this number, too.
pub(super) const LARGE: u64 = 65_536;

/// A row that this relay has claimed.
#[derive(Clone, Debug)]
pub(super) struct Claimed {
    pub(super) work: WorkId,
    pub(super) effects: Vec<u8>,
    pub(super) attempts: u64,
    /// The time since its commit, or since an operator released it.
    pub(super) age: Duration,
    /// The trace context of its transaction.
    pub(super) trace: Option<String>,
}

// Not `MIN`: with another column, MySQL and MariaDB read all waiting rows to compute it.
static NEXT: Statement =
    Statement::new("SELECT due_at, {now} FROM evenkeel_outbox WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1");
// A subquery, so that the time is read once and the index can be searched with it.
static DUE: Statement = Statement::new(
    "SELECT id, CASE WHEN LENGTH(effects) > 65536 THEN NULL ELSE effects END, attempts, \
     {now} - COALESCE(settled_at, created_at), LENGTH(effects) + 0 * attempts, trace FROM evenkeel_outbox WHERE due_at <= (SELECT {now}) AND state = 1 \
     ORDER BY due_at LIMIT ? {skip locked}",
);
// The large column is not the first: sqlx 0.9.0 takes a row of MySQL that begins with a value of 16 MiB for the end of the rows.
static EFFECTS: Statement = Statement::new("SELECT id, effects FROM evenkeel_outbox WHERE id = ?");
static CLAIM: Lists = Lists::new("UPDATE evenkeel_outbox SET claim = ?, due_at = {now} + ? WHERE id IN (..)");
static RENEW: Lists =
    Lists::new("UPDATE evenkeel_outbox SET due_at = {now} + ? WHERE state = 1 AND claim = ? AND id IN (..)");
// A row that the library did not write is parked, or it would be claimed first forever.
static FOREIGN: Lists = Lists::new(
    "UPDATE evenkeel_outbox SET state = 4, claim = NULL, due_at = ?, error = 'its id is no id of a unit of work' WHERE id IN (..)",
);
static DONE: Lists = Lists::new(
    "UPDATE evenkeel_outbox SET state = 2, due_at = NULL, claim = NULL, error = NULL, settled_at = {now} \
     WHERE state = 1 AND claim = ? AND id IN (..)",
);
static DONE_UNFENCED: Lists = Lists::new(
    "UPDATE evenkeel_outbox SET state = 2, due_at = NULL, claim = NULL, error = NULL, settled_at = {now} \
     WHERE ? IS NOT NULL AND id IN (..)",
);
static GIVE_BACK: Lists = Lists::new(
    "UPDATE evenkeel_outbox SET claim = NULL, due_at = {now} + ?, error = ? \
     WHERE state = 1 AND claim = ? AND id IN (..)",
);
static FAILED: Statement = Statement::new(
    "UPDATE evenkeel_outbox SET claim = NULL, attempts = attempts + 1, due_at = {now} + ?, error = ? \
     WHERE state = 1 AND claim = ? AND id = ?",
);
static PARK: Statement = Statement::new(
    "UPDATE evenkeel_outbox SET state = 4, claim = NULL, attempts = attempts + 1, due_at = ?, settled_at = {now}, \
     error = ? WHERE state = 1 AND claim = ? AND id = ?",
);

// The prefix of the error of a row that was given back, by which it is found when its destination is available again.
pub(super) const WAITS: &str = "waits: ";
static WAITING_ROWS: Statement = Statement::new(
    "SELECT id FROM evenkeel_outbox WHERE due_at > (SELECT {now}) AND due_at < ? AND state = 1 AND claim IS NULL \
     AND error LIKE 'waits: %' ORDER BY due_at LIMIT ? {skip locked}",
);
static FAR_ROWS: Statement = Statement::new(
    "SELECT id FROM evenkeel_outbox WHERE due_at > (SELECT {now} + ?) AND due_at < ? AND state = 1 \
     ORDER BY due_at LIMIT ? {skip locked}",
);
static EXPEDITE: Lists = Lists::new("UPDATE evenkeel_outbox SET due_at = {now} + ? WHERE id IN (..)");

/// After a destination became available again, makes some rows that wait for one due now. Returns how many.
pub(super) async fn expedite(connection: &mut PooledConnection) -> Result<u64, sqlx::Error> {
    let values = [Value::count(NEVER), Value::count(LIST_MAX as u64)];
    bring_forward(connection, &WAITING_ROWS, &values, 0).await
}

/// Makes some rows whose due time is more than `far_ms` away due in `lease_ms`: the database's clock was set back. Returns how many. Their
/// claims stay, so that a relay that still works on them can renew its own.
pub(super) async fn recall(connection: &mut PooledConnection, far_ms: u64, lease_ms: u64) -> Result<u64, sqlx::Error> {
    let values = [Value::count(far_ms), Value::count(NEVER), Value::count(LIST_MAX as u64)];
    bring_forward(connection, &FAR_ROWS, &values, lease_ms).await
}

async fn bring_forward(
    connection: &mut PooledConnection,
    found: &'static Statement,
    values: &[Value<'_>],
    delay_ms: u64,
) -> Result<u64, sqlx::Error> {
    let mut transaction = begin(connection).await?;
    let rows = Row::all(&mut *transaction, found, values).await?;
    let ids = rows.iter().map(|row| row.bytes(0)).collect::<Result<Vec<_>, _>>()?;
    let list: Vec<Value<'_>> = ids.iter().map(|id| Value::Bytes(id)).collect();
    let moved = EXPEDITE.execute(&mut *transaction, &[Value::count(delay_ms)], &list).await?;
    transaction.commit().await?;
    Ok(moved)
}

/// The time until the next row is due, in ms; `None` if none waits.
pub(super) async fn next_ms(connection: &mut Connection) -> Result<Option<u64>, sqlx::Error> {
    next_of(connection, &NEXT).await
}

pub(super) async fn next_of(
    connection: &mut Connection,
    statement: &'static Statement,
) -> Result<Option<u64>, sqlx::Error> {
    let Some(row) = Row::first(connection, statement, &[]).await? else { return Ok(None) };
    let Some(due_at) = row.optional_int(0)? else { return Ok(None) };
    Ok(Some(u64::try_from(due_at.saturating_sub(row.int(1)?)).unwrap_or(0)))
}

/// A short transaction on a connection of the relay.
pub(crate) type ShortTransaction<'c> = Transaction<&'c mut PooledConnection>;

/// Begins a short transaction that locks only the rows it finds and does not wait for locked ones.
pub(crate) async fn begin(connection: &mut PooledConnection) -> Result<ShortTransaction<'_>, sqlx::Error> {
    let begin = match connection.dialect().kind {
        Kind::Postgres => "BEGIN ISOLATION LEVEL READ COMMITTED",
        // At a higher isolation level a locking read also blocks inserts into the gaps next to the rows. In one message, because the level
        // counts for the next transaction of the connection, whichever that is.
        Kind::MySql if guard("claim_locks_no_gaps") => "SET TRANSACTION ISOLATION LEVEL READ COMMITTED; BEGIN",
        _ => connection.dialect().begin,
    };
    Transaction::begin_on(connection, begin.into_sql_str()).await
}

/// Claims up to `limit` due rows, oldest first, for `lease_ms`. If it fails, the rows in `claimed` may have been claimed.
pub(super) async fn claim(
    connection: &mut PooledConnection,
    token: Token,
    limit: usize,
    lease_ms: u64,
    claimed: &mut Vec<Claimed>,
) -> Result<(), sqlx::Error> {
    let mut transaction = begin(connection).await?;
    let limit = Value::count(limit.min(LIST_MAX) as u64);
    let (mut foreign, mut large, mut bytes) = (Vec::new(), Vec::new(), 0);
    for row in Row::all(&mut *transaction, &DUE, &[limit]).await? {
        let Some(id) = row.id(0)? else {
            foreign.push(row.bytes(0)?);
            continue;
        };
        let length = row.count(4)?;
        if !claimed.is_empty() && bytes + length > CLAIM_BYTES_MAX && guard("relay_claims_are_bounded") {
            continue;
        }
        bytes += length;
        if length > LARGE {
            large.push(claimed.len());
        }
        let age = Duration::from_millis(row.count(3)?);
        let trace = row.optional_text(5)?;
        claimed.push(Claimed { work: WorkId(id), effects: row.bytes(1)?, attempts: row.count(2)?, age, trace });
    }
    for place in large {
        let row = Row::first(&mut *transaction, &EFFECTS, &[Value::Bytes(&claimed[place].work.0)]).await?;
        claimed[place].effects = row.map_or(Ok(Vec::new()), |row| row.bytes(1))?;
    }
    if !foreign.is_empty() {
        tracing::error!(rows = foreign.len(), "rows of the outbox with invalid ids are parked");
        let ids: Vec<Value<'_>> = foreign.iter().map(|id| Value::Bytes(id)).collect();
        FOREIGN.execute(&mut *transaction, &[Value::count(NEVER)], &ids).await?;
    }
    let ids: Vec<Value<'_>> = claimed.iter().map(|row| Value::Bytes(&row.work.0)).collect();
    CLAIM.execute(&mut *transaction, &[Value::Bytes(token.as_bytes()), Value::count(lease_ms)], &ids).await?;
    transaction.commit().await
}

/// Renews a claim for `lease_ms` from now.
pub(super) async fn renew(
    connection: &mut Connection,
    token: Token,
    units: &[WorkId],
    lease_ms: u64,
) -> Result<u64, sqlx::Error> {
    let ids: Vec<Value<'_>> = units.iter().map(|work| Value::Bytes(&work.0)).collect();
    RENEW.execute(connection, &[Value::count(lease_ms), Value::Bytes(token.as_bytes())], &ids).await
}

/// Marks units of work as done. Returns how many rows were still claimed under this token.
pub(super) async fn done(connection: &mut Connection, token: Token, units: &[WorkId]) -> Result<u64, sqlx::Error> {
    let statement = if guard("relay_fence") { &DONE } else { &DONE_UNFENCED };
    let ids: Vec<Value<'_>> = units.iter().map(|work| Value::Bytes(&work.0)).collect();
    statement.execute(connection, &[Value::Bytes(token.as_bytes())], &ids).await
}

/// Gives rows back whose destination was unavailable: they are due again after `pause_ms`, and no attempt is counted.
pub(super) async fn give_back(
    connection: &mut Connection,
    token: Token,
    units: &[WorkId],
    pause_ms: u64,
    error: &str,
) -> Result<(), sqlx::Error> {
    let ids: Vec<Value<'_>> = units.iter().map(|work| Value::Bytes(&work.0)).collect();
    let values = [Value::count(pause_ms), Value::Text(error), Value::Bytes(token.as_bytes())];
    GIVE_BACK.execute(connection, &values, &ids).await.map(drop)
}

/// Records a failed attempt of a row; the next one follows after `pause_ms`. `None`: it was the last, and the row is parked for an
/// operator.
pub(super) async fn record_failure(
    connection: &mut Connection,
    token: Token,
    work: WorkId,
    pause_ms: Option<u64>,
    error: &str,
) -> Result<(), sqlx::Error> {
    let (statement, due) = pause_ms.map_or((&PARK, NEVER), |pause_ms| (&FAILED, pause_ms));
    let values = [Value::count(due), Value::Text(error), Value::Bytes(token.as_bytes()), Value::Bytes(&work.0)];
    statement.execute(connection, &values).await.map(drop)
}
