//! [`Inbox::once`]: the question that a handler asks in its own transaction.

use super::message::MessageId;
use super::metrics::InboxMetrics;
use crate::keel::Keel;
use crate::sql::SqlError;
use crate::sql::database::{Database, Kind, Row, Statement, Trouble, Value};
use evenkeel_link::clock::Clock;
use evenkeel_link::support::guard;
use sqlx::Pool;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Dealt with.
pub(super) const SEEN: i64 = 1;
/// Too old to know whether it was dealt with; waits for a person.
pub(super) const PARKED: i64 = 2;
/// A person has decided that it shall run.
pub(super) const RELEASED: i64 = 3;

/// The longest name of a group or a message: as long as the column it is kept in.
const NAME_BYTES_MAX: usize = 255;

/// Which messages groups of consumers have dealt with. Cheap to clone; made by [`Keel::inbox`].
///
/// **Guarantee (U7).** Of all deliveries of one message to one group, the SQL effect of one transaction is committed that was
/// told [`Once::Fresh`], if each handler asks [`once`](Self::once) in the transaction of its effect and does nothing unless it is
/// told so. **Not guaranteed.** Anything about effects outside that transaction; a message whose name does not know its time and
/// that comes back after the retention; a [parked](Once::Parked) message that a person lets run, which may have run before.
pub struct Inbox<DB: Database> {
    pub(super) pool: Pool<DB>,
    pub(super) clock: Clock,
    pub(super) retention: Duration,
    pub(super) metrics: Arc<InboxMetrics>,
}

/// What the inbox knows of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Once {
    /// Nobody has dealt with it: do it now, in this transaction, commit, then acknowledge.
    Fresh,
    /// It was dealt with before: do nothing, and acknowledge.
    Seen,
    /// It is older than the retention, so nobody knows whether it was dealt with. Do nothing, commit, acknowledge: the message
    /// waits in [`Inbox::parked`] until a person has decided.
    Parked,
}

impl Keel {
    /// The inbox in the database of `pool`. [`migrate`](crate::sql::migrate) must have run.
    pub fn inbox<DB: Database>(&self, pool: &Pool<DB>) -> Inbox<DB> {
        Inbox {
            pool: pool.clone(),
            clock: self.clock().clone(),
            retention: Duration::from_secs(7 * 24 * 3600),
            metrics: Arc::new(InboxMetrics::register()),
        }
    }
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
/// Whoever comes first after the release takes it.
static TAKE_RELEASED: Statement = Statement::new(
    "UPDATE evenkeel_inbox SET state = 1, seen_at = {now} WHERE consumer_group = ? AND message_id = ? AND state = 3",
);
static MEET_PARKED: Statement =
    Statement::new("UPDATE evenkeel_inbox SET met = met + 1 WHERE consumer_group = ? AND message_id = ? AND state = 2");

impl<DB: Database> Inbox<DB> {
    /// How long a message is remembered at least. Default 7 days. Make it longer than your broker keeps and repeats messages.
    #[must_use]
    pub fn retention(mut self, span: Duration) -> Self {
        self.retention = span;
        self
    }

    /// Asks whether `message` is new to `group`, and notes in the same transaction that it is not any more. A rollback takes the
    /// note back.
    ///
    /// Two workers that have the same message at once: the second waits here until the first has committed (then it is told
    /// [`Once::Seen`]) or rolled back (then it is [`Once::Fresh`]).
    ///
    /// # Errors
    /// [`SqlError::Database`]: roll back; the message will come again. Two workers on one message may be told of a
    /// deadlock ([`SqlError::is_retryable`]). [`SqlError::Effect`]: a name is empty or too long, or the group's has a zero byte.
    pub async fn once(
        &self,
        connection: &mut DB::Connection,
        group: &str,
        message: impl Into<MessageId> + Send,
    ) -> Result<Once, SqlError> {
        let message = message.into();
        check_name("group", group.as_bytes())?;
        // PostgreSQL keeps no zero byte in a text, and would take the caller's whole transaction back.
        if group.contains('\0') && guard("inbox_group_without_zero") {
            return Err(SqlError::Effect("the name of a group in the inbox has a zero byte".to_owned()));
        }
        check_name("message", &message.name)?;
        let answer = self.ask(connection, group, &message).await.map_err(SqlError::of::<DB>)?;
        match answer {
            Once::Fresh => self.metrics.fresh.increment(1),
            Once::Seen => self.metrics.seen.increment(1),
            Once::Parked => self.metrics.parked.increment(1),
        }
        Ok(answer)
    }

    async fn ask(
        &self,
        connection: &mut DB::Connection,
        group: &str,
        message: &MessageId,
    ) -> Result<Once, sqlx::Error> {
        let name = [Value::Text(group), Value::Bytes(&message.name)];
        // Without a time of its own a message counts as sent just now.
        let sent_at = message.sent_at.map_or(i64::MAX, |time| i64::try_from(time.0).unwrap_or(i64::MAX));
        let sent_at = if guard("inbox_parks_old") { sent_at } else { i64::MAX };
        let values = [name[0], name[1], Value::Int(sent_at), Value::count(span_ms(self.retention))];
        let inserted = if DB::KIND == Kind::MySql {
            // `IGNORE` would forgive more than a duplicate, and the count of `ON DUPLICATE KEY` does not tell.
            match DB::execute(connection, INSERT_MYSQL.text::<DB>(), &values).await {
                Err(error) if DB::trouble(&error) == Trouble::Duplicate => 0,
                answer => answer?,
            }
        } else {
            // A duplicate must not be an error: PostgreSQL would take the whole transaction back.
            DB::execute(connection, INSERT_OTHERS.text::<DB>(), &values).await?
        };
        if inserted == 1 && message.sent_at.is_some() {
            let row = Row::<DB>::first(connection, &STATE, &name).await?;
            let state = row.map_or(Ok(SEEN), |row| row.int(0))?;
            return Ok(if state == PARKED { Once::Parked } else { Once::Fresh });
        }
        if inserted == 1 || !guard("inbox_once") {
            return Ok(Once::Fresh);
        }
        if DB::execute(connection, TAKE_RELEASED.text::<DB>(), &name).await? == 1 {
            return Ok(Once::Fresh);
        }
        let parked = DB::execute(connection, MEET_PARKED.text::<DB>(), &name).await?;
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

pub(super) fn span_ms(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

// By hand: the database need not be `Clone` or `Debug`.
impl<DB: Database> Clone for Inbox<DB> {
    fn clone(&self) -> Self {
        Self {
            pool: self.pool.clone(),
            clock: self.clock.clone(),
            retention: self.retention,
            metrics: Arc::clone(&self.metrics),
        }
    }
}

impl<DB: Database> fmt::Debug for Inbox<DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox").field("retention", &self.retention).finish_non_exhaustive()
    }
}
