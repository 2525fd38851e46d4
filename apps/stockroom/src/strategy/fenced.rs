//! A lock outside of the database whose fence the database checks: `redis-lock`, `striped` and `redlock`.
//!
//! The lock keeps the queue in order and away from the database; the fence, stored by the first statement of the transaction,
//! keeps whoever was paused and lost the lock from overwriting what a later holder has built on.

use super::attempt::{ChangeError, Done, Stop};
use super::stalls::Stall;
use super::tools::Tools;
use super::whole;
use crate::domain::Change;
use crate::store::stocks;
use crate::store::words::{Pools, Words};
use evenkeel::lock::{Guard, LockBuilder};

pub(super) async fn once<DB: Words>(
    pools: &Pools<DB>,
    tools: &Tools,
    lock: LockBuilder,
    change: &Change,
    now_ms: i64,
) -> Result<Done, Stop> {
    let guard = lock.acquire().await.map_err(|error| Stop::Error(ChangeError::Lock(error)))?;
    tools.stalls.at(Stall::Acquired).await;
    let done = held(pools, tools, &guard, change, now_ms).await;
    // Given back at once, so that the next need not wait for the lease; if that fails, it ends with its lease.
    if let Err(error) = guard.release().await {
        tracing::debug!(%error, "a lock was not given back");
    }
    done
}

async fn held<DB: Words>(
    pools: &Pools<DB>,
    tools: &Tools,
    guard: &Guard,
    change: &Change,
    now_ms: i64,
) -> Result<Done, Stop> {
    let mut transaction = guard.begin(&pools.writer).await.map_err(Stop::of_fence)?;
    let connection = transaction.tx().map_err(Stop::of_fence)?;
    let read = stocks::read::<DB>(connection, change.commodity).await.map_err(Stop::of::<DB>)?;
    let stock = stocks::present(read, change.commodity)?;
    if stock.is_split {
        return Err(Stop::IsSplit);
    }
    let Some(done) = whole::write::<DB>(connection, tools, stock, change, now_ms).await? else {
        return Err(Stop::Interference);
    };
    transaction.commit().await.map_err(Stop::of_fence)?;
    Ok(done)
}
