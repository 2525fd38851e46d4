//! A demonstration of what goes wrong: a lock that everybody trusts and whose fence nobody checks.
//!
//! It reads outside of a transaction and writes what it worked out, as programs do that were told that a distributed lock is
//! enough. As soon as a holder is paused for longer than its lease, somebody else's change is overwritten.

use super::attempt::{ChangeError, Done, Stop};
use super::stalls::Stall;
use super::tools::Tools;
use super::whole;
use crate::domain::Change;
use crate::store::words::{Pools, Words};
use crate::store::{StoreError, reader, stocks};

pub(super) async fn once<DB: Words>(
    pools: &Pools<DB>,
    tools: &Tools,
    change: &Change,
    now_ms: i64,
) -> Result<Done, Stop> {
    let lock = tools.unfenced(change.commodity);
    let guard = lock.acquire().await.map_err(|error| Stop::Error(ChangeError::Lock(error)))?;
    let read = stocks::read::<DB>(&mut *reader(pools).await?, change.commodity).await;
    let stock = stocks::present(read.map_err(StoreError::from)?, change.commodity)?;
    if stock.is_split {
        return Err(Stop::IsSplit);
    }
    let after = whole::decided(stock, tools, change)?;
    tools.stalls.at(Stall::Read).await;
    let mut transaction = pools.begin().await.map_err(Stop::of::<DB>)?;
    stocks::overwrite::<DB>(&mut transaction, change.commodity, after).await.map_err(Stop::of::<DB>)?;
    let done = whole::note::<DB>(&mut transaction, after, change, now_ms).await?;
    transaction.commit().await.map_err(Stop::of_commit::<DB>)?;
    drop(guard);
    Ok(done)
}
