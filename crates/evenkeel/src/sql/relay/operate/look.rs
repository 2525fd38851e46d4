//! Lists of rows, and statistics.

use super::Outbox;
use crate::sql::database::{Pool, Row, Statement, Value};
use crate::sql::error::SqlError;
use crate::sql::outbox::{Effect, State, WorkId, format};
use futures_util::future::BoxFuture;
use std::future::Future;

/// The state of a unit of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkState {
    /// Committed, and not all of its effects are carried out.
    Waiting,
    /// All of its effects are carried out.
    Done,
    /// It was not committed, which a tombstone records.
    Aborted,
    /// Its effects failed too often: it waits for an operator.
    Parked,
}

impl WorkState {
    fn state(self) -> State {
        match self {
            Self::Waiting => State::Pending,
            Self::Done => State::Done,
            Self::Aborted => State::Aborted,
            Self::Parked => State::Parked,
        }
    }
}

/// One unit of work.
#[derive(Clone, Debug)]
pub struct SeenWork {
    /// Its id.
    pub id: WorkId,
    /// Failed attempts so far.
    pub attempts: u64,
    /// When it began, in ms since 1970 by the database's clock.
    pub created_ms: u64,
    /// When a relay may claim it (again); `None` if none will.
    pub due_ms: Option<u64>,
    /// Whether a relay has claimed it.
    pub is_claimed: bool,
    /// A description of each effect.
    pub effects: Vec<String>,
    /// The last error.
    pub error: Option<String>,
}

/// One key of ordered messages.
#[derive(Clone, Debug)]
pub struct SeenKey {
    /// The topic of its messages.
    pub topic: String,
    /// The name of the key.
    pub key: String,
    /// The sequence of the last confirmed message.
    pub sent: u64,
    /// The sequence of the last committed message.
    pub last: u64,
    /// Failed attempts of the next message so far.
    pub attempts: u64,
    /// When a relay may claim it (again).
    pub due_ms: Option<u64>,
    /// When it was parked.
    pub parked_ms: Option<u64>,
    /// Whether a relay has claimed it.
    pub is_claimed: bool,
    /// The last error.
    pub error: Option<String>,
}

/// Statistics of an outbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutboxStats {
    /// Units of work whose effects are not all carried out.
    pub waiting: u64,
    /// Units of work that are done and not yet deleted.
    pub done: u64,
    /// Tombstones of transactions that were not committed.
    pub aborted: u64,
    /// Parked units of work.
    pub parked: u64,
    /// Units of work and keys that wait because the last relay that claimed them has no sink for a topic.
    pub unrouted: u64,
    /// Rows in a state that this program does not know: a newer program wrote them, or an operator changed them. Relays ignore them.
    pub unknown: u64,
    /// When the oldest waiting unit of work began.
    pub oldest_ms: Option<u64>,
    /// Ordered messages that are not yet confirmed.
    pub messages: u64,
    /// When the oldest of these messages was committed.
    pub oldest_message_ms: Option<u64>,
    /// All keys.
    pub keys: u64,
    /// Keys with messages to send.
    pub keys_waiting: u64,
    /// Parked keys.
    pub keys_parked: u64,
    /// The current time of the database's clock.
    pub now_ms: u64,
}

static UNITS: Statement =
    Statement::new("SELECT state, COUNT(*), MIN(created_at), {now} FROM evenkeel_outbox GROUP BY state");
static MESSAGES: Statement = Statement::new("SELECT COUNT(*), MIN(created_at), {now} FROM evenkeel_outbox_ordered");
static KEYS: Statement = Statement::new(
    "SELECT COUNT(*), COUNT(CASE WHEN last_sequence > sent_sequence THEN 1 END), COUNT(parked_at) \
     FROM evenkeel_outbox_keys",
);
static UNROUTED: Statement = Statement::new(
    "SELECT COUNT(*) + (SELECT COUNT(*) FROM evenkeel_outbox_keys WHERE parked_at IS NULL \
     AND last_sequence > sent_sequence AND error LIKE 'no sink of this program%') \
     FROM evenkeel_outbox WHERE state = 1 AND error LIKE 'no sink of this program%'",
);
static LIST: Statement = Statement::new(
    "SELECT id, attempts, created_at, due_at, claim, effects, error FROM evenkeel_outbox WHERE state = ? AND id > ? \
     ORDER BY id LIMIT ?",
);
static LIST_KEYS: Statement = Statement::new(
    "SELECT topic, message_key, sent_sequence, last_sequence, attempts, due_at, parked_at, claim, error \
     FROM evenkeel_outbox_keys WHERE last_sequence > sent_sequence AND (parked_at IS NOT NULL OR ? = 0) \
     AND (topic > ? OR (topic = ? AND message_key > ?)) ORDER BY topic, message_key LIMIT ?",
);

impl<DB> Outbox<DB> {
    /// Counts the rows of the outbox, which takes a while if it is large.
    ///
    /// # Errors
    /// [`SqlError`] of the database.
    pub fn stats(&self) -> impl Future<Output = Result<OutboxStats, SqlError>> + Send {
        count(self.pool.clone())
    }

