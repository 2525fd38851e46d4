//! Releases parked rows, makes waiting rows due, and deletes rows that are done.

use super::Outbox;
use crate::sql::database::{LIST_MAX, Lists, Pool, Row, Statement, Value};
use crate::sql::error::SqlError;
use crate::sql::outbox::WorkId;
use crate::sql::relay::rows::begin;
use crate::sql::relay::settings::RETENTION_MIN;
use evenkeel_link::support::ms;
use futures_util::future::BoxFuture;
use std::future::Future;
use std::time::Duration;

/// The operator's decision on a parked unit of work or key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParkedDecision {
    /// It is tried again, and its attempts are counted from zero.
    Resend,
    /// It is given up: a unit of work as a whole; of a key, the message that could not be sent. **These effects never happen.**
    Skip,
}

// The time for which it may wait for a sink starts again.
static RESEND: Statement = Statement::new(
    "UPDATE evenkeel_outbox SET state = 1, attempts = 0, settled_at = {now}, due_at = {now} WHERE id = ? AND state = 4",
);
static SKIP: Statement = Statement::new(
    "UPDATE evenkeel_outbox SET state = 2, due_at = NULL, settled_at = {now} WHERE id = ? AND state = 4",
);
static RESEND_KEY: Statement = Statement::new(
    "UPDATE evenkeel_outbox_keys SET parked_at = NULL, attempts = 0, claim = NULL, due_at = {now} \
     WHERE topic = ? AND message_key = ? AND parked_at IS NOT NULL",
);
// The time for which its next message may wait for a sink starts again.
static RESEND_MESSAGE: Statement = Statement::new(
    "UPDATE evenkeel_outbox_ordered SET settled_at = {now} WHERE topic = ? AND message_key = ? \
     AND sequence = (SELECT sent_sequence + 1 FROM evenkeel_outbox_keys WHERE topic = ? AND message_key = ?)",
);
static SKIP_KEY: Statement = Statement::new(
    "UPDATE evenkeel_outbox_keys SET parked_at = NULL, attempts = 0, error = NULL, claim = NULL, due_at = {now}, \
     sent_sequence = sent_sequence + 1 \
     WHERE topic = ? AND message_key = ? AND parked_at IS NOT NULL AND last_sequence > sent_sequence",
);
static SENT: Statement =
    Statement::new("SELECT sent_sequence FROM evenkeel_outbox_keys WHERE topic = ? AND message_key = ?");
static DELETE_SENT: Statement =
    Statement::new("DELETE FROM evenkeel_outbox_ordered WHERE topic = ? AND message_key = ? AND sequence <= ?");
static RETRY: Statement = Statement::new(
    "UPDATE evenkeel_outbox SET due_at = {now} WHERE state = 1 AND claim IS NULL AND due_at > (SELECT {now})",
);
static RETRY_KEYS: Statement = Statement::new(
    "UPDATE evenkeel_outbox_keys SET due_at = {now} \
     WHERE parked_at IS NULL AND claim IS NULL AND due_at > (SELECT {now})",
);
static OLD: Statement = Statement::new(
    "SELECT id FROM evenkeel_outbox WHERE state IN (2, 3) AND settled_at < (SELECT {now}) - ? ORDER BY id LIMIT ?",
);
static DELETE: Lists = Lists::new("DELETE FROM evenkeel_outbox WHERE state IN (2, 3) AND id IN (..)");

impl<DB> Outbox<DB> {
    /// Releases a parked unit of work. Returns `false` if it is not parked.
    ///
    /// # Errors
    /// [`SqlError`] of the database.
    pub fn release(&self, work: WorkId, how: ParkedDecision) -> impl Future<Output = Result<bool, SqlError>> + Send {
        release(self.pool.clone(), work, how)
    }

