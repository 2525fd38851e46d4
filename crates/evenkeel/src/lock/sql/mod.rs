//! Exclusive locks in a database instead of Redis: rows with a lease, or advisory locks. Both implement the steps of a lock store like
//! Redis, so guards, renewal, local queue and reaper are the same.

mod advisory;
mod row_locks;
mod row_statements;
#[cfg_attr(not(feature = "testing"), expect(unreachable_pub, reason = "`testing` has it"))]
mod row_steps;

pub use advisory::{AdvisoryDatabase, AdvisoryGuard, AdvisoryLocks};
pub use row_locks::RowLocks;
#[cfg(feature = "testing")]
pub use row_steps::RowLock;

use crate::sql::SqlError;
use evenkeel_link::clock::Clock;
use evenkeel_protocol::lock::error::LockError;
use std::future::Future;
use std::time::Duration;

/// The deadline of a statement.
const STEP: Duration = Duration::from_secs(5);

/// Runs a step with a deadline, after which its outcome is unknown.
async fn bounded<T>(clock: &Clock, step: impl Future<Output = Result<T, sqlx::Error>>) -> Result<T, LockError> {
    match clock.timeout(STEP, step).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(LockError::from(SqlError::from(error))),
        Err(_) => Err(LockError::from(SqlError::Busy("the database did not answer a lock's statement within 5 s"))),
    }
}
