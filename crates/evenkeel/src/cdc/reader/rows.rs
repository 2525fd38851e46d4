//! The rows of a source in SQL: its checkpoint, its reader, and its parked keys. Every statement of a reader names its owner and its fence, so
//! that one which was paused changes nothing of its successor.

use crate::cdc::source::{Anchor, Checkpoint, Identity, Position};
use crate::sql::database::{Pool, Row, Statement, Value};
use crate::sql::{SqlError, Transaction};
use evenkeel_link::support::ms;
use sqlx::SqlSafeStr;
use std::sync::Arc;
use std::time::Duration;

/// The rows of one source.
#[derive(Clone)]
pub(in crate::cdc) struct Rows {
    pub(in crate::cdc) pool: Pool,
    pub(in crate::cdc) name: Arc<str>,
}

/// What makes a process the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Claim {
    owner: [u8; 16],
    pub(super) fence: u64,
}

/// The row of a source.
#[derive(Clone, Debug)]
pub(in crate::cdc) struct SourceRow {
    pub(in crate::cdc) checkpoint: Option<Checkpoint>,
    pub(in crate::cdc) fence: u64,
    owner: Option<[u8; 16]>,
    pub(in crate::cdc) is_paused: bool,
    /// How much of the reader's lease is left.
    pub(in crate::cdc) lease_left: Duration,
    pub(in crate::cdc) state: String,
    pub(in crate::cdc) cause: Option<String>,
    pub(in crate::cdc) saved_at_ms: Option<u64>,
}

/// A key to be parked.
pub(super) struct ToPark {
    pub(super) rule: Arc<str>,
    pub(super) key: Vec<u8>,
    pub(super) error: String,
}

/// A key that is parked.
pub(in crate::cdc) struct ParkedRow {
    pub(in crate::cdc) rule: String,
    pub(in crate::cdc) key: Vec<u8>,
    pub(in crate::cdc) position: String,
    pub(in crate::cdc) error: String,
    pub(in crate::cdc) parked_at_ms: u64,
}

/// The most parked keys that a reader starts with.
pub(super) const PARKED_MAX: usize = 10_000;
/// The longest text of a cause or an error.
const TEXT_BYTES_MAX: usize = 1_000;

static CREATE: Statement = Statement::new(
    "{insert} evenkeel_cdc_source (name, fence, lease_until, paused, state) VALUES (?, 0, 0, 0, 'new') {or ignore}",
);
static CLAIM: Statement = Statement::new(
    "UPDATE evenkeel_cdc_source SET owner = ?, fence = fence + 1, lease_until = {now} + ? \
     WHERE name = ? AND (owner IS NULL OR lease_until <= {now})",
);
static READ: Statement = Statement::new(
    "SELECT identity, epoch, position, anchor, fence, owner, paused, lease_until - {now}, state, cause, saved_at \
     FROM evenkeel_cdc_source WHERE name = ?",
);
static RENEW: Statement =
    Statement::new("UPDATE evenkeel_cdc_source SET lease_until = {now} + ? WHERE name = ? AND owner = ? AND fence = ?");
static SAVE: Statement = Statement::new(
    "UPDATE evenkeel_cdc_source SET identity = ?, epoch = ?, position = ?, anchor = ?, state = ?, cause = ?, saved_at = {now} \
     WHERE name = ? AND owner = ? AND fence = ?",
);
static NOTE: Statement =
    Statement::new("UPDATE evenkeel_cdc_source SET state = ?, cause = ? WHERE name = ? AND owner = ? AND fence = ?");
static RELEASE: Statement = Statement::new(
    "UPDATE evenkeel_cdc_source SET owner = NULL, lease_until = 0 WHERE name = ? AND owner = ? AND fence = ?",
);
static PAUSE: Statement = Statement::new("UPDATE evenkeel_cdc_source SET paused = ? WHERE name = ?");
static PARK: Statement = Statement::new(
    "{insert} evenkeel_cdc_parked (source, rule, row_key, position, error, parked_at) VALUES (?, ?, ?, ?, ?, {now}) {or ignore}",
);
static PARKED: Statement = Statement::new(
    "SELECT rule, row_key, position, error, parked_at FROM evenkeel_cdc_parked WHERE source = ? ORDER BY parked_at, rule, row_key LIMIT ?",
);
static UNPARK: Statement =
    Statement::new("DELETE FROM evenkeel_cdc_parked WHERE source = ? AND rule = ? AND row_key = ?");

impl Rows {
    /// The row of the source; `None` if no reader has ever run.
    pub(in crate::cdc) async fn read(&self) -> Result<Option<SourceRow>, SqlError> {
        let rows = READ.read(&self.pool, &[Value::Text(&self.name)]).await?;
        let Some(row) = rows.into_iter().next() else { return Ok(None) };
        let checkpoint = match (row.optional_text(0)?, row.optional_text(2)?) {
            (Some(identity), Some(position)) => Some(Checkpoint {
                identity: Identity(identity),
                epoch: row.count(1)?,
                position,
                anchor: Anchor(row.text(3)?),
            }),
            _ => None,
        };
        Ok(Some(SourceRow {
            checkpoint,
            fence: row.count(4)?,
            owner: row.id(5)?,
            is_paused: row.int(6)? != 0,
            lease_left: Duration::from_millis(row.count(7)?),
            state: row.text(8)?,
            cause: row.optional_text(9)?,
            saved_at_ms: row.optional_int(10)?.and_then(|at| u64::try_from(at).ok()),
        }))
    }

