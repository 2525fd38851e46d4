//! Connections return to their pool outside of any transaction, however the call on them ended; and a commit that returns `Ok` has
//! committed.

use crate::sql::rig::{Rig, Sql, dropped_after, in_time, pool};
use evenkeel::queue::Queue;
use evenkeel::sql::sink::{Sinks, StreamSink};
use evenkeel::sql::{Message, Relay, SqlError, run_migrations};
use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::{Connection, MySql, Pool, Postgres, SqlSafeStr, Sqlite};
use std::time::Duration;

on_each! {
    call_dropped_at_any_poll_leaves_no_transaction
    leaked_nested_transaction_is_not_committed
    transaction_that_is_over_is_not_committed
}

const WAIT: Duration = Duration::from_secs(10);
const SELL: &str = "UPDATE stock SET units = units - 1 WHERE id = 1";

/// The transactions that the server itself knows.
trait Listed: Sql {
    /// Begins a transaction that the list shows at once.
    const BEGIN_LISTED: &'static str;

    /// The open transactions in the present database, without that of the watcher.
    async fn open_transactions(watcher: &mut Self::Connection) -> i64;
}

impl Listed for MySql {
    const BEGIN_LISTED: &'static str = "START TRANSACTION WITH CONSISTENT SNAPSHOT";

    async fn open_transactions(watcher: &mut Self::Connection) -> i64 {
        let list = "SELECT COUNT(*) FROM information_schema.INNODB_TRX WHERE trx_mysql_thread_id <> CONNECTION_ID() AND \
            trx_mysql_thread_id IN (SELECT ID FROM information_schema.PROCESSLIST WHERE db = DATABASE())";
        Self::number(watcher, list).await.unwrap().unwrap()
    }
}

impl Listed for Postgres {
    const BEGIN_LISTED: &'static str = "BEGIN";

    async fn open_transactions(watcher: &mut Self::Connection) -> i64 {
        let list = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%'";
        Self::number(watcher, list).await.unwrap().unwrap()
    }
}

impl Listed for Sqlite {
    const BEGIN_LISTED: &'static str = "BEGIN IMMEDIATE";

    /// The file is locked, or it is not.
    async fn open_transactions(watcher: &mut Self::Connection) -> i64 {
        match Self::run(watcher, "PRAGMA busy_timeout = 0; BEGIN IMMEDIATE; ROLLBACK").await {
            Ok(_) => 0,
            Err(error) => {
                assert!(error.to_string().contains("locked"), "{error}");
                1
            }
        }
    }
}

/// A call that is dropped.
#[derive(Clone, Copy, Debug)]
enum Call {
    BeginWork,
    BeginLocking,
    BeginFenced,
    CommitWork,
    CommitLocking,
    CommitFenced,
    RollBackLocking,
    Enqueue,
    Relay,
    Migrate,
}

struct Calls<DB: Sql> {
    rig: Rig<DB>,
    pool: Pool<DB>,
    rows: Queue<String>,
    relay: Relay<DB>,
}

impl<DB: Listed> Calls<DB> {
    /// Polls the call so often, then drops it; returns whether it was ready before.
    async fn drop_after(&self, polls: usize, call: Call) -> bool {
        let (keel, pool) = (&self.rig.keel, &self.pool);
        match call {
            Call::BeginWork => dropped_after(polls, keel.begin_with(pool, DB::BEGIN_LISTED)).await.is_some(),
            Call::BeginLocking => dropped_after(polls, keel.begin_locking(pool, WAIT)).await.is_some(),
            Call::BeginFenced => {
                let guard = keel.lock("stock/1").acquire().await.unwrap();
                dropped_after(polls, guard.begin(pool)).await.is_some()
            }
            Call::CommitWork => {
                let mut work = keel.begin(pool).await.unwrap();
                work.publish(Message::new("orders", "sold").key("order/7")).unwrap();
                dropped_after(polls, work.commit()).await.is_some()
            }
            Call::CommitLocking => {
                let mut locking = keel.begin_locking(pool, WAIT).await.unwrap();
                DB::run(locking.tx().unwrap(), SELL).await.unwrap();
                dropped_after(polls, locking.commit()).await.is_some()
            }
            Call::CommitFenced => {
                let guard = keel.lock("stock/1").acquire().await.unwrap();
                dropped_after(polls, guard.begin(pool).await.unwrap().commit()).await.is_some()
            }
            Call::RollBackLocking => {
                let mut locking = keel.begin_locking(pool, WAIT).await.unwrap();
                DB::run(locking.tx().unwrap(), SELL).await.unwrap();
                dropped_after(polls, locking.rollback()).await.is_some()
            }
            Call::Enqueue => dropped_after(polls, self.rows.now(&"sold".to_owned())).await.is_some(),
            Call::Relay => {
                let mut work = keel.begin(pool).await.unwrap();
                // A key of its own, because the claim of a dropped call lasts.
                work.publish(Message::new("orders", "sold").key(format!("order/{polls}"))).unwrap();
                work.commit().await.unwrap();
                dropped_after(polls, self.relay.run_once()).await.is_some()
            }
            Call::Migrate => {
                // A table of its own, because a call that is dropped has run some of its migrations.
                let (migrations, table) = (unchanging_migration(), format!("migrations_{polls}"));
                dropped_after(polls, run_migrations(pool, &migrations, &table)).await.is_some()
            }
        }
    }
}

