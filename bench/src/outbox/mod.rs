//! The unit of work: commits with one effect compared with the bare transaction, the delay of the effect, the cost of a notification, and
//! the throughput of a relay after an outage, compared with a published outbox. The database has a core of its own; client and Redis share
//! another. Commits are durable when they are acknowledged, as in production.

mod catch_up;
mod commits;
mod messages;
mod sink;

use crate::peer::Peers;
use crate::pin;
use crate::results::Keeper;
use crate::rounds::Plan;
use crate::row::Row;
use anyhow::Result;
use evenkeel::Keel;
use evenkeel::cache::Cache;
use evenkeel::sql::{Database, migrate};
use sqlx::Pool;
use sqlx::pool::PoolOptions;
use std::time::Duration;
use testkit::servers::{MariaDb, MariaDbOptions, Postgres, PostgresOptions, Redis, RedisOptions};

const BENCH: &str = "outbox";
/// Rows of the table that the transactions change.
const ACCOUNTS: u64 = 10_000;
/// Rows of the application's tables: many, so that transactions seldom wait for each other.
const TELLERS: i64 = 1_000;
const BRANCHES: i64 = 100;
/// Transactions at once.
const TASKS: [usize; 2] = [1, 8];
/// The outbox that is compared with, and why others are not.
const PEER: &str = "oxide-outbox (outbox-core 0.6.0, outbox-postgres 0.3.0)";
const ABSENT: [&str; 2] = [
    "outbox-pattern-processor 0.3.6 (its relay sends to SQS, SNS or HTTP only, so the broker would be measured)",
    "obix 0.2.10 (readers poll the table themselves, so there is no relay to measure)",
];

/// Test servers keep nothing safe; these are the defaults again, with room for a million rows.
const MARIADB: [&str; 4] = [
    "--innodb-flush-log-at-trx-commit=1",
    "--innodb-flush-method=fsync",
    "--innodb-doublewrite=1",
    "--innodb-buffer-pool-size=512M",
];
const POSTGRES: [&str; 3] = ["fsync=on", "full_page_writes=on", "shared_buffers=512MB"];

pub(crate) fn run(plan: &Plan, keeper: &mut Keeper) -> Result<()> {
    pin::this_thread(pin::CLIENT_CORE)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let redis = Redis::start(RedisOptions::new()).await?;
        pin::process(redis.process_id(), pin::CLIENT_CORE)?;
        {
            let server = MariaDb::start(MariaDbOptions::new().arguments(MARIADB)).await?;
            pin::process(server.process_id(), pin::SERVER_CORE)?;
            server.execute("CREATE DATABASE bench").await?;
            let stand = Stand::<sqlx::MySql>::open(&redis, &server.database_url("bench")).await?;
            keeper.keep(commits::run(plan, &stand, "MariaDB").await?)?;
            keeper.keep(messages::late(plan, &stand, &redis, "MariaDB").await?)?;
            keeper.keep(catch_up::run(plan, &stand, &redis, "MariaDB").await?)?;
        }
        let options = POSTGRES.iter().fold(PostgresOptions::new(), |options, setting| options.setting(setting));
        let server = Postgres::start(options).await?;
        pin::process(server.process_id(), pin::SERVER_CORE)?;
        let stand = Stand::<sqlx::Postgres>::open(&redis, &server.url()).await?;
        keeper.keep(commits::run(plan, &stand, "PostgreSQL").await?)?;
        keeper.keep(messages::late(plan, &stand, &redis, "PostgreSQL").await?)?;
        keeper.keep(messages::notified(plan, &stand).await?)?;
        keeper.keep(catch_up::run(plan, &stand, &redis, "PostgreSQL").await?)?;
        match Peers::outbox(&server.url()) {
            Ok(mut peer) => {
                keeper.keep(messages::against_peer(plan, &stand, &mut peer).await?)?;
                keeper.keep(catch_up::against_peer(plan, &stand, &redis, &mut peer).await?)?;
            }
            Err(error) => keeper.keep([Row::absent(BENCH, &format!("{PEER} ({error:#})"))])?,
        }
        keeper.keep(ABSENT.map(|what| Row::absent(BENCH, what)))
    })
}

