//! The relay's statements on `evenkeel_outbox_keys` and `evenkeel_outbox_ordered`: the row of a key records how far its messages have
//! been sent, and is claimed as a whole.

use super::lists::padded;
#[cfg(feature = "stream")]
use super::registered;
use crate::sql::database::{Connection, PooledConnection, Row, Statement, Value};
use crate::sql::relay::rows::{CLAIM_BYTES_MAX, LARGE, NEVER, begin, next_of};
use evenkeel_link::Token;
use evenkeel_link::support::guard;
use std::time::Duration;

/// The maximum number of keys in one claim.
pub(super) const KEYS_MAX: usize = 64;

/// Which keys a relay claims.
#[derive(Clone, Copy, Debug)]
pub(super) enum Scope {
    All,
    /// Those of the streams, which need no sink of the program.
    Streams,
}

/// The name of a key within its topic.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct KeyName {
    pub(super) topic: String,
    pub(super) key: String,
}

impl KeyName {
    pub(super) fn values(&self) -> [Value<'_>; 2] {
        [Value::Text(&self.topic), Value::Text(&self.key)]
    }
}

/// A key that this relay has claimed.
#[derive(Clone, Debug)]
pub(super) struct ClaimedKey {
    pub(super) name: KeyName,
    /// The last sequence that a sink confirmed.
    pub(super) sent: u64,
    /// The last sequence that was committed.
    pub(super) last: u64,
    pub(super) attempts: u64,
    /// The incarnation of the key's stream when it was claimed, if the topic is a stream that is registered in this database.
    pub(super) incarnation: Option<u64>,
}

/// One message of a key.
#[derive(Clone, Debug)]
pub(super) struct OrderedRow {
    pub(super) name: KeyName,
    pub(super) sequence: u64,
    pub(super) payload: Vec<u8>,
    pub(super) headers: Vec<u8>,
    /// The message did not fit into the size limit of the claim: the next pass sends it.
    pub(super) is_left: bool,
}

/// Sequences of a key: those above `after`, up to and including `until`.
#[derive(Clone, Debug)]
pub(super) struct Span {
    pub(super) name: KeyName,
    pub(super) after: u64,
    pub(super) until: u64,
}

impl Span {
    fn values(&self) -> [Value<'_>; 4] {
        let [topic, key] = self.name.values();
        [topic, key, Value::count(self.after), Value::count(self.until)]
    }
}

