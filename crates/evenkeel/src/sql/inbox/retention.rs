//! Removes messages that are older than the retention, in batches.

use super::once::{Inbox, InboxRows};
use crate::sql::SqlError;
use crate::sql::database::{Kind, Statement, Value};
use evenkeel_link::support::{Background, Recurring, guard, ms};
use futures_util::future::BoxFuture;
use std::time::Duration;

/// The rows of one statement, few enough that its locks are held for milliseconds.
const BATCH: i64 = 500;
/// How far the clocks of senders may be ahead of the database's: a row is kept this much longer than the retention, so that a removed
/// message would always be parked if it were redelivered.
const SKEW_MAX: Duration = Duration::from_secs(600);
/// The pause of the loop when there is nothing to remove.
const PAUSE: Duration = Duration::from_secs(60);
/// The time limit of one statement.
const DEADLINE: Duration = Duration::from_secs(30);

static DELETE_MYSQL: Statement =
    Statement::new("DELETE FROM evenkeel_inbox WHERE state = 1 AND seen_at < {now} - ? LIMIT ?");
static DELETE_OTHERS: Statement = Statement::new(
    "DELETE FROM evenkeel_inbox WHERE (consumer_group, message_id) IN \
     (SELECT consumer_group, message_id FROM evenkeel_inbox WHERE state = 1 AND seen_at < {now} - ? LIMIT ?)",
);

impl<DB> Inbox<DB> {
    /// Removes up to 500 messages that are older than the retention, except parked ones, and returns their number. If it is 500,
    /// there may be more.
    ///
    /// # Errors
    /// [`SqlError::Database`]; the call may be repeated.
    pub async fn run_once(&self) -> Result<u64, SqlError> {
        self.rows.remove_old().await
    }

    /// Removes old messages until `shutdown` completes. One process is enough; more are safe.
    pub async fn run(&self, shutdown: impl Future<Output = ()> + Send) {
        let _loop = self.rows.clone().keep_removing();
        shutdown.await;
    }
}

impl InboxRows {
    /// Boxed, so that it is compiled here.
    fn remove_old(&self) -> BoxFuture<'_, Result<u64, SqlError>> {
        Box::pin(async move {
            let kept =
                if guard("inbox_keeps_for_skew") { self.retention.saturating_add(SKEW_MAX) } else { self.retention };
            let values = [Value::count(ms(kept)), Value::Int(BATCH)];
            let statement = if self.pool.dialect().kind == Kind::MySql { &DELETE_MYSQL } else { &DELETE_OTHERS };
            let mut connection = self.pool.acquire().await?;
            let deleted = statement.execute(&mut *connection, &values).await?;
            self.metrics.deleted.increment(deleted);
            self.metrics.last_success.set(Duration::from_millis(self.clock.unix_ms()).as_secs_f64());
            Ok(deleted)
        })
    }

    fn keep_removing(self) -> Background {
        Background::spawn("inbox retention", self.clock.clone(), move || {
            let inbox = self.clone();
            async move {
                let failing = Recurring::default();
                loop {
                    let deleted = match inbox.clock.timeout(DEADLINE, inbox.remove_old()).await {
                        Ok(deleted) => deleted.map_err(|error| error.to_string()),
                        Err(_) => Err("it timed out".to_owned()),
                    };
                    failing.log("retention", &deleted, |error, times| {
                        tracing::warn!(error, times, "could not delete old messages of the inbox; it is retried");
                    });
                    let more = deleted == Ok(BATCH.unsigned_abs());
                    inbox.clock.sleep(if more { Duration::from_millis(10) } else { PAUSE }).await;
                }
            }
        })
    }
}
