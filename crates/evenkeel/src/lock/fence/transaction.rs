//! [`FencedTransaction`]: a transaction that begins by storing the fence.

use super::error::FenceError;
use super::rows;
use crate::lock::hold::lease::Lease;
use crate::sql::database::{Connection, Database, Kind, Pool, Row, Statement, Value, typed};
use crate::sql::{SettingTransaction, SqlError};
use evenkeel_link::support::guard;
use evenkeel_protocol::lock::steps::Fence;
use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

/// A transaction whose first statement has stored the fence of a guard; created by [`Guard::begin`](crate::lock::Guard::begin). Dropping
/// it rolls it back.
#[must_use = "a transaction that is dropped is rolled back"]
pub struct FencedTransaction<DB> {
    transaction: SettingTransaction,
    fence: Fence,
    database: PhantomData<fn() -> DB>,
}

impl<DB: Database> FencedTransaction<DB> {
    /// The connection of the transaction, for executing statements. Do not end the transaction through it.
    ///
    /// # Errors
    /// [`SqlError::Lost`] if the transaction has ended, which does not happen in practice.
    pub fn tx(&mut self) -> Result<&mut DB::Connection, FenceError> {
        Ok(self.transaction.tx().map(typed::<DB>)?)
    }
}

impl<DB> FencedTransaction<DB> {
    pub(super) fn new((transaction, fence): (SettingTransaction, Fence)) -> Self {
        Self { transaction, fence, database: PhantomData }
    }

    /// The stored fence.
    #[must_use]
    pub fn fence(&self) -> Fence {
        self.fence
    }

    /// Commits.
    ///
    /// # Errors
    /// [`FenceError::Sql`]: the transaction was not committed; repeat the work if the error is retryable. [`FenceError::CommitUnknown`]:
    /// the outcome is unknown.
    pub async fn commit(self) -> Result<(), FenceError> {
        commit(self.transaction).await
    }

    /// Rolls back. (Dropping the transaction does the same, later.)
    ///
    /// # Errors
    /// [`FenceError::Sql`] if the database did not answer; it rolls back when it detects the closed connection.
    pub async fn rollback(self) -> Result<(), FenceError> {
        Ok(self.transaction.rollback().await?)
    }
}

impl<DB> fmt::Debug for FencedTransaction<DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FencedTransaction").field("fence", &self.fence).finish_non_exhaustive()
    }
}

/// As [`FencedTransaction::commit`].
pub(super) async fn commit(transaction: SettingTransaction) -> Result<(), FenceError> {
    transaction.commit().await.map_err(|error| match error {
        SqlError::CommitUnknown(error) => FenceError::CommitUnknown(error),
        error => FenceError::Sql(error),
    })
}

/// The longest idle timeout of a transaction, for any lease.
const IDLE_MAX: Duration = Duration::from_secs(86_400);

const DEFAULT_MYSQL: &str = "SET SESSION wait_timeout = DEFAULT";
static IDLE_POSTGRES: Statement = Statement::new("SELECT set_config('idle_in_transaction_session_timeout', ?, true)");

/// Opens the transaction; `None` if the row does not exist or rejects the fence.
pub(super) async fn open(pool: &Pool, lease: &Lease, fence: Fence) -> Result<Option<SettingTransaction>, FenceError> {
    let reset = (pool.dialect().kind == Kind::MySql).then_some(DEFAULT_MYSQL);
    let mut transaction = SettingTransaction::begin(pool, reset).await.map_err(SqlError::from)?;
    // The first statement: an earlier read could miss the writes of the last holder.
    let is_stored =
        !guard("lock_fence_first") || rows::store(transaction.tx()?, &lease.held.name, lease.signer, fence).await?;
    if !is_stored {
        transaction.rollback().await?;
        return Ok(None);
    }
    end_when_idle(transaction.tx()?, lease.length).await.map_err(SqlError::from)?;
    Ok(Some(transaction))
}

/// Sets an idle timeout, so that a paused process does not keep the row locked for much longer than its lease.
async fn end_when_idle(connection: &mut Connection, lease: Duration) -> Result<(), sqlx::Error> {
    if !guard("lock_idle_timeout") {
        return Ok(());
    }
    match connection.dialect().kind {
        Kind::MySql => end_when_quiet(connection, lease).await,
        Kind::Postgres => {
            // PostgreSQL accepts at most 24 days; both databases get a day at most.
            let longest = if guard("lock_idle_timeout_bounded") { IDLE_MAX } else { Duration::MAX };
            let ms = lease.min(longest).as_millis().max(1).to_string();
            Row::all(connection, &IDLE_POSTGRES, &[Value::Text(&ms)]).await.map(drop)
        }
        // SQLite has no server that could end an idle transaction, which keeps the file locked.
        Kind::Sqlite => Ok(()),
    }
}

/// Makes MySQL and MariaDB close this connection when it is idle for `span`, or a little longer.
pub(in crate::lock) async fn end_when_quiet(connection: &mut Connection, span: Duration) -> Result<(), sqlx::Error> {
    let seconds = WAIT_TIMEOUTS.into_iter().find(|seconds| Duration::from_secs(*seconds) >= span);
    let text = format!("SET SESSION wait_timeout = {}", seconds.unwrap_or(LONGEST));
    connection.send_text(text, &[]).await.map(drop)
}

/// In seconds. MySQL accepts no parameter here, so there are few different statements.
const WAIT_TIMEOUTS: [u64; 9] = [1, 2, 5, 10, 30, 60, 300, 900, 3_600];
const LONGEST: u64 = 86_400;
