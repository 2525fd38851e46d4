//! [`PoolTransaction`]: the transactions that the library begins, and the state in which their connections return to the pool.
//!
//! sqlx 0.9.0 counts the transactions of a connection in the client. It counts one from the reply to `BEGIN` on, so a `begin` that is
//! dropped before leaves a transaction that the next borrower of the connection is in. It still counts one that SQLite has rolled back by
//! itself (a full disk, `RAISE(ROLLBACK)`), so every later `begin` on that connection fails. And below a nested transaction that was
//! leaked, its `commit` releases a savepoint and commits nothing.

use super::database::{Connection, Database, Dialect, Kind, Pool, PooledConnection, class_of_error};
use super::error::SqlError;
use evenkeel_link::support::guard;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use sqlx::pool::PoolConnection;
use sqlx::{AssertSqlSafe, SqlSafeStr, SqlStr};
use std::borrow::BorrowMut;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use tracing::Instrument;

/// A connection of a pool, owned or borrowed, whose type names its database or does not.
pub(crate) trait Held {
    fn connection(&self) -> &Connection;
    fn connection_mut(&mut self) -> &mut Connection;
    /// Has the connection closed when it is dropped, instead of returned to its pool.
    fn close_on_drop(&mut self);
}

impl Held for PooledConnection {
    fn connection(&self) -> &Connection {
        &**self
    }

    fn connection_mut(&mut self) -> &mut Connection {
        &mut **self
    }

    fn close_on_drop(&mut self) {
        Self::close_on_drop(self);
    }
}

impl Held for &mut PooledConnection {
    fn connection(&self) -> &Connection {
        &***self
    }

    fn connection_mut(&mut self) -> &mut Connection {
        &mut ***self
    }

    fn close_on_drop(&mut self) {
        PooledConnection::close_on_drop(self);
    }
}

/// A transaction of the library on a connection of a pool, owned or borrowed: what a [`PoolTransaction`] is, compiled once.
#[must_use = "a transaction that is dropped is rolled back"]
pub(crate) struct Transaction<H: Held = PooledConnection> {
    held: H,
    state: State,
}

/// A transaction on a connection of a pool, owned or borrowed, for programs that need none of the others here. It dereferences to the
/// connection, and is rolled back if it is dropped.
///
/// **Guarantee.** However it ends, and wherever its futures are dropped, the next borrower of the connection is in no transaction: the
/// connection returns to the pool outside of any, or is closed. Also after SQLite has rolled back by itself. `commit` returns `Ok` only if
/// it has committed this transaction, and not a savepoint in it.
/// **Not guaranteed.** Anything after statements that end the transaction behind its back (`COMMIT`, `ROLLBACK`, an ignored deadlock on MySQL
/// and MariaDB): only [`Work`](crate::sql::Work) and [`LockingTransaction`](crate::sql::LockingTransaction) notice these.
#[must_use = "a transaction that is dropped is rolled back"]
pub struct PoolTransaction<DB: Database, C: BorrowMut<PoolConnection<DB>> = PoolConnection<DB>>(Transaction<Of<DB, C>>);

/// A connection whose type names its database.
struct Of<DB, C>(C, PhantomData<fn() -> DB>);

impl<DB: Database, C: BorrowMut<PoolConnection<DB>>> Held for Of<DB, C> {
    fn connection(&self) -> &Connection {
        let connection: &PoolConnection<DB> = self.0.borrow();
        &**connection
    }

    fn connection_mut(&mut self) -> &mut Connection {
        let connection: &mut PoolConnection<DB> = self.0.borrow_mut();
        &mut **connection
    }

    fn close_on_drop(&mut self) {
        let connection: &mut PoolConnection<DB> = self.0.borrow_mut();
        connection.close_on_drop();
    }
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

/// A step of a transaction: boxed, so that it is compiled here.
type Step<'a> = BoxFuture<'a, Result<(), sqlx::Error>>;

/// Closes a connection at its end if the answer to a statement on it says that its session is of no use any longer.
pub(crate) fn close_if_over<T>(
    connection: &mut PooledConnection,
    answer: Result<T, sqlx::Error>,
) -> Result<T, sqlx::Error> {
    answer.inspect_err(|error| {
        if class_of_error(error).ends_session() {
            connection.close_on_drop();
        }
    })
}

/// The statement that begins a transaction and the one that sets its marker, in one message. The marker exists as long as the transaction
/// ([`Dialect::mark`]).
fn marked(dialect: &Dialect, statement: &str, mark: &[u8; 16]) -> SqlStr {
    let begin = statement.trim_end_matches(|end: char| end == ';' || end.is_whitespace());
    let mark = dialect.mark.replace("{work}", &uuid::Uuid::from_bytes(*mark).simple().to_string());
    // On a line of its own, because the first statement may end with a comment.
    AssertSqlSafe(format!("{begin}\n; {mark}")).into_sql_str()
}

impl Transaction {
    /// Takes a connection from the pool and begins a transaction with `statement`.
    pub(crate) async fn begin(pool: &Pool, statement: SqlStr) -> Result<Self, sqlx::Error> {
        Self::begin_detached(pool.acquire().await?, statement).await
    }

