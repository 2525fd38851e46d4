//! Lock the row in the database, read, decide, write. Everybody waits in the database, each with a connection of its own.

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
    let locked = stocks::lock::<DB>(&mut transaction, change.commodity).await.map_err(Stop::of::<DB>)?;
    let stock = stocks::present(locked, change.commodity)?;
    if stock.is_split {
        return Err(Stop::IsSplit);
    }
    let Some(done) = whole::write::<DB>(&mut transaction, tools, stock, change, now_ms).await? else {
        return Err(Stop::Interference);
    };
    transaction.commit().await.map_err(Stop::of_commit::<DB>)?;
    Ok(done)
}
