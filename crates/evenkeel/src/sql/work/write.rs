//! The last statements before a commit: versions of jobs, sequences of ordered messages, and the outbox row.

use super::effects::Effects;
use super::notifier::WakeUp;
#[cfg(feature = "queue")]
use crate::queue::{JobOperation, JobPut, upsert_jobs};
use crate::sql::database::{Connection, Kind, Row, Statement, Value};
use crate::sql::error::SqlError;
use crate::sql::outbox::effect::Message;
use crate::sql::outbox::rows::{self, Sealing};
use crate::sql::outbox::{WorkId, format};
use evenkeel_link::support::guard;
use std::collections::BTreeMap;

// A version rises with every unit of work that changes the same job, also if its row was deleted in between: a version that started
// again at 1 would be lower than the one that the queue has recorded.
#[cfg(feature = "queue")]
static VERSION_RETURNING: Statement = Statement::new(
    "INSERT INTO evenkeel_job_versions AS held (topic, job, version) VALUES (?, ?, {now} * 1000) \
     ON CONFLICT (topic, job) DO UPDATE SET version = \
     CASE WHEN held.version >= excluded.version THEN held.version + 1 ELSE excluded.version END RETURNING version",
);
#[cfg(feature = "queue")]
static VERSION_MYSQL: Statement = Statement::new(
    "INSERT INTO evenkeel_job_versions (topic, job, version) VALUES (?, ?, {now} * 1000) \
     ON DUPLICATE KEY UPDATE version = GREATEST(version + 1, VALUES(version))",
);
#[cfg(feature = "queue")]
static VERSION_OF: Statement = Statement::new("SELECT version FROM evenkeel_job_versions WHERE topic = ? AND job = ?");

static SEQUENCE_RETURNING: Statement = Statement::new(
    "INSERT INTO evenkeel_outbox_keys AS held (topic, message_key, last_sequence, due_at) VALUES (?, ?, ?, {now}) \
     ON CONFLICT (topic, message_key) DO UPDATE SET last_sequence = held.last_sequence + excluded.last_sequence, \
     due_at = COALESCE(held.due_at, excluded.due_at) \
     RETURNING last_sequence",
);
static SEQUENCE_MYSQL: Statement = Statement::new(
    "INSERT INTO evenkeel_outbox_keys (topic, message_key, last_sequence, due_at) VALUES (?, ?, ?, {now}) \
     ON DUPLICATE KEY UPDATE last_sequence = last_sequence + VALUES(last_sequence), \
     due_at = COALESCE(due_at, VALUES(due_at))",
);
static SEQUENCE_OF: Statement =
    Statement::new("SELECT last_sequence FROM evenkeel_outbox_keys WHERE topic = ? AND message_key = ?");
static ORDERED: Statement = Statement::new(
    "INSERT INTO evenkeel_outbox_ordered (topic, message_key, sequence, work, state, payload, headers, created_at) \
     VALUES (?, ?, ?, ?, 1, ?, ?, {now})",
);

/// The state of the outbox row while the transaction is open.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RowState {
    /// It is inserted at the commit: the unit of work owns its transaction, which has a marker.
    New,
    /// It was inserted when the transaction was joined.
    Open,
}

impl RowState {
    /// Whether the connection is still in the transaction that began.
    async fn is_there(self, connection: &mut Connection, work: WorkId) -> Result<bool, sqlx::Error> {
        match self {
            Self::New => connection.is_marked(&work.0).await,
            Self::Open => rows::is_open(connection, work).await,
        }
    }

    /// Writes the row with the effects; returns whether it could be written.
    async fn seal(self, connection: &mut Connection, effects: &Effects, is_checked: bool) -> Result<bool, SqlError> {
        let encoded = (!effects.is_row_empty()).then(|| effects.encoded());
        fits(connection, "effects", encoded.as_ref().map_or(0, Vec::len)).await?;
        let sealing = Sealing { work: effects.work, effects: encoded.as_deref(), trace: effects.trace.as_deref() };
        Ok(match self {
            Self::New => sealing.insert(connection, is_checked).await?,
            Self::Open => sealing.update(connection).await?,
        })
    }
}

/// Writes everything that the effects need into the transaction, right before the commit.
pub(super) async fn write(
    connection: &mut Connection,
    effects: &mut Effects,
    row_state: RowState,
) -> Result<(), SqlError> {
    // Outside its transaction, each of the statements below would be committed by itself: a message of a transaction that was never
    // committed would be sent, or a sequence would have a gap forever.
    let writes_more = !effects.ordered.is_empty() || effects.has_jobs();
    let is_checked = writes_more && guard("row_before_sequences");
    if is_checked && !row_state.is_there(connection, effects.work).await? {
        return Err(SqlError::Lost);
    }
    let largest = effects.ordered.iter().map(|message| {
        let headers = message.headers.iter().map(|(name, value)| name.len() + value.len() + 8);
        message.payload.len() + headers.sum::<usize>()
    });
    fits(connection, "a message", largest.max().unwrap_or(0)).await?;
    #[cfg(feature = "queue")]
    {
        fits(connection, "a job", largest_body(effects.puts.iter().filter(|put| put.row_decides))).await?;
        take_versions(connection, &mut effects.puts).await?;
        if guard("sql_row_in_the_work") {
            upsert_jobs(connection, &effects.puts).await?;
        }
    }
    take_sequences(connection, effects.work, &effects.ordered).await?;
    let is_there = row_state.seal(connection, effects, is_checked).await?;
    if !is_there && guard("work_row_is_there") {
        return Err(SqlError::Lost);
    }
    Ok(notify(connection, effects).await?)
}