/// A database with accounts, and a cache of them.
pub(crate) struct Stand<DB: Bank> {
    keel: Keel,
    pool: Pool<DB>,
    accounts: Cache<u64, i64>,
}

// Not derived: that would ask the database itself to be `Clone`.
impl<DB: Bank> Clone for Stand<DB> {
    fn clone(&self) -> Self {
        Self { keel: self.keel.clone(), pool: self.pool.clone(), accounts: self.accounts.clone() }
    }
}

/// A database of the comparison, with the statements of a transaction.
pub(crate) trait Bank: Database {
    /// Adds to one account: the smallest transaction that there is.
    fn add(connection: &mut Self::Connection, account: i64) -> impl Future<Output = Result<(), sqlx::Error>> + Send;

    /// The five statements of the transaction that pgbench measures ("TPC-B (sort of)").
    fn book(connection: &mut Self::Connection, account: i64) -> impl Future<Output = Result<(), sqlx::Error>> + Send;

    /// Inserts a row with the size and the indexes of an outbox row: the minimal cost of any outbox.
    fn note(connection: &mut Self::Connection, id: u128) -> impl Future<Output = Result<(), sqlx::Error>> + Send;

    /// Makes the tables.
    fn fill(connection: &mut Self::Connection) -> impl Future<Output = Result<(), sqlx::Error>> + Send;

    /// Copies the one waiting unit of work this many times.
    fn copy_work(connection: &mut Self::Connection, times: u64)
    -> impl Future<Output = Result<(), sqlx::Error>> + Send;

    /// More than 0 while a unit of work or a key waits.
    fn waiting(connection: &mut Self::Connection) -> impl Future<Output = Result<i64, sqlx::Error>> + Send;

    /// Sends statements as they are.
    fn send(connection: &mut Self::Connection, text: String) -> impl Future<Output = Result<(), sqlx::Error>> + Send;
}