// One for each scope.
static NEXT: [Statement; 2] = [
    Statement::new("SELECT due_at, {now} FROM evenkeel_outbox_keys WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1"),
    Statement::new(
        "SELECT due_at, {now} FROM evenkeel_outbox_keys WHERE due_at IS NOT NULL AND topic LIKE 'evenkeel.stream/%' \
         ORDER BY due_at LIMIT 1",
    ),
];
static DUE: [Statement; 2] = [
    Statement::new(
        "SELECT topic, message_key, sent_sequence, last_sequence, attempts FROM evenkeel_outbox_keys \
         WHERE due_at <= (SELECT {now}) ORDER BY due_at LIMIT ? {skip locked}",
    ),
    Statement::new(
        "SELECT topic, message_key, sent_sequence, last_sequence, attempts FROM evenkeel_outbox_keys \
         WHERE due_at <= (SELECT {now}) AND topic LIKE 'evenkeel.stream/%' ORDER BY due_at LIMIT ? {skip locked}",
    ),
];
static CLAIM: [Statement; 3] = sizes!(
    "UPDATE evenkeel_outbox_keys SET claim = ?, due_at = {now} + ? WHERE ",
    "(topic = ? AND message_key = ?)",
    " OR ",
    ""
);
static MESSAGES: [Statement; 3] = sizes!(
    "SELECT topic, message_key, sequence, CASE WHEN LENGTH(payload) > 65536 THEN NULL ELSE payload END, headers, \
     LENGTH(payload) + 0 * sequence FROM evenkeel_outbox_ordered WHERE ",
    "(topic = ? AND message_key = ? AND sequence > ? AND sequence <= ?)",
    " OR ",
    " ORDER BY topic, message_key, sequence"
);
// The large column is not the first, for the reason given in `rows.rs`.
static PAYLOAD: Statement = Statement::new(
    "SELECT sequence, payload FROM evenkeel_outbox_ordered WHERE topic = ? AND message_key = ? AND sequence = ?",
);
static LOCK: [Statement; 3] = sizes!(
    "SELECT topic, message_key FROM evenkeel_outbox_keys WHERE claim = ? AND (",
    "(topic = ? AND message_key = ?)",
    " OR ",
    ") {skip locked}"
);
static LOCK_UNFENCED: [Statement; 3] = sizes!(
    "SELECT topic, message_key FROM evenkeel_outbox_keys WHERE ? IS NOT NULL AND (",
    "(topic = ? AND message_key = ?)",
    " OR ",
    ") {skip locked}"
);
// The parameters are the sequence of each key, then the same keys again: an `UPDATE` by itself would wait for locked keys.
macro_rules! advance {
    ($size:tt) => {
        Statement::new(concat!(
            "UPDATE evenkeel_outbox_keys SET attempts = 0, error = NULL, sent_sequence = CASE ",
            times!($size, "WHEN topic = ? AND message_key = ? THEN ?", " "),
            " ELSE sent_sequence END WHERE ",
            times!($size, "(topic = ? AND message_key = ?)", " OR ")
        ))
    };
}
static ADVANCE: [Statement; 3] = [advance!(1), advance!(8), advance!(64)];
static SETTLE: [Statement; 3] = sizes!(
    "UPDATE evenkeel_outbox_keys SET claim = NULL, \
     due_at = CASE WHEN last_sequence > sent_sequence THEN {now} ELSE NULL END WHERE ",
    "(topic = ? AND message_key = ?)",
    " OR ",
    ""
);
// Entries of a registered stream are kept until every group has settled them.
#[cfg(feature = "stream")]
static KEEP_SENT: [Statement; 3] = sizes!(
    "INSERT INTO evenkeel_stream_log (topic, message_key, sequence, work, payload, headers, created_at) \
     SELECT topic, message_key, sequence, work, payload, headers, created_at FROM evenkeel_outbox_ordered WHERE ",
    "(topic = ? AND message_key = ? AND sequence > ? AND sequence <= ?)",
    " OR ",
    ""
);
static DELETE_SENT: [Statement; 3] = sizes!(
    "DELETE FROM evenkeel_outbox_ordered WHERE ",
    "(topic = ? AND message_key = ? AND sequence > ? AND sequence <= ?)",
    " OR ",
    ""
);
static FAILED: Statement = Statement::new(
    "UPDATE evenkeel_outbox_keys SET claim = NULL, attempts = attempts + 1, due_at = {now} + ?, error = ? \
     WHERE topic = ? AND message_key = ?",
);
static PARK: Statement = Statement::new(
    "UPDATE evenkeel_outbox_keys SET claim = NULL, attempts = attempts + 1, due_at = ?, parked_at = {now}, error = ? \
     WHERE topic = ? AND message_key = ?",
);
static WAIT: Statement = Statement::new(
    "UPDATE evenkeel_outbox_keys SET claim = NULL, due_at = {now} + ?, error = ? WHERE topic = ? AND message_key = ?",
);

static WAITING_KEYS: Statement = Statement::new(
    "SELECT topic, message_key FROM evenkeel_outbox_keys WHERE due_at > (SELECT {now}) AND due_at < ? AND claim IS NULL \
     AND error LIKE 'waits: %' ORDER BY due_at LIMIT ? {skip locked}",
);
static FAR_KEYS: Statement = Statement::new(
    "SELECT topic, message_key FROM evenkeel_outbox_keys WHERE due_at > (SELECT {now} + ?) AND due_at < ? \
     ORDER BY due_at LIMIT ? {skip locked}",
);
static EXPEDITE: [Statement; 3] =
    sizes!("UPDATE evenkeel_outbox_keys SET due_at = {now} + ? WHERE ", "(topic = ? AND message_key = ?)", " OR ", "");
// The release of a key sets the time on its next message.
static AGE: Statement = Statement::new(
    "SELECT {now} - COALESCE(settled_at, created_at) FROM evenkeel_outbox_ordered \
     WHERE topic = ? AND message_key = ? AND sequence = ?",
);

/// After a sink became available again, makes some keys that wait for one due now. Returns how many.
pub(super) async fn expedite(connection: &mut PooledConnection) -> Result<usize, sqlx::Error> {
    let values = [Value::count(NEVER), Value::count(KEYS_MAX as u64)];
    bring_forward(connection, &WAITING_KEYS, &values, 0).await
}

