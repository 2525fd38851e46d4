//! The rows of streams in one database: `evenkeel_streams`, `evenkeel_stream_groups`, `evenkeel_stream_log`, `evenkeel_stream_losses`.
//! Statements called `.._WITHOUT_..` lack one condition, for tests that must fail without it.

use super::table::{GroupRow, Loss, Placed, StreamTable, Unplaced};
use crate::sql::SqlError;
use crate::sql::database::{Connection, Pool, Row, Statement, Value, class_of_error};
use crate::sql::relay::begin;
use async_trait::async_trait;
use evenkeel_link::support::guard;
use evenkeel_protocol::stream::id::EntryId;
use evenkeel_protocol::stream::name::GroupName;
use evenkeel_protocol::stream::steps::Mode;
use std::collections::BTreeMap;

/// How often a transaction is tried that the database aborts because of a conflict.
const TRIES: u32 = 5;

static REGISTER: Statement = Statement::new(
    "{insert} evenkeel_streams (topic, partitions, incarnation, saved_at) VALUES (?, ?, 0, {now}) {or ignore}",
);
static STREAM: Statement = Statement::new("SELECT partitions, incarnation FROM evenkeel_streams WHERE topic = ?");
static GROUPS: Statement = Statement::new(
    "SELECT consumer_group, part, lease_mode, checkpoint_ms, checkpoint_seq, unsettled, dead_letters \
     FROM evenkeel_stream_groups WHERE topic = ? ORDER BY consumer_group, part",
);
static ADD: Statement = Statement::new(
    "{insert} evenkeel_stream_groups \
     (topic, consumer_group, part, lease_mode, checkpoint_ms, checkpoint_seq, unsettled, dead_letters) \
     VALUES (?, ?, ?, ?, ?, ?, ?, ?) {or ignore}",
);
static REMOVE: Statement = Statement::new("DELETE FROM evenkeel_stream_groups WHERE topic = ? AND consumer_group = ?");
static UNPLACED: Statement = Statement::new(
    "SELECT message_key, MAX(sequence) FROM evenkeel_stream_log WHERE topic = ? AND part IS NULL \
     GROUP BY message_key LIMIT ?",
);

// Locks the row of the stream: a loss that is detected meanwhile waits.
static CURRENT: Statement =
    Statement::new("UPDATE evenkeel_streams SET saved_at = {now} WHERE topic = ? AND incarnation = ?");
static CURRENT_WITHOUT_INCARNATION: Statement =
    Statement::new("UPDATE evenkeel_streams SET saved_at = {now} WHERE topic = ? AND ? > 0");
static COUNT: Statement = Statement::new(
    "UPDATE evenkeel_stream_groups SET unsettled = ?, dead_letters = ? \
     WHERE topic = ? AND consumer_group = ? AND part = ?",
);
static ADVANCE: Statement = Statement::new(
    "UPDATE evenkeel_stream_groups SET checkpoint_ms = ?, checkpoint_seq = ? \
     WHERE topic = ? AND consumer_group = ? AND part = ? \
     AND (checkpoint_ms < ? OR checkpoint_ms = ? AND checkpoint_seq < ?)",
);
static ADVANCE_WITHOUT_ORDER: Statement = Statement::new(
    "UPDATE evenkeel_stream_groups SET checkpoint_ms = ?, checkpoint_seq = ? \
     WHERE topic = ? AND consumer_group = ? AND part = ? AND ? >= 0 AND ? >= 0 AND ? >= 0",
);
static PLACE: Statement = Statement::new(
    "UPDATE evenkeel_stream_log SET part = ?, tail_ms = ?, tail_seq = ? \
     WHERE topic = ? AND message_key = ? AND sequence <= ? AND part IS NULL",
);
static PURGE: Statement = Statement::new(
    "DELETE FROM evenkeel_stream_log WHERE topic = ? AND part = ? AND (tail_ms < ? OR tail_ms = ? AND tail_seq <= ?)",
);