    /// The same, and sets the marker of the transaction.
    pub(crate) async fn begin_marked(pool: &Pool, statement: SqlStr, mark: &[u8; 16]) -> Result<Self, sqlx::Error> {
        let dialect = pool.dialect();
        // There a savepoint outside of a transaction begins one, also after a statement that began none. So it follows the check of sqlx that
        // the statement began one; there is no round trip to save.
        if dialect.kind == Kind::Sqlite && guard("sqlite_begin_checked") {
            let mut transaction = Self::begin(pool, statement).await?;
            transaction.script(dialect.mark).await?;
            return Ok(transaction);
        }
        Self::begin(pool, marked(dialect, statement.as_str(), mark)).await
    }
}

impl<H: Held> Transaction<H> {
    /// Begins a transaction in a task that continues if the caller is dropped: the connection would have to be closed otherwise.
    async fn begin_detached(held: H, statement: SqlStr) -> Result<Self, sqlx::Error>
    where
        H: Send + 'static,
    {
        let begun = evenkeel_link::support::spawn(Self::begin_on(held, statement).in_current_span());
        // The task ends early only with its runtime.
        begun.await.unwrap_or(Err(sqlx::Error::WorkerCrashed))
    }

    /// Begins a transaction on a connection that the caller has taken from the pool. If the future is dropped, the connection is closed.
    pub(crate) async fn begin_on(held: H, statement: SqlStr) -> Result<Self, sqlx::Error> {
        let mut begun = Self { held, state: State::Unknown };
        begin(begun.held.connection_mut(), &mut begun.state, statement).await?;
        Ok(begun)
    }

    /// Whether a commit would commit this transaction, and not release a savepoint in it.
    ///
    /// # Errors
    /// [`SqlError::OpenSavepoint`], [`SqlError::Lost`].
    pub(crate) fn check(&self) -> Result<(), SqlError> {
        check(self.held.connection())
    }

    /// As [`PoolTransaction::commit`].
    pub(crate) async fn commit(mut self) -> Result<(), sqlx::Error> {
        commit(self.held.connection_mut(), &mut self.state).await
    }

    /// As [`PoolTransaction::rollback`].
    pub(crate) async fn rollback(mut self) -> Result<(), sqlx::Error> {
        roll_back(self.held.connection_mut(), &mut self.state).await
    }

