//! One statement that changes the row only where the rule holds. The database does the arithmetic, so nothing that was read can be
//! out of date; it only works where the rule can be said in one statement.

use super::attempt::{Done, Stop};
use super::tools::Tools;
use super::whole;
use crate::domain::Change;
use crate::store::stocks;
use crate::store::words::{Pools, Words};

pub(super) async fn once<DB: Words>(
    pools: &Pools<DB>,
    tools: &Tools,
    change: &Change,
    now_ms: i64,
) -> Result<Done, Stop> {
    let mut transaction = pools.begin().await.map_err(Stop::of::<DB>)?;
    let is_changed = stocks::change::<DB>(&mut transaction, change, tools.cap).await.map_err(Stop::of::<DB>)?;
    let read = stocks::read::<DB>(&mut transaction, change.commodity).await.map_err(Stop::of::<DB>)?;
    let stock = stocks::present(read, change.commodity)?;
    if !is_changed {
        if stock.is_split {
            return Err(Stop::IsSplit);
        }
        whole::decided(stock, tools, change)?;
        // It would have done by now.
        return Err(Stop::stale());
    }
    let done = whole::note::<DB>(&mut transaction, stock, change, now_ms).await?;
    transaction.commit().await.map_err(Stop::of_commit::<DB>)?;
    Ok(done)
}