macro_rules! bank {
    ($database:ty, $bytes:literal, $add:literal, $book:expr, $note:literal, $ids:literal, $series:literal) => {
        impl Bank for $database {
            async fn add(connection: &mut Self::Connection, account: i64) -> Result<(), sqlx::Error> {
                sqlx::query($add).bind(account).execute(connection).await.map(drop)
            }

            async fn book(connection: &mut Self::Connection, account: i64) -> Result<(), sqlx::Error> {
                let [read, teller, branch, history] = $book;
                let (at_teller, at_branch) = (account % TELLERS, account % BRANCHES);
                Self::add(connection, account).await?;
                let _: i64 = sqlx::query_scalar(read).bind(account).fetch_one(&mut *connection).await?;
                sqlx::query(teller).bind(at_teller).execute(&mut *connection).await?;
                sqlx::query(branch).bind(at_branch).execute(&mut *connection).await?;
                let noted = sqlx::query(history).bind(at_teller).bind(at_branch).bind(account);
                noted.execute(connection).await.map(drop)
            }

            async fn note(connection: &mut Self::Connection, id: u128) -> Result<(), sqlx::Error> {
                let (id, body) = (id.to_be_bytes(), [7_u8; 60]);
                let note = sqlx::query($note).bind(id.as_slice()).bind(body.as_slice()).bind(1_i64);
                note.execute(connection).await.map(drop)
            }

            async fn fill(connection: &mut Self::Connection) -> Result<(), sqlx::Error> {
                for (table, rows) in [("accounts", ACCOUNTS.cast_signed()), ("tellers", TELLERS), ("branches", BRANCHES)] {
                    let make = format!("CREATE TABLE {table} (id BIGINT NOT NULL PRIMARY KEY, cents BIGINT NOT NULL)");
                    Self::send(connection, make).await?;
                    let rows: Vec<String> = (0..rows).map(|id| format!("({id}, 0)")).collect();
                    Self::send(connection, format!("INSERT INTO {table} (id, cents) VALUES {}", rows.join(", "))).await?;
                }
                let history = "CREATE TABLE history (teller BIGINT NOT NULL, branch BIGINT NOT NULL, \
                               account BIGINT NOT NULL, cents BIGINT NOT NULL, booked_at TIMESTAMP NOT NULL)";
                Self::send(connection, history.to_owned()).await?;
                let notes = format!(
                    "CREATE TABLE notes (id {0} NOT NULL PRIMARY KEY, body {0} NOT NULL, due_at BIGINT NOT NULL)",
                    $bytes
                );
                Self::send(connection, notes).await?;
                Self::send(connection, "CREATE INDEX notes_due ON notes (due_at)".to_owned()).await
            }

            async fn copy_work(connection: &mut Self::Connection, times: u64) -> Result<(), sqlx::Error> {
                let copy = format!(
                    "INSERT INTO evenkeel_outbox (id, state, effects, attempts, due_at, created_at) \
                     SELECT {}, 1, work.effects, 0, 1, work.created_at FROM evenkeel_outbox AS work, {} WHERE work.state = 1",
                    $ids,
                    $series.replace("TIMES", &times.to_string())
                );
                Self::send(connection, copy).await
            }

            async fn waiting(connection: &mut Self::Connection) -> Result<i64, sqlx::Error> {
                let any = "SELECT (SELECT COUNT(*) FROM \
                           (SELECT 1 FROM evenkeel_outbox WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1) AS works) + \
                           (SELECT COUNT(*) FROM (SELECT 1 FROM evenkeel_outbox_keys WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1) AS lanes)";
                sqlx::query_scalar(any).fetch_one(connection).await
            }

            async fn send(connection: &mut Self::Connection, text: String) -> Result<(), sqlx::Error> {
                sqlx::raw_sql(sqlx::AssertSqlSafe(text)).execute(connection).await.map(drop)
            }
        }
    };
}

bank!(
    sqlx::MySql,
    "VARBINARY(100)",
    "UPDATE accounts SET cents = cents + 1 WHERE id = ?",
    [
        "SELECT cents FROM accounts WHERE id = ?",
        "UPDATE tellers SET cents = cents + 1 WHERE id = ?",
        "UPDATE branches SET cents = cents + 1 WHERE id = ?",
        "INSERT INTO history (teller, branch, account, cents, booked_at) VALUES (?, ?, ?, 1, CURRENT_TIMESTAMP)",
    ],
    "INSERT INTO notes (id, body, due_at) VALUES (?, ?, ?)",
    "UNHEX(LPAD(HEX(n.seq), 32, '0'))",
    "seq_1_to_TIMES AS n"
);
bank!(
    sqlx::Postgres,
    "BYTEA",
    "UPDATE accounts SET cents = cents + 1 WHERE id = $1",
    [
        "SELECT cents FROM accounts WHERE id = $1",
        "UPDATE tellers SET cents = cents + 1 WHERE id = $1",
        "UPDATE branches SET cents = cents + 1 WHERE id = $1",
        "INSERT INTO history (teller, branch, account, cents, booked_at) VALUES ($1, $2, $3, 1, CURRENT_TIMESTAMP)",
    ],
    "INSERT INTO notes (id, body, due_at) VALUES ($1, $2, $3)",
    "decode(lpad(to_hex(n.n), 32, '0'), 'hex')",
    "generate_series(1, TIMES) AS n(n)"
);

impl<DB: Bank> Stand<DB> {
    async fn open(redis: &Redis, url: &str) -> Result<Self> {
        let keel = Keel::connect(&redis.url()).await?;
        let pool = PoolOptions::new().max_connections(12).connect(url).await?;
        migrate(&pool).await?;
        DB::fill(&mut *pool.acquire().await?).await?;
        let accounts = keel.cache("account").ttl(Duration::from_secs(600)).open().await?;
        Ok(Self { keel, pool, accounts })
    }
}
