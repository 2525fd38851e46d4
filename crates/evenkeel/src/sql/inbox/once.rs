//! [`Inbox::once`]: the check that a handler makes in its own transaction.

use super::message::MessageId;
use super::metrics::InboxMetrics;
use crate::sql::SqlError;
use crate::sql::database::{Connection, Database, Kind, Pool, Row, SqlErrorClass, Statement, Value, class_of_error};
use evenkeel_link::clock::Clock;
use evenkeel_link::support::{guard, ms};
use futures_util::future::BoxFuture;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

/// The message was processed.
pub(super) const SEEN: i64 = 1;
/// The message is older than the retention, so it is unknown whether it was processed; it waits for an operator.
pub(super) const PARKED: i64 = 2;
/// An operator released the message to be processed.
pub(super) const RELEASED: i64 = 3;

/// The maximum length of the name of a group or a message: the size of its column.
const NAME_BYTES_MAX: usize = 255;

/// Records which messages each consumer group has processed. Cheap to clone; created by [`Keel::inbox`](crate::Keel::inbox).
///
/// **Guarantee (U7).** Of all deliveries of one message to one group, the SQL effect of one is committed: that of a transaction for
/// which [`once`](Self::once) returned [`Once::Fresh`], if each handler calls `once` in the transaction of its effect and does
/// nothing unless it returns `Fresh`. **Not guaranteed.** Anything about effects outside that transaction; a message whose name does
/// not include its time and that is redelivered after the retention; a [parked](Once::Parked) message that an operator releases to
/// run, which may have run before.
pub struct Inbox<DB> {
    pub(super) rows: InboxRows,
    database: PhantomData<fn() -> DB>,
}

/// An [`Inbox`] without the type of its database.
#[derive(Clone)]
pub(super) struct InboxRows {
    pub(super) pool: Pool,
    pub(super) clock: Clock,
    pub(super) retention: Duration,
    pub(super) metrics: Arc<InboxMetrics>,
}

/// The state of a message in the inbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Once {
    /// The message was not processed: process it now, in this transaction, commit, then acknowledge it.
    Fresh,
    /// The message was processed before: do nothing, and acknowledge it.
    Seen,
    /// The message is older than the retention, so it is unknown whether it was processed. Do nothing, commit, acknowledge it: the
    /// message is listed by [`Inbox::parked`] until an operator releases it.
    Parked,
}

const INSERT: &str = "INSERT INTO evenkeel_inbox (consumer_group, message_id, state, seen_at, met) \
    VALUES (?, ?, CASE WHEN ? < {now} - ? THEN 2 ELSE 1 END, {now}, 1)";
static INSERT_MYSQL: Statement = Statement::new(INSERT);
static INSERT_OTHERS: Statement = Statement::new(
    "INSERT INTO evenkeel_inbox (consumer_group, message_id, state, seen_at, met) \
     VALUES (?, ?, CASE WHEN ? < {now} - ? THEN 2 ELSE 1 END, {now}, 1) ON CONFLICT DO NOTHING",
);
static STATE: Statement =
    Statement::new("SELECT state FROM evenkeel_inbox WHERE consumer_group = ? AND message_id = ?");
/// The first delivery after the release processes the message.
static PROCESS_RELEASED: Statement = Statement::new(
    "UPDATE evenkeel_inbox SET state = 1, seen_at = {now} WHERE consumer_group = ? AND message_id = ? AND state = 3",
);
static COUNT_PARKED: Statement =
    Statement::new("UPDATE evenkeel_inbox SET met = met + 1 WHERE consumer_group = ? AND message_id = ? AND state = 2");

impl<DB> Inbox<DB> {
    pub(crate) fn new(pool: Pool, clock: &Clock) -> Self {
        let rows = InboxRows {
            pool,
            clock: clock.clone(),
            retention: Duration::from_secs(7 * 24 * 3600),
            metrics: Arc::new(InboxMetrics::register()),
        };
        Self { rows, database: PhantomData }
    }

    /// The minimum time for which the id of a message is stored. Default 7 days. It must exceed the time for which your broker stores and
    /// redelivers messages.
    #[must_use]
    pub fn retention(mut self, span: Duration) -> Self {
        self.rows.retention = span;
        self
    }
}

