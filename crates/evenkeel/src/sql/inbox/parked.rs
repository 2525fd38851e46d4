//! Messages redelivered so late that it is unknown whether they were processed. An operator decides.

use super::message::MessageId;
use super::once::{Inbox, InboxRows, PARKED, RELEASED, SEEN};
use crate::sql::SqlError;
use crate::sql::database::{Row, Statement, Value};
use evenkeel_link::clock::UnixMs;
use futures_util::future::BoxFuture;

/// A message that waits for an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parked {
    /// The consumer group that received it.
    pub group: String,
    /// Its name.
    pub message: Vec<u8>,
    /// When it was parked, by the database's clock.
    pub parked_at: UnixMs,
    /// How often it was delivered.
    pub met: u64,
}

/// The operator's decision on a parked message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParkedMessageDecision {
    /// The message was not processed: its next delivery is [`Once::Fresh`](super::Once::Fresh). Its sender must send it again.
    Run,
    /// The message was processed, or must not be processed: its next deliveries are [`Once::Seen`](super::Once::Seen).
    Skip,
}

static LIST: Statement = Statement::new(
    "SELECT consumer_group, message_id, seen_at, met FROM evenkeel_inbox WHERE state = 2 ORDER BY seen_at LIMIT ?",
);
static RELEASE: Statement = Statement::new(
    "UPDATE evenkeel_inbox SET state = ?, seen_at = {now} WHERE consumer_group = ? AND message_id = ? AND state = ?",
);

impl<DB> Inbox<DB> {
    /// The parked messages of all groups, at most `limit`, those parked longest first.
    ///
    /// # Errors
    /// [`SqlError::Database`], [`SqlError::NotMigrated`].
    pub async fn parked(&self, limit: u32) -> Result<Vec<Parked>, SqlError> {
        self.rows.parked(limit).await
    }

    /// Releases a parked message. Returns false if it is not parked.
    ///
    /// # Errors
    /// [`SqlError::Database`]; the call may be repeated.
    pub async fn release(
        &self,
        group: &str,
        message: impl Into<MessageId> + Send,
        release: ParkedMessageDecision,
    ) -> Result<bool, SqlError> {
        self.rows.release(group, message.into(), release).await
    }
}

// Boxed, so that they are compiled here.
impl InboxRows {
    fn parked(&self, limit: u32) -> BoxFuture<'_, Result<Vec<Parked>, SqlError>> {
        Box::pin(async move {
            let rows = LIST.read(&self.pool, &[Value::Int(i64::from(limit))]).await?;
            let read = |row: Row| {
                Ok(Parked {
                    group: row.text(0)?,
                    message: row.bytes(1)?,
                    parked_at: UnixMs(row.count(2)?),
                    met: row.count(3)?,
                })
            };
            Ok(rows.into_iter().map(read).collect::<Result<_, sqlx::Error>>()?)
        })
    }

    fn release<'a>(
        &'a self,
        group: &'a str,
        message: MessageId,
        release: ParkedMessageDecision,
    ) -> BoxFuture<'a, Result<bool, SqlError>> {
        Box::pin(async move {
            let state = match release {
                ParkedMessageDecision::Run => RELEASED,
                ParkedMessageDecision::Skip => SEEN,
            };
            let values = [Value::Int(state), Value::Text(group), Value::Bytes(&message.name), Value::Int(PARKED)];
            Ok(RELEASE.run(&self.pool, &values).await? == 1)
        })
    }
}
