//! Deletes old rows in small batches, and measures the outbox.

use super::core::Core;
use super::rows::NEVER;
use crate::sql::database::{LIST_MAX, Lists, Row, Statement, Value};
use crate::sql::error::SqlError;
use evenkeel_link::support::{guard, ms};
use metrics::gauge;

/// The maximum number of batches in one run; the rest is left to the next.
const ROUNDS_MAX: usize = 40;

/// The maximum number of rows that are counted for a gauge.
const COUNTED_MAX: u64 = 100_000;

// Ids begin with the time of their generation, so the oldest rows are found without an index on the time. Only rows of done units of
// work and tombstones are deleted.
static OLD: Statement = Statement::new(
    "SELECT id FROM evenkeel_outbox WHERE id < ? AND state IN (2, 3) AND settled_at < (SELECT {now}) - ? \
     ORDER BY id LIMIT ?",
);
static OLD_UNGUARDED: Statement = Statement::new(
    "SELECT id FROM evenkeel_outbox WHERE id > ? AND state <> 0 AND settled_at > (SELECT {now}) - ? ORDER BY id LIMIT ?",
);
static DELETE: Lists = Lists::new("DELETE FROM evenkeel_outbox WHERE id IN (..)");

static UNITS: Statement = Statement::new(
    "SELECT COUNT(*), MIN(created_at), {now} FROM \
     (SELECT created_at FROM evenkeel_outbox WHERE due_at < ? ORDER BY due_at LIMIT ?) AS waiting",
);
static UNITS_PARKED: Statement = Statement::new("SELECT COUNT(*) FROM evenkeel_outbox WHERE due_at >= ?");
static KEYS: Statement = Statement::new(
    "SELECT COUNT(*) FROM (SELECT due_at FROM evenkeel_outbox_keys WHERE due_at < ? ORDER BY due_at LIMIT ?) AS waiting",
);
static JSON: Statement =
    Statement::new("SELECT COUNT(*) FROM (SELECT id FROM evenkeel_outbox_json ORDER BY id LIMIT ?) AS waiting");
static KEYS_PARKED: Statement = Statement::new("SELECT COUNT(*) FROM evenkeel_outbox_keys WHERE due_at >= ?");

/// Deletes a bounded number of rows that are no longer needed. Returns how many.
pub(super) async fn run_once(core: &Core) -> Result<u64, SqlError> {
    let retention_ms = ms(core.settings.retention);
    let newest = core.clock().unix_ms().saturating_sub(retention_ms);
    let mut bound = [0; 16];
    bound[..6].copy_from_slice(&newest.to_be_bytes()[2..]);
    let statement = if guard("relay_retention") { &OLD } else { &OLD_UNGUARDED };
    let mut deleted = 0;
    for _ in 0..ROUNDS_MAX {
        let mut connection = core.connection().await?;
        let values = [Value::Bytes(&bound), Value::count(retention_ms), Value::count(LIST_MAX as u64)];
        let rows = core.within(Row::all(&mut *connection, statement, &values)).await?;
        let ids = rows.iter().map(|row| row.bytes(0)).collect::<Result<Vec<_>, _>>()?;
        let list: Vec<Value<'_>> = ids.iter().map(|id| Value::Bytes(id)).collect();
        let gone = core.within(DELETE.execute(&mut *connection, &[], &list)).await?;
        core.metrics.deleted.increment(gone);
        deleted += gone;
        if ids.len() < LIST_MAX {
            break;
        }
    }
    Ok(deleted)
}

/// Updates the gauges.
pub(super) async fn measure(core: &Core) -> Result<(), SqlError> {
    let mut connection = core.connection().await?;
    let limits = [Value::count(NEVER), Value::count(COUNTED_MAX)];
    if let Some(row) = core.within(Row::first(&mut *connection, &UNITS, &limits)).await? {
        gauge!("evenkeel_outbox_waiting", "worker" => "units").set(row.count(0)? as f64);
        let now = row.int(2)?;
        let oldest = row.optional_int(1)?.unwrap_or(now);
        gauge!("evenkeel_outbox_lag_seconds").set(now.saturating_sub(oldest).max(0) as f64 / 1000.0);
    }
    if let Some(row) = core.within(Row::first(&mut *connection, &KEYS, &limits)).await? {
        gauge!("evenkeel_outbox_waiting", "worker" => "keys").set(row.count(0)? as f64);
    }
    if let Some(row) = core.within(Row::first(&mut *connection, &JSON, &limits[1..])).await? {
        gauge!("evenkeel_outbox_waiting", "worker" => "json").set(row.count(0)? as f64);
    }
    for (worker, statement) in [("units", &UNITS_PARKED), ("keys", &KEYS_PARKED)] {
        let row = core.within(Row::first(&mut *connection, statement, &limits[..1])).await?;
        let parked = row.map_or(Ok(0), |row| row.count(0))?;
        gauge!("evenkeel_outbox_parked", "worker" => worker).set(parked as f64);
    }
    Ok(())
}
