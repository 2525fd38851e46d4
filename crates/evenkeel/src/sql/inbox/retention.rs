//! Removes messages that are older than the retention, in batches.

use super::once::Inbox;
use crate::sql::SqlError;
use crate::sql::database::{Database, Kind, Statement, Value};
use evenkeel_link::support::{Background, Recurring, guard, ms};
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

impl<DB: Database> Inbox<DB> {
    /// Removes up to 500 messages that are older than the retention, except parked ones, and returns their number. If it is 500,
    /// there may be more.
    ///
    /// # Errors
    /// [`SqlError::Database`]; the call may be repeated.
    pub async fn run_once(&self) -> Result<u64, SqlError> {
        let kept = if guard("inbox_keeps_for_skew") { self.retention.saturating_add(SKEW_MAX) } else { self.retention };
        let values = [Value::count(ms(kept)), Value::Int(BATCH)];
        let statement = if DB::KIND == Kind::MySql { &DELETE_MYSQL } else { &DELETE_OTHERS };
        let mut connection = self.pool.acquire().await?;
        let deleted = DB::execute(&mut connection, statement.text::<DB>(), &values).await?;
        self.metrics.deleted.increment(deleted);
        self.metrics.last_success.set(Duration::from_millis(self.clock.unix_ms()).as_secs_f64());
        Ok(deleted)
    }

    /// Removes old messages until `shutdown` completes. One process is enough; more are safe.
    pub async fn run(&self, shutdown: impl Future<Output = ()> + Send) {
        let inbox = self.clone();
        let _loop = Background::spawn("inbox retention", self.clock.clone(), move || {
            let inbox = inbox.clone();
            async move {
                let failing = Recurring::default();
                loop {
                    let deleted = match inbox.clock.timeout(DEADLINE, inbox.run_once()).await {
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
        });
        shutdown.await;
    }
}