static NEXT_INCARNATION: Statement = Statement::new(
    "UPDATE evenkeel_streams SET incarnation = incarnation + 1, saved_at = {now} WHERE topic = ? AND incarnation = ?",
);
// A relay that has sent messages of these keys before the loss must not record them as sent.
static UNCLAIM: Statement = Statement::new(
    "UPDATE evenkeel_outbox_keys SET claim = NULL, due_at = {now} WHERE topic = ? AND claim IS NOT NULL",
);
static SEND_AGAIN: Statement = Statement::new(
    "UPDATE evenkeel_outbox_keys SET claim = NULL, attempts = 0, parked_at = NULL, error = NULL, due_at = {now}, \
     sent_sequence = (SELECT MIN(kept.sequence) - 1 FROM evenkeel_stream_log kept \
     WHERE kept.topic = evenkeel_outbox_keys.topic AND kept.message_key = evenkeel_outbox_keys.message_key) \
     WHERE topic = ? AND EXISTS (SELECT 1 FROM evenkeel_stream_log kept \
     WHERE kept.topic = evenkeel_outbox_keys.topic AND kept.message_key = evenkeel_outbox_keys.message_key)",
);
static MOVE_BACK: Statement = Statement::new(
    "INSERT INTO evenkeel_outbox_ordered (topic, message_key, sequence, work, state, payload, headers, created_at) \
     SELECT topic, message_key, sequence, work, 1, payload, headers, created_at FROM evenkeel_stream_log WHERE topic = ?",
);
static CLEAR: Statement = Statement::new("DELETE FROM evenkeel_stream_log WHERE topic = ?");
static NOTE_LOSS: Statement = Statement::new(
    "INSERT INTO evenkeel_stream_losses (topic, incarnation, lost_at, sent_again, unsettled, dead_letters) \
     VALUES (?, ?, {now}, ?, ?, ?)",
);
static NOTHING_UNSETTLED: Statement =
    Statement::new("UPDATE evenkeel_stream_groups SET unsettled = 0, dead_letters = 0 WHERE topic = ?");

static KEPT: Statement = Statement::new("SELECT COUNT(*) FROM evenkeel_stream_log WHERE topic = ?");
static LOSSES: Statement = Statement::new(
    "SELECT incarnation, lost_at, sent_again, unsettled, dead_letters FROM evenkeel_stream_losses WHERE topic = ? \
     ORDER BY incarnation DESC LIMIT ?",
);

/// The rows in the database of one pool.
pub(crate) struct SqlTable(pub(crate) Pool);

impl SqlTable {
    async fn try_add_group(&self, topic: &str, incarnation: u64, rows: &[GroupRow]) -> Result<bool, sqlx::Error> {
        let mut connection = self.0.acquire().await?;
        let mut transaction = begin(&mut connection).await?;
        if !is_current(&mut *transaction, topic, incarnation).await? {
            return Ok(false);
        }
        for row in rows {
            let [group, part] = name_of(row);
            let values = [
                Value::Text(topic),
                group,
                part,
                Value::Int(mode_number(row.mode)),
                Value::count(row.checkpoint.ms),
                Value::count(row.checkpoint.sequence),
                Value::count(row.unsettled),
                Value::count(row.dead_letters),
            ];
            ADD.execute(&mut *transaction, &values).await?;
        }
        transaction.commit().await?;
        Ok(true)
    }

    async fn try_save(
        &self,
        topic: &str,
        incarnation: u64,
        rows: &[GroupRow],
        placed: &[Placed],
    ) -> Result<bool, sqlx::Error> {
        let mut connection = self.0.acquire().await?;
        let mut transaction = begin(&mut connection).await?;
        if !is_current(&mut *transaction, topic, incarnation).await? {
            return Ok(false);
        }
        let advance = if guard("stream_checkpoint_rises") { &ADVANCE } else { &ADVANCE_WITHOUT_ORDER };
        for row in rows {
            let [group, part] = name_of(row);
            let (ms, sequence) = (Value::count(row.checkpoint.ms), Value::count(row.checkpoint.sequence));
            let counts = [Value::count(row.unsettled), Value::count(row.dead_letters), Value::Text(topic), group, part];
            COUNT.execute(&mut *transaction, &counts).await?;
            let values = [ms, sequence, Value::Text(topic), group, part, ms, ms, sequence];
            advance.execute(&mut *transaction, &values).await?;
        }
        for Placed { entries, partition, tail } in placed {
            let values = [
                Value::Int((*partition).into()),
                Value::count(tail.ms),
                Value::count(tail.sequence),
                Value::Text(topic),
                Value::Text(&entries.key),
                Value::count(entries.until),
            ];
            PLACE.execute(&mut *transaction, &values).await?;
        }
        // Read inside the transaction, which has locked the row of the stream: no group is added meanwhile.
        for (part, until) in settled_by_all(groups_in(&mut *transaction, topic).await?) {
            let (ms, sequence) = (Value::count(until.ms), Value::count(until.sequence));
            let values = [Value::Text(topic), Value::Int(part.into()), ms, ms, sequence];
            PURGE.execute(&mut *transaction, &values).await?;
        }
        transaction.commit().await?;
        Ok(true)
    }

