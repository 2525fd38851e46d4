//! Exclusive locks that a database keeps instead of Redis: in rows with a lease, or its own advisory locks. Both are stores of locks
//! like Redis, so the guards, their renewal, the local queue and the reaper are the same.

mod advisory;
mod row_locks;
mod row_statements;
mod row_steps;

pub use advisory::{AdvisoryDatabase, AdvisoryGuard, AdvisoryLocks};
pub use row_locks::RowLocks;
pub use row_steps::RowLock;

use crate::sql::{Database, SqlError};
use evenkeel_link::clock::Clock;
use evenkeel_protocol::lock::error::LockError;
use std::future::Future;
use std::time::Duration;

/// A database that says nothing for so long is taken not to answer.
const STEP: Duration = Duration::from_secs(5);

/// Runs a step; whether one that takes too long happened is not known.
async fn bounded<DB: Database, T>(
    clock: &Clock,
    step: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, LockError> {
    match clock.timeout(STEP, step).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(LockError::from(SqlError::of::<DB>(error))),
        Err(_) => Err(LockError::from(SqlError::Busy("the database has not answered a lock's statement for 5 s"))),
    }
}