/// A migration that writes rows, and leaves them as they are.
fn unchanging_migration() -> Migrator {
    let sql = "UPDATE stock SET units = units".into_sql_str();
    Migrator::with_migrations(vec![Migration::new(1, "stock".into(), MigrationType::Simple, sql, false)])
}

/// These are all calls of the library that begin a transaction: clippy permits no other way to begin one (`.config/library/clippy.toml`).
///
/// sqlx counts a transaction from the reply to `BEGIN` on: a `begin` that was dropped before that, as the handler of a request is
/// whose client hangs up, left its transaction open, and the next borrower of the connection worked in it.
// shows: hazard B1, sql::PoolTransaction, sql::PoolTransaction::begin, sql::PoolTransaction::begin_on
// shows: sql::PoolTransaction::rollback
async fn call_dropped_at_any_poll_leaves_no_transaction<DB: Listed>(rig: Rig<DB>) {
    let pool = pool::<DB>(&rig.database.url, 1).await;
    let rows = rig.keel.queue("rows").sql(&pool).open().await.unwrap();
    let relay = rig.keel.relay(&pool).sinks(Sinks::to(StreamSink::new(&rig.keel)));
    let mut watcher = DB::Connection::connect(&rig.database.url).await.unwrap();
    let calls = Calls { rig, pool, rows, relay };
    let all = [
        Call::BeginWork,
        Call::BeginLocking,
        Call::BeginFenced,
        Call::CommitWork,
        Call::CommitLocking,
        Call::CommitFenced,
        Call::RollBackLocking,
        Call::Enqueue,
        Call::Relay,
        Call::Migrate,
    ];
    for call in all {
        let mut polls = 0;
        loop {
            if calls.drop_after(polls, call).await {
                // A server on the same machine may answer within the first poll: the call is made again, until one is dropped.
                if polls > 0 {
                    break;
                }
                continue;
            }
            polls += 1;
            // It is the only connection of the pool.
            let mut next = calls.pool.acquire().await.unwrap();
            assert!(!next.is_in_transaction(), "{call:?} dropped after {polls} polls");
            // A connection that was closed may still be ending.
            while DB::open_transactions(&mut watcher).await != 0 {
                tokio::task::yield_now().await;
            }
            let read = DB::number(&mut next, "SELECT units FROM stock WHERE id = 2").await.unwrap();
            assert_eq!(read, Some(20), "{call:?} dropped after {polls} polls");
        }
    }
}

/// The future that had the nested transaction was leaked. `commit` then released a savepoint, returned `Ok`, and the job ran for rows that
/// the database rolled back later.
// shows: U1, hazard B3, sql::PoolTransaction, sql::PoolTransaction::commit, sql::Work::commit
// shows: sql::LockingTransaction::commit
async fn leaked_nested_transaction_is_not_committed<DB: Sql>(rig: Rig<DB>) {
    let one = pool::<DB>(&rig.database.url, 1).await;
    let leak = async |connection: &mut DB::Connection| {
        let mut nested = Connection::begin(connection).await.unwrap();
        DB::run(&mut nested, SELL).await.unwrap();
        std::mem::forget(nested);
    };
    let mut work = rig.keel.begin(&one).await.unwrap();
    leak(work.tx()).await;
    let job = work.enqueue(rig.mail.job(&"sold".to_owned())).unwrap();
    let error = work.commit().await.unwrap_err();
    assert!(matches!(error, SqlError::OpenSavepoint) && !error.is_retryable() && !error.outcome_unknown(), "{error}");
    assert!(rig.mail.find(&job).await.unwrap().is_none());
    let mut locking = rig.keel.begin_locking(&one, WAIT).await.unwrap();
    leak(locking.tx().unwrap()).await;
    let error = locking.commit().await.unwrap_err();
    assert!(matches!(error, SqlError::OpenSavepoint), "{error}");
    let guard = rig.keel.lock("stock/1").acquire().await.unwrap();
    let mut fenced = guard.begin(&one).await.unwrap();
    leak(fenced.tx().unwrap()).await;
    assert!(!fenced.commit().await.unwrap_err().outcome_unknown());
    let mut dropped = rig.keel.begin(&one).await.unwrap();
    leak(dropped.tx()).await;
    drop(dropped);
    assert!(!one.acquire().await.unwrap().is_in_transaction());
    assert_eq!(rig.units().await, 10);
}

