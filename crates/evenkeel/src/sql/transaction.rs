//! [`PoolTransaction`]: the transactions that the library begins, and the state in which their connections return to the pool.
//!
//! sqlx 0.9.0 counts the transactions of a connection in the client. It counts one from the reply to `BEGIN` on, so a `begin` that is
//! dropped before leaves a transaction that the next borrower of the connection is in. It still counts one that SQLite has rolled back by
//! itself (a full disk, `RAISE(ROLLBACK)`), so every later `begin` on that connection fails. And below a nested transaction that was
//! leaked, its `commit` releases a savepoint and commits nothing.

use super::database::{Database, Kind};
use super::error::SqlError;
use futures_util::FutureExt;
use sqlx::pool::PoolConnection;
use sqlx::{AssertSqlSafe, Pool, SqlSafeStr, SqlStr};
use sqlx_core::transaction::TransactionManager;
use std::borrow::BorrowMut;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use tracing::Instrument;

/// A transaction on a connection of a pool, owned or borrowed, for programs that need none of the others here. It dereferences to the
/// connection, and is rolled back if it is dropped.
///
/// **Guarantee.** However it ends, and wherever its futures are dropped, the next borrower of the connection is in no transaction: the
/// connection returns to the pool outside of any, or is closed. Also after SQLite has rolled back by itself. `commit` returns `Ok` only if
/// it has committed this transaction, and not a savepoint in it.
/// **Not guaranteed.** Anything after statements that end the transaction behind its back (`COMMIT`, `ROLLBACK`, an ignored deadlock on MySQL
/// and MariaDB): only [`Work`](crate::sql::Work) and [`LockingTransaction`](crate::sql::LockingTransaction) notice these.
#[must_use = "a transaction that is dropped is rolled back"]
pub struct PoolTransaction<DB: Database, C: BorrowMut<PoolConnection<DB>> = PoolConnection<DB>> {
    connection: C,
    state: State,
    database: PhantomData<fn() -> DB>,
}

/// What is known about the transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Its beginning or its end was sent and not confirmed.
    Unknown,
    /// It is open, unless the database has rolled it back by itself.
    Open,
    /// The connection is outside of any transaction.
    Over,
}

/// Closes a connection at its end if the answer to a statement on it says that its session is of no use any longer.
pub(crate) fn close_if_over<DB: Database, T>(
    connection: &mut PoolConnection<DB>,
    answer: Result<T, sqlx::Error>,
) -> Result<T, sqlx::Error> {
    answer.inspect_err(|error| {
        if DB::class_of_error(error).ends_session() {
            connection.close_on_drop();
        }
    })
}

/// The statement that begins a transaction and the one that sets its marker, in one message. The marker exists as long as the transaction
/// ([`Dialect::MARK`](super::database::Dialect::MARK)).
pub(crate) fn marked<DB: Database>(statement: impl SqlSafeStr, mark: &[u8; 16]) -> AssertSqlSafe<String> {
    let statement = statement.into_sql_str();
    let begin = statement.as_str().trim_end_matches(|end: char| end == ';' || end.is_whitespace());
    let mark = DB::MARK.replace("{work}", &uuid::Uuid::from_bytes(*mark).simple().to_string());
    // On a line of its own, because the first statement may end with a comment.
    AssertSqlSafe(format!("{begin}\n; {mark}"))
}

impl<DB: Database> PoolTransaction<DB> {
    /// Takes a connection from the pool and begins a transaction with `statement`, such as `BEGIN` or `BEGIN IMMEDIATE`.
    ///
    /// # Errors
    /// The error of the driver: no transaction was begun.
    pub async fn begin(pool: &Pool<DB>, statement: impl SqlSafeStr) -> Result<Self, sqlx::Error> {
        // In a task that continues if the caller is dropped: the connection would have to be closed otherwise.
        let statement = statement.into_sql_str();
        let connection = pool.acquire().await?;
        let begun = evenkeel_link::support::spawn(Self::begin_with(connection, statement).in_current_span());
        // The task ends early only with its runtime.
        begun.await.unwrap_or(Err(sqlx::Error::WorkerCrashed))
    }
}

impl<'c, DB: Database> PoolTransaction<DB, &'c mut PoolConnection<DB>> {
    /// Begins a transaction on a connection that the caller has taken from the pool. If the future is dropped, the connection is closed.
    ///
    /// # Errors
    /// As [`begin`](PoolTransaction::begin).
    pub async fn begin_on(
        connection: &'c mut PoolConnection<DB>,
        statement: impl SqlSafeStr,
    ) -> Result<Self, sqlx::Error> {
        Self::begin_with(connection, statement.into_sql_str()).await
    }
}

