//! Rows that are locked while they are read.

use crate::keel::Keel;
use crate::sql::SqlError;
use crate::sql::database::{Database, Kind, Row, Statement, Value};
use evenkeel_link::support::guard;
use sqlx::{AssertSqlSafe, Pool, Transaction};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;

/// How a `SELECT` locks the rows it reads, until its transaction ends.
///
/// SQLite has no locks on rows: there a [`LockingTransaction`] has the whole file from its beginning, and these add nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForUpdate {
    /// Waits for rows that somebody else has locked, as long as the transaction allows.
    Wait,
    /// Fails at once if somebody else has locked one ([`Conflict::NotGranted`](super::Conflict::NotGranted)).
    NoWait,
    /// Leaves out the rows that somebody else has locked. For queues: what is left out is not told.
    SkipLocked,
}

impl ForUpdate {
    /// The statement with the words of this database at its end: `ForUpdate::NoWait.of::<Postgres>("SELECT .. WHERE id = $1")`.
    #[must_use]
    pub fn of<DB: Database>(self, select: &'static str) -> AssertSqlSafe<String> {
        let words = match (DB::KIND, self) {
            (Kind::Sqlite, _) => "",
            (_, Self::Wait) => " FOR UPDATE",
            (_, Self::NoWait) => " FOR UPDATE NOWAIT",
            (_, Self::SkipLocked) => " FOR UPDATE SKIP LOCKED",
        };
        // Two texts of the program's own.
        AssertSqlSafe(format!("{select}{words}"))
    }
}

/// A transaction that waits for locked rows only so long; made by [`Keel::begin_locking`]. Dropped, it is rolled back.
#[must_use = "a transaction that is dropped is rolled back"]
pub struct LockingTransaction<DB: Database> {
    /// Nothing once it is over.
    transaction: Option<Transaction<'static, DB>>,
    is_limited: bool,
}

static LIMIT_POSTGRES: Statement = Statement::new("SELECT set_config('lock_timeout', ?, true)");
const DEFAULT_MYSQL: &str = "SET SESSION innodb_lock_wait_timeout = DEFAULT";
/// MySQL takes no parameter here; seconds, and the statement that sets them.
const LIMITS_MYSQL: [(f64, &str); 7] = [
    (1.0, "SET SESSION innodb_lock_wait_timeout = 1"),
    (2.0, "SET SESSION innodb_lock_wait_timeout = 2"),
    (5.0, "SET SESSION innodb_lock_wait_timeout = 5"),
    (10.0, "SET SESSION innodb_lock_wait_timeout = 10"),
    (20.0, "SET SESSION innodb_lock_wait_timeout = 20"),
    (30.0, "SET SESSION innodb_lock_wait_timeout = 30"),
    (60.0, "SET SESSION innodb_lock_wait_timeout = 60"),
];
const LONGEST_MYSQL: (f64, &str) = (600.0, "SET SESSION innodb_lock_wait_timeout = 600");

impl Keel {
    /// Begins a transaction for reads [`ForUpdate`], none of whose statements waits for longer than `wait` for a row that somebody else
    /// has locked (`None`: as long as the server is set to).
    ///
    /// PostgreSQL takes the limit in ms. MySQL and MariaDB take seconds: it is rounded up to 1, 2, 5, 10, 20, 30, 60 or 600, and put
    /// back to the default of the server when the transaction ends. SQLite locks the file here and now, and waits for that.
    ///
    /// # Errors
    /// [`SqlError::Database`], [`SqlError::Busy`] (SQLite, another writer has the file): nothing was begun.
    pub async fn begin_locking<DB: Database>(
        &self,
        pool: &Pool<DB>,
        wait: impl Into<Option<Duration>>,
    ) -> Result<LockingTransaction<DB>, SqlError> {
        let wait = wait.into();
        let begin = pool.begin_with(DB::BEGIN);
        let transaction = match wait.filter(|_| DB::KIND == Kind::Sqlite) {
            Some(limit) => {
                let begun = self.clock().timeout(limit, begin).await;
                begun
                    .map_err(|_| SqlError::Busy("another writer kept the file for longer than the transaction waits"))?
            }
            None => begin.await,
        };
        let transaction = Some(transaction.map_err(SqlError::of::<DB>)?);
        let mut locking = LockingTransaction { transaction, is_limited: wait.is_some() };
        if let Some(limit) = wait {
            limit_waits::<DB>(locking.tx()?, limit).await.map_err(SqlError::of::<DB>)?;
        }
        Ok(locking)
    }
}

