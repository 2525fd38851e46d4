//! The relay's statements on `evenkeel_outbox`: the unordered effects of a work are one row.

use crate::guard::guard;
use crate::sql::database::{Database, Kind, LIST_MAX, Lists, Row, Statement, Value};
use crate::sql::outbox::WorkId;
use crate::token::Token;
use sqlx::pool::PoolConnection;
use sqlx::{Connection, Transaction};

/// When a parked row is due, in ms: never. It stays in the index of what is not done, where operators find it.
pub(super) const NEVER: u64 = 9_000_000_000_000_000;

/// A row that this relay has claimed.
#[derive(Clone, Debug)]
pub(super) struct Claimed {
    pub(super) work: WorkId,
    pub(super) effects: Vec<u8>,
    pub(super) attempts: u64,
}

// Not `MIN`: beside another column MySQL and MariaDB read all that wait to find it.
static NEXT: Statement =
    Statement::new("SELECT due_at, {now} FROM evenkeel_outbox WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1");
// A sub-select, so that the time is read once and the index can be searched with it.
static DUE: Statement = Statement::new(
    "SELECT id, effects, attempts FROM evenkeel_outbox WHERE due_at <= (SELECT {now}) AND state = 1 \
     ORDER BY due_at LIMIT ? {skip locked}",
);
static CLAIM: Lists = Lists::new("UPDATE evenkeel_outbox SET claim = ?, due_at = {now} + ? WHERE id IN (..)");
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

/// In how many ms the next row is due; `None` if nothing waits.
pub(super) async fn next_ms<DB: Database>(connection: &mut DB::Connection) -> Result<Option<u64>, sqlx::Error> {
    next_of::<DB>(connection, &NEXT).await
}

pub(super) async fn next_of<DB: Database>(
    connection: &mut DB::Connection,
    statement: &'static Statement,
) -> Result<Option<u64>, sqlx::Error> {
    let Some(row) = Row::<DB>::first(connection, statement, &[]).await? else { return Ok(None) };
    let Some(due_at) = row.maybe_int(0)? else { return Ok(None) };
    Ok(Some(u64::try_from(due_at.saturating_sub(row.int(1)?)).unwrap_or(0)))
}

/// Begins a short transaction that waits for nobody and locks nothing but the rows it finds.
pub(super) async fn begin<DB: Database>(
    connection: &mut PoolConnection<DB>,
) -> Result<Transaction<'_, DB>, sqlx::Error> {
    // Otherwise a locking read keeps writers out of the gaps beside the rows, too.
    if DB::KIND == Kind::MySql && guard("claim_locks_no_gaps") {
        DB::script(connection, "SET TRANSACTION ISOLATION LEVEL READ COMMITTED").await?;
    }
    let begin = if DB::KIND == Kind::Postgres { "BEGIN ISOLATION LEVEL READ COMMITTED" } else { DB::BEGIN };
    connection.begin_with(begin).await
}

/// Claims up to `limit` rows that are due, oldest first, for `lease_ms`. After an error those in `claimed` may be claimed.
pub(super) async fn claim<DB: Database>(
    connection: &mut PoolConnection<DB>,
    token: Token,
    limit: usize,
    lease_ms: u64,
    claimed: &mut Vec<Claimed>,
) -> Result<(), sqlx::Error> {
    let mut transaction = begin(connection).await?;
    let limit = Value::count(limit.min(LIST_MAX) as u64);
    for row in Row::<DB>::all(&mut transaction, &DUE, &[limit]).await? {
        let Some(id) = row.id(0)? else { continue };
        claimed.push(Claimed { work: WorkId(id), effects: row.bytes(1)?, attempts: row.count(2)? });
    }
    let ids: Vec<Value<'_>> = claimed.iter().map(|row| Value::Bytes(&row.work.0)).collect();
    CLAIM.execute::<DB>(&mut transaction, &[Value::Bytes(token.as_bytes()), Value::count(lease_ms)], &ids).await?;
    transaction.commit().await
}

/// The effects of these works have been carried out. Answers how many rows were still claimed under this token.
pub(super) async fn done<DB: Database>(
    connection: &mut DB::Connection,
    token: Token,
    works: &[WorkId],
) -> Result<u64, sqlx::Error> {
    let statement = if guard("relay_fence") { &DONE } else { &DONE_UNFENCED };
    let mut marked = 0;
    for part in works.chunks(LIST_MAX) {
        let ids: Vec<Value<'_>> = part.iter().map(|work| Value::Bytes(&work.0)).collect();
        marked += statement.execute::<DB>(connection, &[Value::Bytes(token.as_bytes())], &ids).await?;
    }
    Ok(marked)
}

/// Nobody was there to take these: they are due again after `pause_ms`, and no attempt is counted.
pub(super) async fn give_back<DB: Database>(
    connection: &mut DB::Connection,
    token: Token,
    works: &[WorkId],
    pause_ms: u64,
    error: &str,
) -> Result<(), sqlx::Error> {
    for part in works.chunks(LIST_MAX) {
        let ids: Vec<Value<'_>> = part.iter().map(|work| Value::Bytes(&work.0)).collect();
        let values = [Value::count(pause_ms), Value::Text(error), Value::Bytes(token.as_bytes())];
        GIVE_BACK.execute::<DB>(connection, &values, &ids).await?;
    }
    Ok(())
}

/// One attempt of this row has failed; the next comes after `pause_ms`.
pub(super) async fn failed<DB: Database>(
    connection: &mut DB::Connection,
    token: Token,
    work: WorkId,
    pause_ms: u64,
    error: &str,
) -> Result<(), sqlx::Error> {
    let values = [Value::count(pause_ms), Value::Text(error), Value::Bytes(token.as_bytes()), Value::Bytes(&work.0)];
    DB::execute(connection, FAILED.text::<DB>(), &values).await.map(drop)
}

/// The last attempt of this row has failed: it waits for a person.
pub(super) async fn park<DB: Database>(
    connection: &mut DB::Connection,
    token: Token,
    work: WorkId,
    error: &str,
) -> Result<(), sqlx::Error> {
    let values = [Value::count(NEVER), Value::Text(error), Value::Bytes(token.as_bytes()), Value::Bytes(&work.0)];
    DB::execute(connection, PARK.text::<DB>(), &values).await.map(drop)
}

/// An error as it fits into its column.
pub(super) fn short(error: &str) -> String {
    const BYTES_MAX: usize = 900;
    let end = (0..=BYTES_MAX.min(error.len())).rev().find(|end| error.is_char_boundary(*end)).unwrap_or(0);
    error[..end].replace('\0', " ")
}