    /// Becomes the reader; `None` while another process is.
    pub(super) async fn claim(&self, lease: Duration) -> Result<Option<Claim>, SqlError> {
        let owner: [u8; 16] = rand::random();
        let values = [Value::Bytes(&owner), Value::count(ms(lease)), Value::Text(&self.name)];
        let mut claimed = CLAIM.run(&self.pool, &values).await?;
        if claimed == 0 && self.read().await?.is_none() {
            CREATE.run(&self.pool, &[Value::Text(&self.name)]).await?;
            claimed = CLAIM.run(&self.pool, &values).await?;
        }
        if claimed == 0 {
            return Ok(None);
        }
        let row = self.read().await?.filter(|row| row.owner == Some(owner));
        Ok(row.map(|row| Claim { owner, fence: row.fence }))
    }

    /// Extends the lease. False: another process is the reader.
    pub(super) async fn renew(&self, claim: &Claim, lease: Duration) -> Result<bool, SqlError> {
        let values =
            [Value::count(ms(lease)), Value::Text(&self.name), Value::Bytes(&claim.owner), Value::count(claim.fence)];
        Ok(RENEW.run(&self.pool, &values).await? == 1)
    }

    /// Saves a checkpoint, and parks keys in the same transaction. False: another process is the reader, and nothing was changed.
    pub(super) async fn save(
        &self,
        claim: &Claim,
        identity: &Identity,
        position: &Position,
        anchor: &Anchor,
        gap: Option<&str>,
        park: &[ToPark],
    ) -> Result<bool, SqlError> {
        let cause = gap.map(short);
        let values = [
            Value::Text(&identity.0),
            Value::count(position.epoch),
            Value::Text(&position.text),
            Value::Text(&anchor.0),
            Value::Text("streaming"),
            Value::MaybeText(cause),
            Value::Text(&self.name),
            Value::Bytes(&claim.owner),
            Value::count(claim.fence),
        ];
        if park.is_empty() {
            return Ok(SAVE.run(&self.pool, &values).await? == 1);
        }
        let mut transaction = Transaction::begin(&self.pool, self.pool.dialect().begin.into_sql_str()).await?;
        let is_saved = SAVE.execute(&mut *transaction, &values).await? == 1;
        if !is_saved {
            transaction.rollback().await?;
            return Ok(false);
        }
        for key in park {
            let values = [
                Value::Text(&self.name),
                Value::Text(&key.rule),
                Value::Bytes(&key.key),
                Value::Text(&position.text),
                Value::Text(short(&key.error)),
            ];
            PARK.execute(&mut *transaction, &values).await?;
        }
        transaction.commit().await?;
        Ok(true)
    }

    /// Records what the reader does, for operators.
    pub(super) async fn note(&self, claim: &Claim, state: &str, cause: Option<&str>) -> Result<(), SqlError> {
        let values = [
            Value::Text(state),
            Value::MaybeText(cause.map(short)),
            Value::Text(&self.name),
            Value::Bytes(&claim.owner),
            Value::count(claim.fence),
        ];
        NOTE.run(&self.pool, &values).await.map(drop)
    }

    /// Lets another process be the reader at once.
    pub(super) async fn release(&self, claim: &Claim) -> Result<(), SqlError> {
        let values = [Value::Text(&self.name), Value::Bytes(&claim.owner), Value::count(claim.fence)];
        RELEASE.run(&self.pool, &values).await.map(drop)
    }

    pub(in crate::cdc) async fn set_paused(&self, is_paused: bool) -> Result<bool, SqlError> {
        let values = [Value::Int(i64::from(is_paused)), Value::Text(&self.name)];
        Ok(PAUSE.run(&self.pool, &values).await? == 1)
    }

    pub(in crate::cdc) async fn parked(&self, limit: usize) -> Result<Vec<ParkedRow>, SqlError> {
        let values = [Value::Text(&self.name), Value::count(limit as u64)];
        let rows = PARKED.read(&self.pool, &values).await?;
        let read = |row: Row| {
            Ok(ParkedRow {
                rule: row.text(0)?,
                key: row.bytes(1)?,
                position: row.text(2)?,
                error: row.text(3)?,
                parked_at_ms: row.count(4)?,
            })
        };
        Ok(rows.into_iter().map(read).collect::<Result<_, sqlx::Error>>()?)
    }

    pub(in crate::cdc) async fn unpark(&self, rule: &str, key: &[u8]) -> Result<bool, SqlError> {
        let values = [Value::Text(&self.name), Value::Text(rule), Value::Bytes(key)];
        Ok(UNPARK.run(&self.pool, &values).await? == 1)
    }
}

/// The beginning of a text, without zero characters, which PostgreSQL does not store.
fn short(text: &str) -> &str {
    let end = text.floor_char_boundary(TEXT_BYTES_MAX);
    let text = &text[..end];
    text.split('\0').next().unwrap_or(text)
}
