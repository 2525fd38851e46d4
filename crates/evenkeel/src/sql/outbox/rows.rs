//! The statements on `evenkeel_outbox`: one row per unit of work.

use super::WorkId;
use crate::sql::database::{Connection, Lists, Row, Statement, Value};

/// How long the relay leaves a committed row to the process that committed it, in ms.
const FAST_PATH_MS: i64 = 2_000;

/// The state of a unit of work, which its row decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Its transaction has not ended (no other transaction sees the row).
    Open = 0,
    /// Committed; its effects are still to be carried out.
    Pending = 1,
    /// Committed; its effects have been carried out.
    Done = 2,
    /// Decided to be rolled back: the row is a tombstone, and a late commit fails on its id.
    Aborted = 3,
    /// Committed; its effects failed too often and wait for an operator.
    Parked = 4,
}

impl State {
    pub(crate) fn from_number(number: i64) -> Option<Self> {
        Some(match number {
            0 => Self::Open,
            1 => Self::Pending,
            2 => Self::Done,
            3 => Self::Aborted,
            4 => Self::Parked,
            _ => return None,
        })
    }

    /// Whether the transaction of the row was committed with its effects.
    pub(crate) fn is_committed(self) -> bool {
        matches!(self, Self::Pending | Self::Done | Self::Parked)
    }
}

static OPEN: Statement =
    Statement::new("INSERT INTO evenkeel_outbox (id, state, attempts, created_at) VALUES (?, 0, 0, {now})");
// A NULL delay yields a NULL timestamp.
static SEAL: Statement = Statement::new(
    "UPDATE evenkeel_outbox SET state = ?, effects = ?, trace = ?, due_at = {now} + ?, settled_at = {now} + ? \
     WHERE id = ? AND state = 0",
);
// Kept short, because the database parses it for every unit of work.
static PENDING: Statement = Statement::new(
    "INSERT INTO evenkeel_outbox (id, trace, effects, state, created_at, due_at) \
     {values} ?, ?, ?, 1, {now}, {now} + ? {if marked}",
);
static NO_EFFECTS: Statement = Statement::new(
    "INSERT INTO evenkeel_outbox (id, trace, state, created_at, settled_at) {values} ?, ?, 2, {now}, {now} {if marked}",
);
static CHECK_TABLE: Statement = Statement::new("SELECT state FROM evenkeel_outbox WHERE 1 = 0");
static TOMBSTONE: Statement = Statement::new(
    "INSERT INTO evenkeel_outbox (id, state, attempts, created_at, settled_at) VALUES (?, 3, 0, {now}, {now})",
);
static IS_OPEN: Statement = Statement::new("SELECT state FROM evenkeel_outbox WHERE id = ? AND state = 0");
static READ: Statement = Statement::new("SELECT state, effects, trace FROM evenkeel_outbox WHERE id = ?");
static DONE: Lists = Lists::new(
    "UPDATE evenkeel_outbox SET state = 2, due_at = NULL, claim = NULL, settled_at = {now} WHERE state = 1 AND id IN (..)",
);

/// The content of a row.
pub(crate) struct Sealed {
    pub(crate) state: State,
    pub(crate) effects: Vec<u8>,
    pub(crate) trace: Option<String>,
}

/// Fails if the table does not exist.
pub(crate) async fn check_table(connection: &mut Connection) -> Result<(), sqlx::Error> {
    Row::all(connection, &CHECK_TABLE, &[]).await.map(drop)
}

/// The content of the row of a unit of work at its commit.
pub(crate) struct Sealing<'a> {
    pub(crate) work: WorkId,
    /// `None` if there is nothing to do after the commit: the row then only records the outcome.
    pub(crate) effects: Option<&'a [u8]>,
    pub(crate) trace: Option<&'a str>,
}

impl Sealing<'_> {
    /// Inserts the row as the last statement before the commit of a unit of work that owns its transaction. Returns `false` if the
    /// transaction is not the one that began; nothing was written then. `is_checked` says that the transaction was checked before.
    pub(crate) async fn insert(&self, connection: &mut Connection, is_checked: bool) -> Result<bool, sqlx::Error> {
        let values = [
            Value::Bytes(&self.work.0),
            Value::MaybeText(self.trace),
            Value::MaybeBytes(self.effects),
            Value::Int(FAST_PATH_MS),
        ];
        let (statement, values) =
            if self.effects.is_some() { (&PENDING, &values[..]) } else { (&NO_EFFECTS, &values[..2]) };
        let statement = statement.text(connection.dialect());
        if is_checked {
            return Ok(connection.execute(statement, values).await? == 1);
        }
        connection.insert_marked(&self.work.0, statement, values).await
    }

    /// Updates the row that [`open`] inserted. Returns `false` if the row does not exist: the transaction is not the one that was
    /// joined.
    pub(crate) async fn update(&self, connection: &mut Connection) -> Result<bool, sqlx::Error> {
        let (state, due_in, settled_in) = match self.effects {
            Some(_) => (State::Pending, Some(FAST_PATH_MS), None),
            None => (State::Done, None, Some(0)),
        };
        let values = [
            Value::Int(state as i64),
            Value::MaybeBytes(self.effects),
            Value::MaybeText(self.trace),
            Value::MaybeInt(due_in),
            Value::MaybeInt(settled_in),
            Value::Bytes(&self.work.0),
        ];
        Ok(SEAL.execute(connection, &values).await? == 1)
    }
}

/// Inserts a row without effects into a transaction that the caller owns: as long as the row exists, that transaction is the one that
/// was joined.
pub(crate) async fn open(connection: &mut Connection, work: WorkId) -> Result<(), sqlx::Error> {
    OPEN.execute(connection, &[Value::Bytes(&work.0)]).await.map(drop)
}

/// Whether the row exists as [`open`] inserted it: the connection is still in the transaction of the unit of work.
pub(crate) async fn is_open(connection: &mut Connection, work: WorkId) -> Result<bool, sqlx::Error> {
    Ok(Row::first(connection, &IS_OPEN, &[Value::Bytes(&work.0)]).await?.is_some())
}

/// Inserts a tombstone with the id, so that a commit that is still under way fails. An error of the kind `Duplicate` says that a row
/// exists, which [`read`] returns.
pub(crate) async fn insert_tombstone(connection: &mut Connection, work: WorkId) -> Result<(), sqlx::Error> {
    TOMBSTONE.execute(connection, &[Value::Bytes(&work.0)]).await.map(drop)
}

/// The row of a unit of work, if it is committed.
pub(crate) async fn read(connection: &mut Connection, work: WorkId) -> Result<Option<Sealed>, sqlx::Error> {
    let Some(row) = Row::first(connection, &READ, &[Value::Bytes(&work.0)]).await? else { return Ok(None) };
    let unknown = || sqlx::Error::Decode("the row of a unit of work has an unknown state".into());
    let state = State::from_number(row.int(0)?).ok_or_else(unknown)?;
    Ok(Some(Sealed { state, effects: row.bytes(1)?, trace: row.optional_text(2)? }))
}

/// Marks units of work as done, after their effects have been carried out.
pub(crate) async fn mark_done(connection: &mut Connection, units: &[WorkId]) -> Result<u64, sqlx::Error> {
    let ids: Vec<Value<'_>> = units.iter().map(|work| Value::Bytes(&work.0)).collect();
    DONE.execute(connection, &[], &ids).await
}
