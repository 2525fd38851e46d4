//! Read, decide, write if nobody wrote in between. Costs nothing while nobody disturbs, and an attempt each time somebody does.

use super::attempt::{Done, Stop};
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
    // Read outside: what a transaction would cost is only paid by those who get to write.
    let read = stocks::read::<DB>(&mut *reader(pools).await?, change.commodity).await;
    let stock = stocks::present(read.map_err(StoreError::from)?, change.commodity)?;
    if stock.is_split {
        return Err(Stop::IsSplit);
    }
    whole::decided(stock, tools, change)?;
    let mut transaction = pools.begin().await.map_err(Stop::of::<DB>)?;
    let Some(done) = whole::write::<DB>(&mut transaction, tools, stock, change, now_ms).await? else {
        return Err(Stop::stale());
    };
    transaction.commit().await.map_err(Stop::of_commit::<DB>)?;
    Ok(done)
}
