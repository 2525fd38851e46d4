//! An outbox of a test's own, and the few things most tests do with it.

use super::recorder::Recorder;
use super::{Db, blob, own_database, pool};
use evenkeel::Keel;
use evenkeel::sql::relay::PassReport;
use evenkeel::sql::sink::Sinks;
use evenkeel::sql::{Message, Relay, migrate};
use evenkeel::testing::TestClock;
use sqlx::AssertSqlSafe;
use std::time::Duration;
use testkit::park::Database;

/// A database with an outbox, a keel that leaves every message to a relay, and a frozen clock.
pub(super) struct Stage {
    pub(super) pool: sqlx::Pool<Db>,
    pub(super) keel: Keel,
    pub(super) clock: TestClock,
    pub(super) database: Database,
}

impl Stage {
    pub(super) async fn set() -> Self {
        let database = own_database().await.unwrap();
        let pool = pool(&database.url).await;
        migrate(&pool).await.unwrap();
        let clock = TestClock::default();
        let keel = Keel::builder().clock(clock.clock()).memory();
        Self { pool, keel, clock, database }
    }

    /// A relay in its own process, with this sink.
    pub(super) fn relay(&self, sink: &Recorder) -> Relay<Db> {
        let relay = self.keel.another_process().relay(&self.pool).sinks(Sinks::to(sink.clone()));
        relay.backoff(Duration::from_millis(1), Duration::from_millis(1))
    }

    /// Commits a message of this key.
    pub(super) async fn publish(&self, key: &str, words: &str) {
        let mut work = self.keel.begin(&self.pool).await.unwrap();
        work.publish(Message::new("links", words.to_owned()).key(key)).unwrap();
        Box::pin(work.commit()).await.unwrap();
    }

    /// Commits a message that has no place in an order. It is not due before the fast path has had its time.
    pub(super) async fn publish_unordered(&self, words: &str) {
        let mut work = self.keel.begin(&self.pool).await.unwrap();
        work.publish(Message::new("links", words.to_owned())).unwrap();
        Box::pin(work.commit()).await.unwrap();
    }

    /// Waiting rows are due now: time passed, or a claim has expired.
    pub(super) async fn due(&self) {
        self.works_due().await;
        self.sql("UPDATE evenkeel_outbox_keys SET due_at = 1 WHERE due_at IS NOT NULL AND parked_at IS NULL").await;
    }

    /// One by one and by name: an update that searches would wait for the rows of transactions that are open.
    pub(super) async fn works_due(&self) {
        let waiting = "SELECT id FROM evenkeel_outbox WHERE state = 1";
        let ids: Vec<Vec<u8>> = sqlx::query_scalar(waiting).fetch_all(&self.pool).await.unwrap();
        for id in ids {
            let digits: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
            self.sql(&format!("UPDATE evenkeel_outbox SET due_at = 1 WHERE id = {}", blob(&digits))).await;
        }
    }

    /// Runs the relay until it finds nothing.
    pub(super) async fn drain(&self, relay: &Relay<Db>) -> Vec<PassReport> {
        let mut looks = Vec::new();
        loop {
            let report = relay.run_once().await.unwrap();
            if report == (PassReport { next: report.next, ..PassReport::default() }) {
                return looks;
            }
            looks.push(report);
        }
    }

    pub(super) async fn sql(&self, text: &str) {
        sqlx::raw_sql(AssertSqlSafe(text.to_owned())).execute(&self.pool).await.unwrap();
    }

    pub(super) async fn number(&self, text: &str) -> i64 {
        sqlx::query_scalar(AssertSqlSafe(text.to_owned())).fetch_one(&self.pool).await.unwrap()
    }

    /// How far the messages of a key have been sent.
    pub(super) async fn sent(&self, key: &str) -> i64 {
        self.number(&format!("SELECT sent_sequence FROM evenkeel_outbox_keys WHERE message_key = '{key}'")).await
    }

    /// Works in a state.
    pub(super) async fn outbox_rows(&self, state: i64) -> i64 {
        self.number(&format!("SELECT COUNT(*) FROM evenkeel_outbox WHERE state = {state}")).await
    }
}