    async fn try_begin_again(&self, topic: &str, incarnation: u64) -> Result<Option<Loss>, sqlx::Error> {
        let name = [Value::Text(topic)];
        let mut connection = self.0.acquire().await?;
        let mut transaction = begin(&mut connection).await?;
        // Waits for relays that are recording entries of the stream as sent, and holds back later ones.
        let seen = [Value::Text(topic), Value::count(incarnation)];
        let is_first = NEXT_INCARNATION.execute(&mut *transaction, &seen).await? > 0;
        if !is_first && guard("stream_recovery_begun_once") {
            return Ok(None);
        }
        let row = Row::first(&mut *transaction, &STREAM, &name).await?.ok_or(sqlx::Error::RowNotFound)?;
        let (incarnation, groups) = (row.count(1)?, groups_in(&mut *transaction, topic).await?);
        if guard("stream_loss_ends_claims") {
            UNCLAIM.execute(&mut *transaction, &name).await?;
        }
        SEND_AGAIN.execute(&mut *transaction, &name).await?;
        let sent_again = MOVE_BACK.execute(&mut *transaction, &name).await?;
        CLEAR.execute(&mut *transaction, &name).await?;
        let mut unsettled: BTreeMap<u16, u64> = BTreeMap::new();
        for row in &groups {
            let most = unsettled.entry(row.partition).or_default();
            *most = row.unsettled.max(*most);
        }
        let loss = Loss {
            incarnation,
            at: 0,
            sent_again,
            unsettled: unsettled.values().sum(),
            dead_letters: groups.iter().map(|row| row.dead_letters).sum(),
        };
        // The first incarnation is the creation of the stream.
        if incarnation > 1 {
            let counts = [incarnation, sent_again, loss.unsettled, loss.dead_letters].map(Value::count);
            NOTE_LOSS.execute(&mut *transaction, &[&name[..], &counts].concat()).await?;
        }
        NOTHING_UNSETTLED.execute(&mut *transaction, &name).await?;
        transaction.commit().await?;
        Ok(Some(loss))
    }
}

/// Locks the row of the stream; returns whether this is its incarnation.
async fn is_current(connection: &mut Connection, topic: &str, incarnation: u64) -> Result<bool, sqlx::Error> {
    let current = if guard("stream_save_fenced") { &CURRENT } else { &CURRENT_WITHOUT_INCARNATION };
    let values = [Value::Text(topic), Value::count(incarnation)];
    Ok(current.execute(connection, &values).await? > 0)
}

async fn groups_in(connection: &mut Connection, topic: &str) -> Result<Vec<GroupRow>, sqlx::Error> {
    let rows = Row::all(connection, &GROUPS, &[Value::Text(topic)]).await?;
    rows.iter().map(group_row).collect()
}

fn group_row(row: &Row) -> Result<GroupRow, sqlx::Error> {
    let wrong = |what: String| sqlx::Error::Decode(what.into());
    Ok(GroupRow {
        group: GroupName::new(&row.text(0)?).map_err(|error| wrong(error.to_string()))?,
        partition: u16::try_from(row.count(1)?).map_err(|error| wrong(error.to_string()))?,
        mode: if row.int(2)? == mode_number(Mode::Partition) { Mode::Partition } else { Mode::Entry },
        checkpoint: EntryId { ms: row.count(3)?, sequence: row.count(4)? },
        unsettled: row.count(5)?,
        dead_letters: row.count(6)?,
    })
}