    /// Closes the connection when this ends, instead of returning it to the pool, which then opens another one.
    pub(crate) fn close_at_end(&mut self) {
        self.held.close_on_drop();
    }
}

fn begin<'a>(connection: &'a mut Connection, state: &'a mut State, statement: SqlStr) -> Step<'a> {
    Box::pin(async move {
        // A transaction of an earlier borrower that sqlx still counts.
        leave(connection).await?;
        let prelude = connection.dialect().before_begin;
        let statement = if prelude.is_empty() || !guard("mysql_commit_ends") {
            statement
        } else {
            AssertSqlSafe(format!("{prelude}; {}", statement.as_str())).into_sql_str()
        };
        let answer = connection.begin(statement).await;
        if answer.is_err() && connection.dialect().kind == Kind::Sqlite {
            // The first of several statements may have begun a transaction that sqlx does not count.
            let _ = connection.script("ROLLBACK").await;
            *state = State::Over;
        }
        answer?;
        *state = State::Open;
        Ok(())
    })
}

fn check(connection: &Connection) -> Result<(), SqlError> {
    match connection.depth() {
        0 => Err(SqlError::Lost),
        1 => Ok(()),
        _ => Err(SqlError::OpenSavepoint),
    }
}

fn commit<'a>(connection: &'a mut Connection, state: &'a mut State) -> Step<'a> {
    Box::pin(async move {
        if check(connection).is_err() {
            roll_back(connection, state).await?;
            return Err(sqlx::Error::InvalidSavePointStatement);
        }
        *state = State::Unknown;
        let answer = connection.commit().await;
        // After a refusal sqlx still counts the transaction.
        let is_refused = matches!(answer, Err(sqlx::Error::Database(_)));
        if answer.is_ok() || (is_refused && leave(connection).await.is_ok()) {
            *state = State::Over;
        }
        answer
    })
}

fn roll_back<'a>(connection: &'a mut Connection, state: &'a mut State) -> Step<'a> {
    Box::pin(async move {
        *state = State::Unknown;
        leave(connection).await?;
        *state = State::Over;
        Ok(())
    })
}

/// Rolls back everything that sqlx counts.
async fn leave(connection: &mut Connection) -> Result<(), sqlx::Error> {
    while connection.depth() > 0 {
        let Err(error) = connection.rollback().await else { continue };
        if connection.dialect().kind != Kind::Sqlite {
            return Err(error);
        }
        // SQLite has no such transaction any more. sqlx counts down after a statement that succeeds.
        let again = match connection.depth() {
            0 | 1 => "BEGIN".to_owned(),
            depth => format!("SAVEPOINT _sqlx_savepoint_{}", depth - 1),
        };
        connection.send_text(again, &[]).await?;
        connection.rollback().await?;
    }
    Ok(())
}

/// Ends the transaction of a connection that is dropped. Returns whether the connection must be closed.
fn drop_in(connection: &mut Connection, state: State) -> bool {
    match (state, connection.dialect().kind) {
        (State::Over, _) => {}
        // The thread of the connection has the statement that was sent, and undoes a `BEGIN` or notes a `COMMIT` without a caller.
        (State::Unknown, Kind::Sqlite) => connection.start_rollback(),
        (State::Open, Kind::Sqlite) if connection.depth() == 1 => {
            // If SQLite has rolled back by itself, there is a transaction to roll back again; otherwise this fails without an effect.
            // The first poll hands the statement to the thread.
            let _ = connection.script("BEGIN").now_or_never();
            connection.start_rollback();
        }
        // The rollback is sent before the connection is used again.
        (State::Open, _) if connection.depth() == 1 => connection.start_rollback(),
        _ => return true,
    }
    false
}

impl<H: Held> Deref for Transaction<H> {
    type Target = Connection;
    fn deref(&self) -> &Connection {
        self.held.connection()
    }
}

impl<H: Held> DerefMut for Transaction<H> {
    fn deref_mut(&mut self) -> &mut Connection {
        self.held.connection_mut()
    }
}

impl<H: Held> Drop for Transaction<H> {
    fn drop(&mut self) {
        if drop_in(self.held.connection_mut(), self.state) {
            self.held.close_on_drop();
        }
    }
}

impl<DB: Database> PoolTransaction<DB> {
    /// Takes a connection from the pool and begins a transaction with `statement`, such as `BEGIN` or `BEGIN IMMEDIATE`.
    ///
    /// # Errors
    /// The error of the driver: no transaction was begun.
    pub async fn begin(pool: &sqlx::Pool<DB>, statement: impl SqlSafeStr) -> Result<Self, sqlx::Error> {
        let statement = statement.into_sql_str();
        Ok(Self(Transaction::begin_detached(Of(pool.acquire().await?, PhantomData), statement).await?))
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
        Ok(Self(Transaction::begin_on(Of(connection, PhantomData), statement.into_sql_str()).await?))
    }
}

impl<DB: Database, C: BorrowMut<PoolConnection<DB>>> PoolTransaction<DB, C> {
    /// Commits.
    ///
    /// # Errors
    /// `sqlx::Error::Database`: the database has replied that it did not commit. `sqlx::Error::InvalidSavePointStatement`: a nested
    /// transaction has not ended, and this one was rolled back. Any other error: the transaction may have been committed.
    pub async fn commit(self) -> Result<(), sqlx::Error> {
        self.0.commit().await
    }

    /// Rolls back.
    ///
    /// # Errors
    /// The database did not reply. The connection is closed then, at which the database rolls back.
    pub async fn rollback(self) -> Result<(), sqlx::Error> {
        self.0.rollback().await
    }
}

impl<DB: Database, C: BorrowMut<PoolConnection<DB>>> Deref for PoolTransaction<DB, C> {
    type Target = DB::Connection;
    fn deref(&self) -> &DB::Connection {
        let connection: &PoolConnection<DB> = self.0.held.0.borrow();
        connection
    }
}

impl<DB: Database, C: BorrowMut<PoolConnection<DB>>> DerefMut for PoolTransaction<DB, C> {
    fn deref_mut(&mut self) -> &mut DB::Connection {
        let connection: &mut PoolConnection<DB> = self.0.held.0.borrow_mut();
        connection
    }
}

impl<DB: Database, C: BorrowMut<PoolConnection<DB>>> fmt::Debug for PoolTransaction<DB, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolTransaction").field("state", &self.0.state).finish_non_exhaustive()
    }
}