/// The program ignored the error with which the database ended the transaction, here by hand. The statements after it are committed one by
/// one, and the commit of nothing succeeded. (A unit of work has always noticed it.)
// shows: hazard B3, sql::Work::commit, sql::LockingTransaction::commit
async fn transaction_that_is_over_is_not_committed<DB: Sql>(rig: Rig<DB>) {
    let mut locking = rig.keel.begin_locking(&rig.pool, WAIT).await.unwrap();
    DB::run(locking.tx().unwrap(), "ROLLBACK").await.unwrap();
    let error = locking.commit().await.unwrap_err();
    assert!(matches!(error, SqlError::Lost) && error.is_retryable(), "{error}");
    let guard = rig.keel.lock("stock/1").acquire().await.unwrap();
    let mut fenced = guard.begin(&rig.pool).await.unwrap();
    DB::run(fenced.tx().unwrap(), "ROLLBACK").await.unwrap();
    let error = fenced.commit().await.unwrap_err();
    assert!(error.is_retryable() && !error.outcome_unknown(), "{error}");
}

/// PostgreSQL replies to the commit of a failed transaction with success, and rolls back.
// shows: hazard B3, sql::PoolTransaction::commit
#[tokio::test]
async fn failed_transaction_is_not_committed_on_postgres() {
    let rig = Rig::<Postgres>::open().await;
    let mut locking = rig.keel.begin_locking(&rig.pool, WAIT).await.unwrap();
    Postgres::run(locking.tx().unwrap(), SELL).await.unwrap();
    Postgres::run(locking.tx().unwrap(), "SELECT 1 / 0").await.unwrap_err();
    let error = locking.commit().await.unwrap_err();
    assert!(!error.is_retryable() && !error.outcome_unknown(), "it would fail in the same way again: {error}");
    assert_eq!(rig.units().await, 10);
}

/// How a transaction that SQLite has rolled back ends.
#[derive(Clone, Copy, Debug)]
enum End {
    Commit,
    Drop,
    RollBack,
}

/// SQLite rolls back by itself when a trigger says so or the disk is full. sqlx still counted the transaction, so no later one could begin
/// on the connection, and a service refused all writes until it was restarted. The database is in memory: it is gone with its connection.
// shows: hazard B2, sql::PoolTransaction
#[tokio::test]
async fn sqlite_rollback_leaves_a_connection_that_can_begin() {
    in_time(async {
        let keel = evenkeel::Keel::memory();
        let one = pool::<Sqlite>("sqlite::memory:", 1).await;
        evenkeel::sql::migrate(&one).await.unwrap();
        let tables = "CREATE TABLE stock (id INTEGER PRIMARY KEY, units INTEGER NOT NULL); INSERT INTO stock VALUES (1, 10); \
            CREATE TRIGGER refuse BEFORE UPDATE ON stock BEGIN SELECT RAISE(ROLLBACK, 'refused'); END";
        Sqlite::run(&mut one.acquire().await.unwrap(), tables).await.unwrap();
        let refusals = [SELL, "INSERT OR ROLLBACK INTO stock VALUES (1, 1)"];
        for (refusal, end) in refusals.iter().flat_map(|refusal| [End::Commit, End::Drop, End::RollBack].map(|end| (refusal, end))) {
            let mut work = keel.begin(&one).await.unwrap();
            Sqlite::run(work.tx(), refusal).await.unwrap_err();
            match end {
                End::Commit => assert!(matches!(work.commit().await.unwrap_err(), SqlError::Lost)),
                End::Drop => drop(work),
                End::RollBack => work.rollback().await.unwrap(),
            }
            let mut locking = keel.begin_locking(&one, WAIT).await.unwrap();
            Sqlite::run(locking.tx().unwrap(), refusal).await.unwrap_err();
            match end {
                End::Commit => assert!(matches!(locking.commit().await.unwrap_err(), SqlError::Lost)),
                End::Drop => drop(locking),
                End::RollBack => locking.rollback().await.unwrap(),
            }
            // A transaction of the program, which sqlx ends alone.
            let mut own = one.begin_with("BEGIN IMMEDIATE").await.unwrap();
            Sqlite::run(&mut own, refusal).await.unwrap_err();
            drop(own);
            let mut next = keel.begin(&one).await.unwrap();
            next.publish(Message::new("orders", "sold")).unwrap();
            next.commit().await.unwrap();
        }
        let rows = Sqlite::number(&mut one.acquire().await.unwrap(), "SELECT COUNT(*) FROM evenkeel_outbox").await.unwrap();
        assert_eq!(rows, Some(6), "the units of work after the refusals");
    })
    .await;
}
