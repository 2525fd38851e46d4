//! `redis-lock`, `striped` and `redlock`: a lock outside of the database with a fencing token that the database checks.
//!
//! The lock keeps waiters out of the database. The fencing token, stored by the first statement of the transaction, rejects a holder
//! that was paused and lost the lock, so that it cannot overwrite the changes of a later holder.

use super::attempt::Attempt;
use super::pauses::PausePoint;
use super::retry::{AttemptError, ChangeError, Committed};
use crate::store::database::Dialect;
use crate::store::tables::stocks;
use evenkeel::lock::{Guard, LockBuilder};

pub(super) async fn attempt<DB: Dialect>(of: &Attempt<'_, DB>, lock: LockBuilder) -> Result<Committed, AttemptError> {
    let guard = lock.acquire().await.map_err(|error| AttemptError::Final(ChangeError::Lock(error)))?;
    of.context.pauses.at(PausePoint::LockAcquired).await;
    let result = under_lock(of, &guard).await;
    // If the release fails, the lock expires with its lease.
    if let Err(error) = guard.release().await {
        tracing::debug!(%error, "a lock was not released");
    }
    result
}

async fn under_lock<DB: Dialect>(of: &Attempt<'_, DB>, guard: &Guard) -> Result<Committed, AttemptError> {
    let mut transaction = guard.begin(&of.pools.writer).await?;
    let connection = transaction.tx()?;
    let read = stocks::read::<DB>(connection, of.change.commodity).await?;
    let stock = of.single_row(read)?;
    let Some(committed) = of.write(connection, stock).await? else {
        return Err(AttemptError::Interference);
    };
    transaction.commit().await?;
    Ok(committed)
}
