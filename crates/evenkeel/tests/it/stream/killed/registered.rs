//! The stream registered in a database: units of work append its entries, and a relay in each consumer process sends them.

use super::fleet::is_poison;
use super::ledger::Step;
use evenkeel::Keel;
use evenkeel::sql::sink::Sinks;
use evenkeel::stream::Stream;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous};
use std::collections::HashSet;
use std::time::Duration;

/// The database with the outbox and the checkpoints of the stream: a file of its own, so that relays do not wait for handlers.
pub(super) async fn database(path: &str) -> SqlitePool {
    let options =
        SqliteConnectOptions::new().filename(path).create_if_missing(true).journal_mode(SqliteJournalMode::Wal);
    // This is safe against a killed process, though not against a power failure.
    let options = options.synchronous(SqliteSynchronous::Off).busy_timeout(Duration::from_secs(60));
    let pool = SqlitePoolOptions::new().max_connections(4).connect_with(options).await.unwrap();
    evenkeel::sql::migrate(&pool).await.unwrap();
    pool
}

/// Appends the entries in one transaction.
pub(super) async fn append(keel: &Keel, pool: &SqlitePool, stream: &Stream<Step>, steps: &[Step]) {
    let mut work = keel.begin(pool).await.unwrap();
    for step in steps {
        work.append(stream.entry(step.0.to_string(), step)).unwrap();
    }
    work.commit().await.unwrap();
}

/// Whether a relay has sent everything.
pub(super) async fn all_sent(pool: &SqlitePool) -> bool {
    let left: bool =
        sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM evenkeel_outbox_ordered)").fetch_one(pool).await.unwrap();
    !left
}

/// The entries that a flush may lose: dead letters, of which Redis has the only copy.
pub(super) fn only_letters(held: HashSet<Step>) -> HashSet<Step> {
    held.into_iter().filter(is_poison).collect()
}

/// Sends entries until `end` completes.
pub(super) async fn relay(keel: &Keel, pool: &SqlitePool, end: impl Future<Output = ()> + Send) {
    keel.relay(pool).sinks(Sinks::none().streams(keel)).run(end).await;
}
