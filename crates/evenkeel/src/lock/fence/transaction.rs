//! [`FencedTransaction`]: a transaction that begins with the fence.

use super::error::FenceError;
use super::rows;
use crate::lock::hold::lease::Lease;
use crate::sql::{Database, Kind, Row, SqlError, Statement, Value};
use evenkeel_link::support::guard;
use evenkeel_protocol::lock::steps::Fence;
use sqlx::{Pool, Transaction};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;

/// A transaction whose first statement stored the fence of a guard; made by [`Guard::begin`](crate::lock::Guard::begin). Dropped,
/// it is rolled back.
#[must_use = "a transaction that is dropped is rolled back"]
pub struct FencedTransaction<DB: Database> {
    /// Nothing once it is over.
    transaction: Option<Transaction<'static, DB>>,
    fence: Fence,
}

impl<DB: Database> FencedTransaction<DB> {
    /// The connection in its transaction: what a statement is executed on. Do not end the transaction through it.
    ///
    /// # Errors
    /// None in practice: [`SqlError::Lost`] if the transaction were over.
    pub fn tx(&mut self) -> Result<&mut DB::Connection, FenceError> {
        self.transaction.as_deref_mut().ok_or(FenceError::Sql(SqlError::Lost))
    }

    /// The fence it stored.
    #[must_use]
    pub fn fence(&self) -> Fence {
        self.fence
    }

    /// Commits.
    ///
    /// # Errors
    /// [`FenceError::Sql`]: it was not committed, do the work again if it is retryable. [`FenceError::CommitUnknown`]: nobody said.
    pub async fn commit(mut self) -> Result<(), FenceError> {
        self.ended().await?.commit().await.map_err(|error| match error {
            error @ sqlx::Error::Database(_) => FenceError::Sql(SqlError::of::<DB>(error)),
            error => FenceError::CommitUnknown(Arc::new(error)),
        })
    }

    /// Rolls back. (Dropping it does the same, later.)
    ///
    /// # Errors
    /// [`FenceError::Sql`] if the database did not answer; it rolls back all the same when it notices that nobody is there.
    pub async fn rollback(mut self) -> Result<(), FenceError> {
        Ok(self.ended().await?.rollback().await.map_err(SqlError::of::<DB>)?)
    }

    /// The transaction without its limit: only this one is to end when nothing happens, not the connection in its pool.
    async fn ended(&mut self) -> Result<Transaction<'static, DB>, FenceError> {
        if DB::KIND == Kind::MySql {
            DB::script(self.tx()?, DEFAULT_MYSQL).await.map_err(SqlError::of::<DB>)?;
        }
        self.transaction.take().ok_or(FenceError::Sql(SqlError::Lost))
    }
}

impl<DB: Database> Drop for FencedTransaction<DB> {
    fn drop(&mut self) {
        // Without a runtime the pool cannot take its connection back either.
        if let Some(mut transaction) = self.transaction.take()
            && DB::KIND == Kind::MySql
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn(async move {
                if let Err(error) = DB::script(&mut transaction, DEFAULT_MYSQL).await {
                    tracing::debug!(%error, "a limit of idle time was not put back");
                }
                drop(transaction);
            });
        }
    }
}

impl<DB: Database> fmt::Debug for FencedTransaction<DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FencedTransaction").field("fence", &self.fence).finish_non_exhaustive()
    }
}

/// No holder stands still in its transaction for longer, however long its lease is.
const IDLE_MAX: Duration = Duration::from_secs(86_400);

const DEFAULT_MYSQL: &str = "SET SESSION wait_timeout = DEFAULT";
static IDLE_POSTGRES: Statement = Statement::new("SELECT set_config('idle_in_transaction_session_timeout', ?, true)");

/// Opens the transaction; nothing if the row is not there or refuses the fence.
pub(super) async fn open<DB: Database>(
    pool: &Pool<DB>,
    lease: &Lease,
    fence: Fence,
) -> Result<Option<FencedTransaction<DB>>, FenceError> {
    let of = SqlError::of::<DB>;
    let mut transaction = pool.begin_with(DB::BEGIN).await.map_err(of)?;
    // First: whatever is read before could be older than what the last holder has written.
    if guard("lock_fence_first") && !rows::store::<DB>(&mut transaction, &lease.held.name, lease.signer, fence).await? {
        transaction.rollback().await.map_err(of)?;
        return Ok(None);
    }
    let mut fenced = FencedTransaction { transaction: Some(transaction), fence };
    end_when_idle::<DB>(fenced.tx()?, lease.length).await.map_err(of)?;
    Ok(Some(fenced))
}

/// A process that stands still in the transaction must not keep the row for much longer than its lease.
async fn end_when_idle<DB: Database>(connection: &mut DB::Connection, lease: Duration) -> Result<(), sqlx::Error> {
    if !guard("lock_idle_timeout") {
        return Ok(());
    }
    match DB::KIND {
        Kind::MySql => end_when_quiet::<DB>(connection, lease).await,
        Kind::Postgres => {
            // PostgreSQL takes no more than 24 days, MySQL is told a day at most.
            let longest = if guard("lock_idle_timeout_bounded") { IDLE_MAX } else { Duration::MAX };
            let ms = lease.min(longest).as_millis().max(1).to_string();
            Row::<DB>::all(connection, &IDLE_POSTGRES, &[Value::Text(&ms)]).await.map(drop)
        }
        // Whoever stands still keeps the file locked, for all programs: there is no server to end it.
        Kind::Sqlite => Ok(()),
    }
}

/// MySQL and MariaDB end this connection when nothing is sent for `span`, or a little longer.
pub(in crate::lock) async fn end_when_quiet<DB: Database>(
    connection: &mut DB::Connection,
    span: Duration,
) -> Result<(), sqlx::Error> {
    let seconds = span.as_secs_f64().ceil();
    let (_, text) = WAIT_TIMEOUTS.iter().find(|(at_least, _)| *at_least >= seconds).unwrap_or(&LONGEST);
    DB::script(connection, text).await
}

/// MySQL takes no parameter here; seconds, and the statement that sets them.
const WAIT_TIMEOUTS: [(f64, &str); 9] = [
    (1.0, "SET SESSION wait_timeout = 1"),
    (2.0, "SET SESSION wait_timeout = 2"),
    (5.0, "SET SESSION wait_timeout = 5"),
    (10.0, "SET SESSION wait_timeout = 10"),
    (30.0, "SET SESSION wait_timeout = 30"),
    (60.0, "SET SESSION wait_timeout = 60"),
    (300.0, "SET SESSION wait_timeout = 300"),
    (900.0, "SET SESSION wait_timeout = 900"),
    (3_600.0, "SET SESSION wait_timeout = 3600"),
];
const LONGEST: (f64, &str) = (86_400.0, "SET SESSION wait_timeout = 86400");