    /// Releases a parked key. Returns `false` if it is not parked. With [`ParkedDecision::Skip`] the message that could not be sent is
    /// deleted, and the key continues with the next one; its sink sees a gap in the sequence.
    ///
    /// # Errors
    /// [`SqlError`] of the database.
    pub fn release_key(
        &self,
        topic: &str,
        key: &str,
        how: ParkedDecision,
    ) -> impl Future<Output = Result<bool, SqlError>> + Send {
        release_key(self.pool.clone(), topic.to_owned(), key.to_owned(), how)
    }

    /// Makes all units of work and keys that wait for their next attempt due now, for example after the cause of the failures was
    /// fixed. Returns their number.
    ///
    /// # Errors
    /// [`SqlError`] of the database.
    pub fn retry(&self) -> impl Future<Output = Result<u64, SqlError>> + Send {
        retry(self.pool.clone())
    }

    /// Deletes units of work that have been done for longer than `age` (at least ten minutes, because a row decides a commit whose
    /// reply was lost), a few hundred at a time. Returns how many.
    ///
    /// # Errors
    /// [`SqlError`] of the database; rows deleted before the error stay deleted.
    pub fn purge(&self, age: Duration) -> impl Future<Output = Result<u64, SqlError>> + Send {
        delete(self.pool.clone(), age.max(RETENTION_MIN))
    }
}

// Boxed, so that they are compiled here.

fn release(pool: Pool, work: WorkId, how: ParkedDecision) -> BoxFuture<'static, Result<bool, SqlError>> {
    Box::pin(async move {
        let statement = if how == ParkedDecision::Resend { &RESEND } else { &SKIP };
        Ok(statement.run(&pool, &[Value::Bytes(&work.0)]).await? > 0)
    })
}

fn release_key(
    pool: Pool,
    topic: String,
    key: String,
    how: ParkedDecision,
) -> BoxFuture<'static, Result<bool, SqlError>> {
    Box::pin(async move {
        let name = [Value::Text(&topic), Value::Text(&key)];
        match how {
            ParkedDecision::Resend => {
                RESEND_MESSAGE.run(&pool, &[name, name].concat()).await?;
                Ok(RESEND_KEY.run(&pool, &name).await? > 0)
            }
            ParkedDecision::Skip => skip(&pool, &name).await,
        }
    })
}

fn retry(pool: Pool) -> BoxFuture<'static, Result<u64, SqlError>> {
    Box::pin(async move { Ok(RETRY.run(&pool, &[]).await? + RETRY_KEYS.run(&pool, &[]).await?) })
}

async fn skip(pool: &Pool, name: &[Value<'_>; 2]) -> Result<bool, SqlError> {
    let mut connection = pool.acquire().await?;
    let mut transaction = begin(&mut connection).await?;
    let skipped = SKIP_KEY.execute(&mut *transaction, name).await?;
    let row = Row::first(&mut *transaction, &SENT, name).await?;
    let sent = row.map_or(Ok(0), |row| row.count(0))?;
    if skipped > 0 {
        let values = [name[0], name[1], Value::count(sent)];
        DELETE_SENT.execute(&mut *transaction, &values).await?;
    }
    transaction.commit().await?;
    Ok(skipped > 0)
}

fn delete(pool: Pool, age: Duration) -> BoxFuture<'static, Result<u64, SqlError>> {
    Box::pin(async move {
        let mut connection = pool.acquire().await?;
        let mut deleted = 0;
        loop {
            let values = [Value::count(ms(age)), Value::count(LIST_MAX as u64)];
            let rows = Row::all(&mut *connection, &OLD, &values).await?;
            let ids = rows.iter().map(|row| row.bytes(0)).collect::<Result<Vec<_>, _>>()?;
            let list: Vec<Value<'_>> = ids.iter().map(|id| Value::Bytes(id)).collect();
            deleted += DELETE.execute(&mut *connection, &[], &list).await?;
            if ids.len() < LIST_MAX {
                return Ok(deleted);
            }
        }
    })
}