/// As [`recall`](crate::sql::relay::rows::recall), for keys.
pub(super) async fn recall(
    connection: &mut PooledConnection,
    far_ms: u64,
    lease_ms: u64,
) -> Result<usize, sqlx::Error> {
    let values = [Value::count(far_ms), Value::count(NEVER), Value::count(KEYS_MAX as u64)];
    bring_forward(connection, &FAR_KEYS, &values, lease_ms).await
}

async fn bring_forward(
    connection: &mut PooledConnection,
    found: &'static Statement,
    values: &[Value<'_>],
    delay_ms: u64,
) -> Result<usize, sqlx::Error> {
    let mut transaction = begin(connection).await?;
    let rows = Row::all(&mut *transaction, found, values).await?;
    let name = |row: &Row| Ok(KeyName { topic: row.text(0)?, key: row.text(1)? });
    let names = rows.iter().map(name).collect::<Result<Vec<_>, sqlx::Error>>()?;
    if let Some((size, names)) = padded(names.iter()) {
        let mut values = vec![Value::count(delay_ms)];
        values.extend(names.iter().flat_map(|name| name.values()));
        EXPEDITE[size].execute(&mut *transaction, &values).await?;
    }
    transaction.commit().await?;
    Ok(names.len())
}

/// How long the next message of a key has waited: since its commit, or since an operator released it.
pub(super) async fn age(connection: &mut Connection, key: &ClaimedKey) -> Result<Duration, sqlx::Error> {
    let [topic, name] = key.name.values();
    let row = Row::first(connection, &AGE, &[topic, name, Value::count(key.sent + 1)]).await?;
    Ok(Duration::from_millis(row.map_or(Ok(0), |row| row.count(0))?))
}

/// The time until the next key is due, in ms; `None` if none waits.
pub(super) async fn next_ms(connection: &mut Connection, scope: Scope) -> Result<Option<u64>, sqlx::Error> {
    next_of(connection, &NEXT[scope as usize]).await
}

/// Claims up to `limit` due keys, oldest first, for `lease_ms`. If it fails, the keys in `claimed` may have been claimed.
pub(super) async fn claim(
    connection: &mut PooledConnection,
    scope: Scope,
    token: Token,
    (limit, lease_ms): (usize, u64),
    claimed: &mut Vec<ClaimedKey>,
) -> Result<(), sqlx::Error> {
    let mut transaction = begin(connection).await?;
    let limit = Value::count(limit.min(KEYS_MAX) as u64);
    for row in Row::all(&mut *transaction, &DUE[scope as usize], &[limit]).await? {
        let name = KeyName { topic: row.text(0)?, key: row.text(1)? };
        let (sent, last, attempts) = (row.count(2)?, row.count(3)?, row.count(4)?);
        claimed.push(ClaimedKey { name, sent, last, attempts, incarnation: None });
    }
    #[cfg(feature = "stream")]
    registered::set_incarnations(&mut *transaction, claimed).await?;
    if let Some((size, names)) = padded(claimed.iter().map(|key| &key.name)) {
        let mut values = vec![Value::Bytes(token.as_bytes()), Value::count(lease_ms)];
        values.extend(names.iter().flat_map(|name| name.values()));
        CLAIM[size].execute(&mut *transaction, &values).await?;
    }
    transaction.commit().await
}

/// The messages of these spans, ordered by topic, key and sequence.
pub(super) async fn messages(connection: &mut Connection, spans: &[Span]) -> Result<Vec<OrderedRow>, sqlx::Error> {
    let Some((size, spans)) = padded(spans.iter()) else { return Ok(Vec::new()) };
    let values: Vec<Value<'_>> = spans.iter().flat_map(|span| span.values()).collect();
    let rows = Row::all(connection, &MESSAGES[size], &values).await?;
    let (mut messages, mut bytes) = (Vec::with_capacity(rows.len()), 0);
    for row in rows {
        let name = KeyName { topic: row.text(0)?, key: row.text(1)? };
        let (sequence, length) = (row.count(2)?, row.count(5)?);
        let (mut payload, headers) = (row.bytes(3)?, row.bytes(4)?);
        let is_left = bytes > 0 && bytes + length > CLAIM_BYTES_MAX && guard("relay_claims_are_bounded");
        if !is_left {
            bytes += length;
        }
        if length > LARGE && !is_left {
            let [topic, key] = name.values();
            let row = Row::first(connection, &PAYLOAD, &[topic, key, Value::count(sequence)]).await?;
            payload = row.map_or(Ok(Vec::new()), |row| row.bytes(1))?;
        }
        messages.push(OrderedRow { name, sequence, payload, headers, is_left });
    }
    Ok(messages)
}

/// The result for one key.
#[derive(Clone, Debug)]
pub(super) struct Settled {
    /// The confirmed messages; `after == until` if there are none.
    pub(super) sent: Span,
    pub(super) then: Then,
}

/// How a key continues.
#[derive(Clone, Debug)]
pub(super) enum Then {
    /// All messages that were sent were confirmed.
    Go,
    /// The sink is unavailable or the topic accepts nothing now: no attempt is counted.
    Wait { pause_ms: u64, error: String },
    /// The next message failed and will be retried.
    Fail { pause_ms: u64, error: String },
    /// The next message failed for the last time: its key waits for an operator.
    Park { error: String },
}

/// Stores the results of keys in one transaction: only of keys that are still claimed under this token, and that no other transaction
/// has locked. Returns the others, to be stored later.
pub(super) async fn settle(
    connection: &mut PooledConnection,
    token: Token,
    settled: &[Settled],
) -> Result<Vec<Settled>, sqlx::Error> {
    let mut transaction = begin(connection).await?;
    // Before the keys, as a recovery of a stream does.
    #[cfg(feature = "stream")]
    let registered = registered::lock(&mut *transaction, settled).await?;
    let held = lock(&mut *transaction, token, settled).await?;
    let (ours, others): (Vec<&Settled>, Vec<&Settled>) = settled.iter().partition(|key| held.contains(&key.sent.name));
    let sent: Vec<&Span> = ours.iter().map(|key| &key.sent).filter(|span| span.until > span.after).collect();
    #[cfg(feature = "stream")]
    if let Some((size, spans)) = padded(sent.iter().filter(|span| registered.contains(&span.name.topic))) {
        let values: Vec<Value<'_>> = spans.iter().flat_map(|span| span.values()).collect();
        KEEP_SENT[size].execute(&mut *transaction, &values).await?;
    }
    if let Some((size, spans)) = padded(sent.into_iter()) {
        let advance = spans.iter().flat_map(|span| {
            let [topic, key] = span.name.values();
            [topic, key, Value::count(span.until)]
        });
        let values: Vec<Value<'_>> = advance.chain(spans.iter().flat_map(|span| span.name.values())).collect();
        ADVANCE[size].execute(&mut *transaction, &values).await?;
        let values: Vec<Value<'_>> = spans.iter().flat_map(|span| span.values()).collect();
        DELETE_SENT[size].execute(&mut *transaction, &values).await?;
    }
    let gone = ours.iter().filter(|key| matches!(key.then, Then::Go)).map(|key| &key.sent.name);
    if let Some((size, names)) = padded(gone) {
        let values: Vec<Value<'_>> = names.iter().flat_map(|name| name.values()).collect();
        SETTLE[size].execute(&mut *transaction, &values).await?;
    }
    for key in ours {
        record_failure(&mut *transaction, key).await?;
    }
    transaction.commit().await?;
    Ok(others.into_iter().cloned().collect())
}

async fn lock(transaction: &mut Connection, token: Token, settled: &[Settled]) -> Result<Vec<KeyName>, sqlx::Error> {
    let Some((size, names)) = padded(settled.iter().map(|key| &key.sent.name)) else { return Ok(Vec::new()) };
    let mut values = vec![Value::Bytes(token.as_bytes())];
    values.extend(names.iter().flat_map(|name| name.values()));
    let statement = if guard("relay_ordered_fence") { &LOCK[size] } else { &LOCK_UNFENCED[size] };
    let rows = Row::all(transaction, statement, &values).await?;
    rows.into_iter().map(|row| Ok(KeyName { topic: row.text(0)?, key: row.text(1)? })).collect()
}

async fn record_failure(transaction: &mut Connection, key: &Settled) -> Result<(), sqlx::Error> {
    let [topic, name] = key.sent.name.values();
    let (statement, values) = match &key.then {
        Then::Go => return Ok(()),
        Then::Wait { pause_ms, error } => (&WAIT, vec![Value::count(*pause_ms), Value::Text(error), topic, name]),
        Then::Fail { pause_ms, error } => (&FAILED, vec![Value::count(*pause_ms), Value::Text(error), topic, name]),
        Then::Park { error } => (&PARK, vec![Value::count(NEVER), Value::Text(error), topic, name]),
    };
    statement.execute(transaction, &values).await.map(drop)
}