async fn limit_waits<DB: Database>(connection: &mut DB::Connection, limit: Duration) -> Result<(), sqlx::Error> {
    match DB::KIND {
        Kind::MySql => {
            let seconds = limit.as_secs_f64();
            let (_, text) = LIMITS_MYSQL.iter().find(|(at_least, _)| *at_least >= seconds).unwrap_or(&LONGEST_MYSQL);
            DB::script(connection, text).await
        }
        Kind::Postgres => {
            // The setting is a number of 32 bits.
            let ms = limit.as_millis().clamp(1, 2_147_483_647).to_string();
            Row::<DB>::all(connection, &LIMIT_POSTGRES, &[Value::Text(&ms)]).await.map(drop)
        }
        Kind::Sqlite => Ok(()),
    }
}

impl<DB: Database> LockingTransaction<DB> {
    /// The connection in its transaction: what a statement is executed on. Do not end the transaction through it.
    ///
    /// # Errors
    /// None in practice: [`SqlError::Lost`] if the transaction were over.
    pub fn tx(&mut self) -> Result<&mut DB::Connection, SqlError> {
        self.transaction.as_deref_mut().ok_or(SqlError::Lost)
    }

    /// Commits.
    ///
    /// # Errors
    /// [`SqlError::Database`]: what the database said; it was not committed. [`SqlError::CommitUnknown`]: the connection was lost.
    pub async fn commit(mut self) -> Result<(), SqlError> {
        let transaction = self.ended().await?;
        transaction.commit().await.map_err(|error| match error {
            error @ sqlx::Error::Database(_) => SqlError::of::<DB>(error),
            error if guard("locking_commit_may_have_happened") => SqlError::CommitUnknown(Arc::new(error)),
            error => SqlError::of::<DB>(error),
        })
    }

    /// Rolls back.
    ///
    /// # Errors
    /// [`SqlError::Database`] if the database did not answer; it rolls back all the same when it notices that nobody is there.
    pub async fn rollback(mut self) -> Result<(), SqlError> {
        let transaction = self.ended().await?;
        transaction.rollback().await.map_err(SqlError::of::<DB>)
    }

    /// The transaction without its limit, so that the connection goes back to its pool as it came.
    async fn ended(&mut self) -> Result<Transaction<'static, DB>, SqlError> {
        if self.is_limited && DB::KIND == Kind::MySql {
            DB::script(self.tx()?, DEFAULT_MYSQL).await.map_err(SqlError::of::<DB>)?;
        }
        self.transaction.take().ok_or(SqlError::Lost)
    }
}

impl<DB: Database> Drop for LockingTransaction<DB> {
    fn drop(&mut self) {
        // Without a runtime the pool cannot take its connection back either.
        if let Some(mut transaction) = self.transaction.take()
            && self.is_limited
            && DB::KIND == Kind::MySql
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn(async move {
                if let Err(error) = DB::script(&mut transaction, DEFAULT_MYSQL).await {
                    tracing::debug!(%error, "a limit of lock waits was not put back");
                }
                drop(transaction);
            });
        }
    }
}

impl<DB: Database> fmt::Debug for LockingTransaction<DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LockingTransaction").field("is_limited", &self.is_limited).finish_non_exhaustive()
    }
}