impl<DB: Database> Inbox<DB> {
    /// Checks whether `message` is new to `group`, and records it as processed in the same transaction. A rollback removes the
    /// record.
    ///
    /// If two workers process the same message at once, the second waits here until the first has committed (the second then gets
    /// [`Once::Seen`]) or rolled back (it then gets [`Once::Fresh`]).
    ///
    /// # Errors
    /// [`SqlError::Database`]: roll back; the message will be redelivered. Two workers on one message may get a deadlock
    /// ([`SqlError::is_retryable`]). [`SqlError::Effect`]: a name is empty or too long, or the name of the group contains a zero
    /// byte.
    pub async fn once(
        &self,
        connection: &mut DB::Connection,
        group: &str,
        message: impl Into<MessageId> + Send,
    ) -> Result<Once, SqlError> {
        self.rows.once(connection, group, message.into()).await
    }
}

impl InboxRows {
    /// As [`Inbox::once`]. Boxed, so that it is compiled here.
    fn once<'a>(
        &'a self,
        connection: &'a mut Connection,
        group: &'a str,
        message: MessageId,
    ) -> BoxFuture<'a, Result<Once, SqlError>> {
        Box::pin(async move {
            check_name("group", group.as_bytes())?;
            // PostgreSQL rejects zero bytes in text and would abort the caller's whole transaction.
            if group.contains('\0') && guard("inbox_group_without_zero") {
                return Err(SqlError::Effect("the name of a consumer group contains a zero byte".to_owned()));
            }
            check_name("message", &message.name)?;
            let answer = self.ask(connection, group, &message).await?;
            match answer {
                Once::Fresh => self.metrics.fresh.increment(1),
                Once::Seen => self.metrics.seen.increment(1),
                Once::Parked => self.metrics.parked.increment(1),
            }
            Ok(answer)
        })
    }

    async fn ask(&self, connection: &mut Connection, group: &str, message: &MessageId) -> Result<Once, sqlx::Error> {
        let name = [Value::Text(group), Value::Bytes(&message.name)];
        // A message without a time counts as sent now.
        let sent_at = message.sent_at.map_or(i64::MAX, |time| i64::try_from(time.0).unwrap_or(i64::MAX));
        let sent_at = if guard("inbox_parks_old") { sent_at } else { i64::MAX };
        let values = [name[0], name[1], Value::Int(sent_at), Value::count(ms(self.retention))];
        let inserted = if connection.dialect().kind == Kind::MySql {
            // `INSERT IGNORE` would ignore errors other than a duplicate, and the row count of `ON DUPLICATE KEY UPDATE` is
            // ambiguous.
            match INSERT_MYSQL.execute(connection, &values).await {
                Err(error) if class_of_error(&error) == SqlErrorClass::Duplicate => 0,
                answer => answer?,
            }
        } else {
            // A duplicate must not be an error: PostgreSQL would abort the whole transaction.
            INSERT_OTHERS.execute(connection, &values).await?
        };
        if inserted == 1 && message.sent_at.is_some() {
            let row = Row::first(connection, &STATE, &name).await?;
            let state = row.map_or(Ok(SEEN), |row| row.int(0))?;
            return Ok(if state == PARKED { Once::Parked } else { Once::Fresh });
        }
        if inserted == 1 || !guard("inbox_once") {
            return Ok(Once::Fresh);
        }
        if PROCESS_RELEASED.execute(connection, &name).await? == 1 {
            return Ok(Once::Fresh);
        }
        let parked = COUNT_PARKED.execute(connection, &name).await?;
        Ok(if parked == 1 { Once::Parked } else { Once::Seen })
    }
}

fn check_name(what: &str, name: &[u8]) -> Result<(), SqlError> {
    if name.is_empty() || name.len() > NAME_BYTES_MAX {
        return Err(SqlError::Effect(format!(
            "the name of a {what} in the inbox must be 1 to {NAME_BYTES_MAX} bytes, and this one has {}",
            name.len()
        )));
    }
    Ok(())
}

// Implemented by hand: the database type need not be `Clone` or `Debug`.
impl<DB> Clone for Inbox<DB> {
    fn clone(&self) -> Self {
        Self { rows: self.rows.clone(), database: PhantomData }
    }
}

impl<DB> fmt::Debug for Inbox<DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox").field("retention", &self.rows.retention).finish_non_exhaustive()
    }
}