    /// Up to `limit` units of work after `after`, oldest first.
    ///
    /// # Errors
    /// [`SqlError`] of the database.
    pub fn units(
        &self,
        place: WorkState,
        after: Option<WorkId>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<SeenWork>, SqlError>> + Send {
        list(self.pool.clone(), place, after, limit)
    }

    /// Up to `limit` keys with messages to send (or only the parked ones) after the topic and key `after`, ordered by name.
    ///
    /// # Errors
    /// [`SqlError`] of the database.
    pub fn keys(
        &self,
        only_parked: bool,
        after: (String, String),
        limit: usize,
    ) -> impl Future<Output = Result<Vec<SeenKey>, SqlError>> + Send {
        list_keys(self.pool.clone(), only_parked, after, limit)
    }
}

// Boxed, so that they are compiled here.

fn count(pool: Pool) -> BoxFuture<'static, Result<OutboxStats, SqlError>> {
    Box::pin(async move {
        let mut connection = pool.acquire().await?;
        let mut stats = OutboxStats::default();
        for row in Row::all(&mut *connection, &UNITS, &[]).await? {
            let count = row.count(1)?;
            match State::from_number(row.int(0)?) {
                Some(State::Pending) => {
                    stats.waiting = count;
                    stats.oldest_ms = Some(row.count(2)?);
                }
                Some(State::Done) => stats.done = count,
                Some(State::Aborted) => stats.aborted = count,
                Some(State::Parked) => stats.parked = count,
                Some(State::Open) => {}
                None => stats.unknown += count,
            }
        }
        if let Some(row) = Row::first(&mut *connection, &MESSAGES, &[]).await? {
            stats.messages = row.count(0)?;
            stats.oldest_message_ms = row.optional_int(1)?.and_then(|ms| u64::try_from(ms).ok());
            stats.now_ms = row.count(2)?;
        }
        if let Some(row) = Row::first(&mut *connection, &KEYS, &[]).await? {
            stats.keys = row.count(0)?;
            stats.keys_waiting = row.count(1)?;
            stats.keys_parked = row.count(2)?;
        }
        let unrouted = Row::first(&mut *connection, &UNROUTED, &[]).await?;
        stats.unrouted = unrouted.map_or(Ok(0), |row| row.count(0))?;
        Ok(stats)
    })
}

fn list(
    pool: Pool,
    place: WorkState,
    after: Option<WorkId>,
    limit: usize,
) -> BoxFuture<'static, Result<Vec<SeenWork>, SqlError>> {
    Box::pin(async move {
        let after = after.map_or([0; 16], |work| work.0);
        let values = [Value::Int(place.state() as i64), Value::Bytes(&after), Value::count(limit as u64)];
        let rows = LIST.read(&pool, &values).await?;
        Ok(rows.iter().map(seen_work).collect::<Result<_, _>>()?)
    })
}

fn list_keys(
    pool: Pool,
    only_parked: bool,
    (topic, key): (String, String),
    limit: usize,
) -> BoxFuture<'static, Result<Vec<SeenKey>, SqlError>> {
    Box::pin(async move {
        let topic = Value::Text(&topic);
        let values = [Value::Int(i64::from(only_parked)), topic, topic, Value::Text(&key), Value::count(limit as u64)];
        let rows = LIST_KEYS.read(&pool, &values).await?;
        Ok(rows.iter().map(seen_key).collect::<Result<_, _>>()?)
    })
}

fn seen_work(row: &Row) -> Result<SeenWork, sqlx::Error> {
    let effects = match format::decode(row.bytes(5)?) {
        Ok(effects) => effects.iter().map(describe).collect(),
        Err(error) => vec![error.to_string()],
    };
    Ok(SeenWork {
        id: WorkId(row.id(0)?.unwrap_or_default()),
        attempts: row.count(1)?,
        created_ms: row.count(2)?,
        due_ms: due(row.optional_int(3)?),
        is_claimed: row.optional_bytes(4)?.is_some(),
        effects,
        error: row.optional_text(6)?.filter(|error| !error.is_empty()),
    })
}

fn seen_key(row: &Row) -> Result<SeenKey, sqlx::Error> {
    Ok(SeenKey {
        topic: row.text(0)?,
        key: row.text(1)?,
        sent: row.count(2)?,
        last: row.count(3)?,
        attempts: row.count(4)?,
        due_ms: due(row.optional_int(5)?),
        parked_ms: row.optional_int(6)?.and_then(|ms| u64::try_from(ms).ok()),
        is_claimed: row.optional_bytes(7)?.is_some(),
        error: row.optional_text(8)?.filter(|error| !error.is_empty()),
    })
}

fn due(due_at: Option<i64>) -> Option<u64> {
    due_at.and_then(|ms| u64::try_from(ms).ok()).filter(|ms| *ms < crate::sql::relay::rows::NEVER)
}

fn describe(effect: &Effect) -> String {
    match effect {
        #[cfg(feature = "cache")]
        Effect::Invalidate(invalidate) => {
            format!("invalidate {} {}", invalidate.cache, String::from_utf8_lossy(&invalidate.key))
        }
        #[cfg(feature = "queue")]
        Effect::Put(put) => format!("job {} {}", put.topic, put.id),
        Effect::Publish(message) => format!("publish {} ({} bytes)", message.topic, message.payload.len()),
    }
}