/// For each partition the lowest checkpoint.
fn settled_by_all(groups: Vec<GroupRow>) -> BTreeMap<u16, EntryId> {
    let mut settled = BTreeMap::new();
    for row in groups {
        let lowest = settled.entry(row.partition).or_insert(row.checkpoint);
        if guard("stream_kept_for_the_slowest") {
            *lowest = row.checkpoint.min(*lowest);
        } else {
            *lowest = row.checkpoint.max(*lowest);
        }
    }
    settled
}

fn name_of(row: &GroupRow) -> [Value<'_>; 2] {
    [Value::Text(row.group.as_str()), Value::Int(row.partition.into())]
}

fn mode_number(mode: Mode) -> i64 {
    match mode {
        Mode::Entry => 0,
        Mode::Partition => 1,
    }
}

/// Repeats a transaction that the database has aborted because of a conflict with another one.
macro_rules! repeated {
    ($attempt:expr) => {{
        let mut tries = 1;
        loop {
            match $attempt.await {
                Err(error) if tries < TRIES && class_of_error(&error).is_contention() => tries += 1,
                answer => break Ok(answer?),
            }
        }
    }};
}

#[async_trait]
impl StreamTable for SqlTable {
    fn place(&self) -> usize {
        self.0.place()
    }

    async fn register(&self, topic: &str, partitions: u16) -> Result<u16, SqlError> {
        REGISTER.run(&self.0, &[Value::Text(topic), Value::Int(partitions.into())]).await?;
        let rows = STREAM.read(&self.0, &[Value::Text(topic)]).await?;
        let stored = rows.first().map_or(Ok(0), |row| row.count(0))?;
        Ok(u16::try_from(stored).unwrap_or(u16::MAX))
    }

    async fn incarnation(&self, topic: &str) -> Result<Option<u64>, SqlError> {
        let rows = STREAM.read(&self.0, &[Value::Text(topic)]).await?;
        Ok(rows.first().map(|row| row.count(1)).transpose()?)
    }

    async fn begin_again(&self, topic: &str, incarnation: u64) -> Result<Option<Loss>, SqlError> {
        repeated!(self.try_begin_again(topic, incarnation))
    }

    async fn groups(&self, topic: &str) -> Result<Vec<GroupRow>, SqlError> {
        let rows = GROUPS.read(&self.0, &[Value::Text(topic)]).await?;
        Ok(rows.iter().map(group_row).collect::<Result<_, _>>()?)
    }

    async fn add_group(&self, topic: &str, incarnation: u64, rows: &[GroupRow]) -> Result<bool, SqlError> {
        repeated!(self.try_add_group(topic, incarnation, rows))
    }

    async fn remove_group(&self, topic: &str, group: &GroupName) -> Result<bool, SqlError> {
        Ok(REMOVE.run(&self.0, &[Value::Text(topic), Value::Text(group.as_str())]).await? > 0)
    }

    async fn unplaced(&self, topic: &str, limit: usize) -> Result<Vec<Unplaced>, SqlError> {
        let rows = UNPLACED.read(&self.0, &[Value::Text(topic), Value::count(limit as u64)]).await?;
        let row = |row: Row| Ok(Unplaced { key: row.text(0)?, until: row.count(1)? });
        Ok(rows.into_iter().map(row).collect::<Result<_, sqlx::Error>>()?)
    }

    async fn save(
        &self,
        topic: &str,
        incarnation: u64,
        rows: &[GroupRow],
        placed: &[Placed],
    ) -> Result<bool, SqlError> {
        repeated!(self.try_save(topic, incarnation, rows, placed))
    }

    async fn kept(&self, topic: &str) -> Result<u64, SqlError> {
        let rows = KEPT.read(&self.0, &[Value::Text(topic)]).await?;
        Ok(rows.first().map_or(Ok(0), |row| row.count(0))?)
    }

    async fn losses(&self, topic: &str, limit: usize) -> Result<Vec<Loss>, SqlError> {
        let rows = LOSSES.read(&self.0, &[Value::Text(topic), Value::count(limit as u64)]).await?;
        let row = |row: Row| {
            let (incarnation, at, sent_again) = (row.count(0)?, row.count(1)?, row.count(2)?);
            Ok(Loss { incarnation, at, sent_again, unsettled: row.count(3)?, dead_letters: row.count(4)? })
        };
        Ok(rows.into_iter().map(row).collect::<Result<_, sqlx::Error>>()?)
    }
}
