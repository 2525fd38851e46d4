//! The statements on `evenkeel_outbox_json`.

use crate::sql::database::{Connection, Row, Statement, Value};
use crate::sql::outbox::WorkId;
use crate::sql::relay::rows::{CLAIM_BYTES_MAX, NEVER};
use std::time::Duration;

/// A row that a program has inserted.
#[derive(Debug)]
pub(super) struct Inserted {
    pub(super) id: i64,
    /// The effects as JSON.
    pub(super) effects: String,
    /// In ms of the database's clock.
    #[cfg_attr(not(feature = "queue"), expect(dead_code, reason = "delays of jobs count from it"))]
    pub(super) created_at: u64,
    pub(super) age: Duration,
}

// The length becomes a number of 64 bits, as all numbers that are read. The large column is not the first: sqlx 0.9.0 takes a row of MySQL that begins with a value of 16 MiB for the end of the rows.
static DUE: Statement = Statement::new(
    "SELECT id, created_at, {now} - created_at, LENGTH(effects) + 0 * id, \
     CASE WHEN LENGTH(effects) > 65536 THEN NULL ELSE effects END FROM evenkeel_outbox_json \
     WHERE due_at <= (SELECT {now}) ORDER BY id LIMIT ?",
);
static EFFECTS: Statement = Statement::new("SELECT id, effects FROM evenkeel_outbox_json WHERE id = ?");
static DELETE: Statement = Statement::new("DELETE FROM evenkeel_outbox_json WHERE id = ?");
static POSTPONE: Statement =
    Statement::new("UPDATE evenkeel_outbox_json SET due_at = {now} + ?, error = ? WHERE id = ?");
// The fast path is for the process that commits; the effects of these rows are for relays alone.
static DUE_NOW: Statement =
    Statement::new("UPDATE evenkeel_outbox SET due_at = {now} WHERE id = ? AND due_at IS NOT NULL");
static PARK: Statement = Statement::new(
    "UPDATE evenkeel_outbox SET state = 4, effects = ?, attempts = 1, due_at = ?, settled_at = {now}, error = ? WHERE id = ?",
);

/// The first due rows in the order of their ids, at most `limit`, and at most 16 MiB unless one row is larger.
pub(super) async fn due(connection: &mut Connection, limit: usize) -> Result<Vec<Inserted>, sqlx::Error> {
    let (mut found, mut bytes) = (Vec::new(), 0);
    for row in Row::all(connection, &DUE, &[Value::count(limit as u64)]).await? {
        let (id, length) = (row.int(0)?, row.count(3)?);
        bytes += length;
        if !found.is_empty() && bytes > CLAIM_BYTES_MAX {
            break;
        }
        let effects = match row.optional_text(4)? {
            Some(effects) => effects,
            None => match Row::first(connection, &EFFECTS, &[Value::Int(id)]).await? {
                Some(row) => row.optional_text(1)?.unwrap_or_default(),
                // Another relay has moved it.
                None => continue,
            },
        };
        // Programs may set the time of their rows; it counts as at most now.
        let age = Duration::from_millis(u64::try_from(row.int(2)?).unwrap_or(0));
        found.push(Inserted { id, effects, created_at: u64::try_from(row.int(1)?).unwrap_or(0), age });
    }
    Ok(found)
}

/// Deletes a row. Returns `false` if another relay has moved it.
pub(super) async fn delete(connection: &mut Connection, id: i64) -> Result<bool, sqlx::Error> {
    Ok(DELETE.execute(connection, &[Value::Int(id)]).await? == 1)
}

/// Postpones a row by `pause`, and records why.
pub(super) async fn postpone(
    connection: &mut Connection,
    id: i64,
    pause: Duration,
    error: &str,
) -> Result<(), sqlx::Error> {
    let pause = Value::count(evenkeel_link::support::ms(pause));
    POSTPONE.execute(connection, &[pause, Value::Text(error), Value::Int(id)]).await.map(drop)
}

/// Makes the row of a unit of work due now.
pub(super) async fn due_now(connection: &mut Connection, work: WorkId) -> Result<(), sqlx::Error> {
    DUE_NOW.execute(connection, &[Value::Bytes(&work.0)]).await.map(drop)
}

/// Parks the row of a unit of work, with the JSON in place of its effects.
pub(super) async fn park(
    connection: &mut Connection,
    work: WorkId,
    effects: &str,
    error: &str,
) -> Result<(), sqlx::Error> {
    let values = [Value::Bytes(effects.as_bytes()), Value::count(NEVER), Value::Text(error), Value::Bytes(&work.0)];
    PARK.execute(connection, &values).await.map(drop)
}