/// The limit is queried for larger messages only: no server with default settings has a lower one.
pub(crate) const UNCHECKED_MAX: usize = 512 * 1024;

/// The maximum size of the rest of the message: the statement, names, lengths.
const OVERHEAD_MAX: u64 = 4 * 1024;

/// Checks the size before the statement is sent: a server closes the connection when a message is too large, which looks like any
/// other lost connection, so the unit of work would be repeated and fail again.
pub(crate) async fn fits(connection: &mut Connection, what: &'static str, bytes: usize) -> Result<(), SqlError> {
    if bytes <= UNCHECKED_MAX || !guard("large_effects_are_refused") {
        return Ok(());
    }
    let bytes = bytes as u64;
    match connection.message_bytes_max().await? {
        Some(limit) if bytes.saturating_add(OVERHEAD_MAX) > limit => Err(SqlError::TooLarge { what, bytes, limit }),
        _ => Ok(()),
    }
}

/// The size of the largest body.
#[cfg(feature = "queue")]
pub(crate) fn largest_body<'a>(puts: impl Iterator<Item = &'a JobPut>) -> usize {
    let bodies = puts.map(|put| match &put.operation {
        JobOperation::Run { spec, .. } => spec.body.len(),
        JobOperation::Withdraw(_) => 0,
    });
    bodies.max().unwrap_or(0)
}

/// Notifies relays in the transaction itself, if the program has requested that and there are ordered messages.
async fn notify(connection: &mut Connection, effects: &Effects) -> Result<(), sqlx::Error> {
    let is_requested = effects.shared.wake_up() == WakeUp::WithCommit && !effects.ordered.is_empty();
    match connection.dialect().notify {
        Some(statement) if is_requested && guard("commit_carries_notification") => {
            connection.execute(statement, &[]).await.map(drop)
        }
        _ => Ok(()),
    }
}

/// The names are sorted, so that two units of work that change the same jobs cannot deadlock.
#[cfg(feature = "queue")]
pub(crate) async fn take_versions(connection: &mut Connection, puts: &mut [JobPut]) -> Result<(), sqlx::Error> {
    puts.sort_by(|one, other| (&one.topic, one.id).cmp(&(&other.topic, other.id)));
    for put in puts.iter_mut().filter(|put| put.version == 0) {
        let name = [Value::Text(&put.topic), Value::Bytes(&put.id.0)];
        let row = if connection.dialect().kind == Kind::MySql {
            VERSION_MYSQL.execute(connection, &name).await?;
            Row::first(connection, &VERSION_OF, &name).await?
        } else {
            Row::first(connection, &VERSION_RETURNING, &name).await?
        };
        put.version = row.map_or(Ok(0), |row| row.count(0))?.max(1);
    }
    Ok(())
}

/// Takes the next sequences of each key under the lock of the key's row, which is held until the commit: transactions commit in the
/// order of their sequences. The keys are sorted, for the same reason.
async fn take_sequences(connection: &mut Connection, work: WorkId, messages: &[Message]) -> Result<(), sqlx::Error> {
    let mut by_key: BTreeMap<(&str, &str), Vec<&Message>> = BTreeMap::new();
    for message in messages {
        let key = message.key.as_deref().unwrap_or_default();
        by_key.entry((&message.topic, key)).or_default().push(message);
    }
    for ((topic, key), messages) in by_key {
        let count = Value::count(messages.len() as u64);
        let name = [Value::Text(topic), Value::Text(key)];
        let taken = [name[0], name[1], count];
        let row = if connection.dialect().kind == Kind::MySql {
            SEQUENCE_MYSQL.execute(connection, &taken).await?;
            Row::first(connection, &SEQUENCE_OF, &name).await?
        } else {
            Row::first(connection, &SEQUENCE_RETURNING, &taken).await?
        };
        let last = row.map_or(Ok(0), |row| row.count(0))?;
        let first = (last + 1).saturating_sub(messages.len() as u64);
        for (sequence, message) in (first..).zip(messages) {
            let headers = format::encode_headers(&message.headers);
            let values = [
                name[0],
                name[1],
                Value::count(sequence),
                Value::Bytes(&work.0),
                Value::Bytes(&message.payload),
                Value::Bytes(&headers),
            ];
            ORDERED.execute(connection, &values).await?;
        }
    }
    Ok(())
}