impl<DB: Database, C: BorrowMut<PoolConnection<DB>>> PoolTransaction<DB, C> {
    async fn begin_with(connection: C, statement: SqlStr) -> Result<Self, sqlx::Error> {
        let mut begun = Self { connection, state: State::Unknown, database: PhantomData };
        // A transaction of an earlier borrower that sqlx still counts.
        begun.leave().await?;
        let answer = DB::TransactionManager::begin(&mut begun, Some(statement)).await;
        if answer.is_err() && DB::KIND == Kind::Sqlite {
            // The first of several statements may have begun a transaction that sqlx does not count.
            let _ = DB::script(&mut begun, "ROLLBACK").await;
            begun.state = State::Over;
        }
        answer?;
        begun.state = State::Open;
        Ok(begun)
    }

    /// Whether a commit would commit this transaction, and not release a savepoint in it.
    ///
    /// # Errors
    /// [`SqlError::OpenSavepoint`], [`SqlError::Lost`].
    pub(crate) fn check(&self) -> Result<(), SqlError> {
        match self.depth() {
            0 => Err(SqlError::Lost),
            1 => Ok(()),
            _ => Err(SqlError::OpenSavepoint),
        }
    }

    /// Commits.
    ///
    /// # Errors
    /// `sqlx::Error::Database`: the database has replied that it did not commit. `sqlx::Error::InvalidSavePointStatement`: a nested
    /// transaction has not ended, and this one was rolled back. Any other error: the transaction may have been committed.
    pub async fn commit(mut self) -> Result<(), sqlx::Error> {
        if self.check().is_err() {
            self.rollback().await?;
            return Err(sqlx::Error::InvalidSavePointStatement);
        }
        self.state = State::Unknown;
        let answer = DB::TransactionManager::commit(&mut self).await;
        // After a refusal sqlx still counts the transaction.
        let is_refused = matches!(answer, Err(sqlx::Error::Database(_)));
        if answer.is_ok() || (is_refused && self.leave().await.is_ok()) {
            self.state = State::Over;
        }
        answer
    }

    /// Rolls back.
    ///
    /// # Errors
    /// The database did not reply. The connection is closed then, at which the database rolls back.
    pub async fn rollback(mut self) -> Result<(), sqlx::Error> {
        self.state = State::Unknown;
        self.leave().await?;
        self.state = State::Over;
        Ok(())
    }

    /// Closes the connection when this ends, instead of returning it to the pool, which then opens another one.
    pub(crate) fn close_at_end(&mut self) {
        self.connection.borrow_mut().close_on_drop();
    }

    fn depth(&self) -> usize {
        DB::TransactionManager::get_transaction_depth(self)
    }

    /// Rolls back everything that sqlx counts.
    async fn leave(&mut self) -> Result<(), sqlx::Error> {
        while self.depth() > 0 {
            let Err(error) = DB::TransactionManager::rollback(self).await else { continue };
            if DB::KIND != Kind::Sqlite {
                return Err(error);
            }
            // SQLite has no such transaction any more. sqlx counts down after a statement that succeeds.
            let again = match self.depth() {
                0 | 1 => "BEGIN".to_owned(),
                depth => format!("SAVEPOINT _sqlx_savepoint_{}", depth - 1),
            };
            DB::send_text(self, again, &[]).await?;
            DB::TransactionManager::rollback(self).await?;
        }
        Ok(())
    }
}

impl<DB: Database, C: BorrowMut<PoolConnection<DB>>> Deref for PoolTransaction<DB, C> {
    type Target = DB::Connection;
    fn deref(&self) -> &DB::Connection {
        let connection: &PoolConnection<DB> = self.connection.borrow();
        connection
    }
}

impl<DB: Database, C: BorrowMut<PoolConnection<DB>>> DerefMut for PoolTransaction<DB, C> {
    fn deref_mut(&mut self) -> &mut DB::Connection {
        let connection: &mut PoolConnection<DB> = self.connection.borrow_mut();
        connection
    }
}

impl<DB: Database, C: BorrowMut<PoolConnection<DB>>> fmt::Debug for PoolTransaction<DB, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolTransaction").field("state", &self.state).finish_non_exhaustive()
    }
}

impl<DB: Database, C: BorrowMut<PoolConnection<DB>>> Drop for PoolTransaction<DB, C> {
    fn drop(&mut self) {
        let (state, depth) = (self.state, self.depth());
        match (state, DB::KIND) {
            (State::Over, _) => {}
            // The thread of the connection has the statement that was sent, and undoes a `BEGIN` or notes a `COMMIT` without a caller.
            (State::Unknown, Kind::Sqlite) => DB::TransactionManager::start_rollback(self),
            (State::Open, Kind::Sqlite) if depth == 1 => {
                // If SQLite has rolled back by itself, there is a transaction to roll back again; otherwise this fails without an effect.
                // The first poll hands the statement to the thread.
                let _ = DB::script(self, "BEGIN").now_or_never();
                DB::TransactionManager::start_rollback(self);
            }
            // The rollback is sent before the connection is used again.
            (State::Open, _) if depth == 1 => DB::TransactionManager::start_rollback(self),
            _ => self.connection.borrow_mut().close_on_drop(),
        }
    }
}
