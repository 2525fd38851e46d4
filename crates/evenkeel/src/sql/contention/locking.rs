//! Locking reads: `SELECT .. FOR UPDATE`.

use super::setting::SettingTransaction;
use crate::sql::SqlError;
use crate::sql::database::{Connection, Database, Kind, Pool, Row, Statement, Value, typed};
use evenkeel_link::clock::Clock;
use futures_util::future::BoxFuture;
use sqlx::AssertSqlSafe;
use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

/// How a `SELECT` locks the rows that it reads, until its transaction ends.
///
/// SQLite has no row locks: a [`LockingTransaction`] locks the whole file from its beginning, and these variants change nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForUpdate {
    /// Waits for rows that another transaction has locked, up to the limit of the transaction.
    Wait,
    /// Fails at once if another transaction has locked a row ([`Conflict::NotGranted`](super::Conflict::NotGranted)).
    NoWait,
    /// Skips rows that another transaction has locked, without reporting them. Meant for queues.
    SkipLocked,
}

impl ForUpdate {
    /// The statement with the locking clause of this database appended: `ForUpdate::NoWait.of::<Postgres>("SELECT .. WHERE id =
    /// $1")`.
    #[must_use]
    pub fn of<DB: Database>(self, select: &'static str) -> AssertSqlSafe<String> {
        let clause = match (DB::DIALECT.kind, self) {
            (Kind::Sqlite, _) => "",
            (_, Self::Wait) => " FOR UPDATE",
            (_, Self::NoWait) => " FOR UPDATE NOWAIT",
            (_, Self::SkipLocked) => " FOR UPDATE SKIP LOCKED",
        };
        // Both parts are constants of the program.
        AssertSqlSafe(format!("{select}{clause}"))
    }
}

/// A transaction with a limit on lock waits; created by [`Keel::begin_locking`](crate::Keel::begin_locking). It is rolled back if it is
/// dropped.
#[must_use = "a transaction that is dropped is rolled back"]
pub struct LockingTransaction<DB> {
    transaction: SettingTransaction,
    database: PhantomData<fn() -> DB>,
}

static LIMIT_POSTGRES: Statement = Statement::new("SELECT set_config('lock_timeout', ?, true)");
const DEFAULT_MYSQL: &str = "SET SESSION innodb_lock_wait_timeout = DEFAULT";
/// The limits for MySQL in seconds. It accepts no parameter here, so there are few different statements.
const LIMITS_MYSQL: [u64; 7] = [1, 2, 5, 10, 20, 30, 60];
const LONGEST_MYSQL: u64 = 600;

async fn limit_waits(connection: &mut Connection, limit: Duration) -> Result<(), sqlx::Error> {
    match connection.dialect().kind {
        Kind::MySql => {
            let seconds = LIMITS_MYSQL.into_iter().find(|seconds| Duration::from_secs(*seconds) >= limit);
            let seconds = seconds.unwrap_or(LONGEST_MYSQL);
            let text = format!("SET SESSION innodb_lock_wait_timeout = {seconds}");
            connection.send_text(text, &[]).await.map(drop)
        }
        Kind::Postgres => {
            // `lock_timeout` is a 32-bit number.
            let ms = limit.as_millis().clamp(1, 2_147_483_647).to_string();
            Row::all(connection, &LIMIT_POSTGRES, &[Value::Text(&ms)]).await.map(drop)
        }
        Kind::Sqlite => Ok(()),
    }
}

/// As `Keel::begin_locking` documents. Boxed, so that it is compiled here.
fn begin(clock: Clock, pool: Pool, wait: Option<Duration>) -> BoxFuture<'static, Result<SettingTransaction, SqlError>> {
    Box::pin(async move {
        let kind = pool.dialect().kind;
        let reset = (wait.is_some() && kind == Kind::MySql).then_some(DEFAULT_MYSQL);
        let begin = SettingTransaction::begin(&pool, reset);
        let mut transaction = match wait.filter(|_| kind == Kind::Sqlite) {
            Some(limit) => {
                let begun = clock.timeout(limit, begin).await;
                begun.map_err(|_| {
                    SqlError::Busy("another writer held the file for longer than the transaction waits")
                })??
            }
            None => begin.await?,
        };
        if let Some(limit) = wait {
            limit_waits(transaction.tx()?, limit).await?;
        }
        Ok(transaction)
    })
}

impl<DB: Database> LockingTransaction<DB> {
    /// As `Keel::begin_locking` documents.
    pub(crate) async fn begin(clock: &Clock, pool: &sqlx::Pool<DB>, wait: Option<Duration>) -> Result<Self, SqlError> {
        let transaction = begin(clock.clone(), DB::erased(pool), wait).await?;
        Ok(Self { transaction, database: PhantomData })
    }

    /// The connection in its transaction, on which statements are executed. Do not end the transaction through it.
    ///
    /// # Errors
    /// [`SqlError::Lost`] if the transaction has ended, which does not happen in practice.
    pub fn tx(&mut self) -> Result<&mut DB::Connection, SqlError> {
        self.transaction.tx().map(typed::<DB>)
    }
}

impl<DB> LockingTransaction<DB> {
    /// Commits the transaction.
    ///
    /// # Errors
    /// [`SqlError::Database`]: the database returned an error; the transaction was not committed. [`SqlError::Lost`]: the database had
    /// rolled it back before, after an error of an earlier statement. [`SqlError::OpenSavepoint`]: a nested transaction has not ended; it
    /// was rolled back. [`SqlError::CommitUnknown`]: the connection was lost, and the transaction may have been committed.
    pub async fn commit(self) -> Result<(), SqlError> {
        self.transaction.commit().await
    }

    /// Rolls the transaction back.
    ///
    /// # Errors
    /// [`SqlError::Database`] if the database did not reply; it rolls the transaction back when it detects the closed connection.
    pub async fn rollback(self) -> Result<(), SqlError> {
        self.transaction.rollback().await
    }
}

impl<DB> fmt::Debug for LockingTransaction<DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LockingTransaction").finish_non_exhaustive()
    }
}
