//! Splits a stock into segments and joins it again, so that requests may use `segmented` and other strategies for the same product.

use super::context::StrategyContext;
use super::retry::AttemptError;
use crate::store::database::{Dialect, Pools};
use crate::store::tables::ledger::{self, Movement, Reason};
use crate::store::tables::segments::{self, Segment};
use crate::store::tables::stocks::{self, Stock};
use crate::store::{StoreError, reader};

/// Splits a stock evenly, quantity and limit. Does nothing if it is already split.
pub(super) async fn split<DB: Dialect>(
    pools: &Pools<DB>,
    context: &StrategyContext,
    commodity: i64,
    now_ms: i64,
) -> Result<(), AttemptError> {
    let mut transaction = pools.begin().await?;
    let locked = stocks::lock::<DB>(&mut transaction, commodity).await?;
    let stock = stocks::present(locked, commodity)?;
    if stock.is_split {
        return Ok(());
    }
    let mut closed = segments::lock_all::<DB>(&mut transaction, commodity).await?;
    let emptied = Stock { quantity: 0, is_split: true, version: stock.version + 1 };
    write_stock::<DB>(&mut transaction, commodity, stock, emptied, "split", now_ms).await?;
    // Above a lowered cap, the limit is the current quantity.
    let (quantity, room) = (stock.quantity, context.cap.max(stock.quantity));
    for slot in 1..=context.segments {
        let before = closed.iter().position(|segment| segment.slot == slot).map(|at| closed.swap_remove(at));
        let version = before.map_or(0, |segment| segment.version) + 1;
        let share = |whole: i64| whole / context.segments + i64::from(slot <= whole % context.segments);
        let segment = Segment { slot, quantity: share(quantity), room: share(room), version };
        write_segment::<DB>(&mut transaction, commodity, segment, segment.quantity, "split", now_ms).await?;
    }
    transaction.commit().await.map_err(AttemptError::of_commit)
}

/// Joins a stock. Does nothing if it is not split, or if another transaction is changing it.
pub(super) async fn join<DB: Dialect>(pools: &Pools<DB>, commodity: i64, now_ms: i64) -> Result<(), StoreError> {
    match join_once(pools, commodity, now_ms).await {
        Ok(()) | Err(AttemptError::Conflict(_) | AttemptError::Interference | AttemptError::IsSplit) => Ok(()),
        Err(AttemptError::Final(super::ChangeError::Store(error))) => Err(error),
        Err(AttemptError::Final(error)) => Err(StoreError::Corrupt(error.to_string())),
    }
}

/// Joins all stocks that were split for another cap.
pub(crate) async fn join_other_caps<DB: Dialect>(pools: &Pools<DB>, cap: i64, now_ms: i64) -> Result<(), StoreError> {
    for commodity in segments::split_for_other_cap::<DB>(&mut *reader(pools).await?, cap).await? {
        join(pools, commodity, now_ms).await?;
    }
    Ok(())
}

async fn join_once<DB: Dialect>(pools: &Pools<DB>, commodity: i64, now_ms: i64) -> Result<(), AttemptError> {
    let mut transaction = pools.begin().await?;
    let locked = stocks::lock::<DB>(&mut transaction, commodity).await?;
    let stock = stocks::present(locked, commodity)?;
    if !stock.is_split {
        return Ok(());
    }
    let mut quantity = stock.quantity;
    let all = segments::lock_all::<DB>(&mut transaction, commodity).await?;
    for segment in all.into_iter().filter(|segment| segment.room > 0) {
        quantity += segment.quantity;
        let closed = Segment { quantity: 0, room: 0, version: segment.version + 1, ..segment };
        write_segment::<DB>(&mut transaction, commodity, closed, -segment.quantity, "join", now_ms).await?;
    }
    let joined = Stock { quantity, is_split: false, version: stock.version + 1 };
    write_stock::<DB>(&mut transaction, commodity, stock, joined, "join", now_ms).await?;
    transaction.commit().await.map_err(AttemptError::of_commit)
}

async fn write_stock<DB: Dialect>(
    connection: &mut DB::Connection,
    commodity: i64,
    before: Stock,
    after: Stock,
    kind: &str,
    now_ms: i64,
) -> Result<(), AttemptError> {
    if !stocks::write::<DB>(connection, commodity, after, before.version).await? {
        return Err(AttemptError::stale());
    }
    let delta = after.quantity - before.quantity;
    let movement = Movement { slot: 0, version: after.version, delta, quantity: after.quantity };
    ledger::record_movement::<DB>(connection, commodity, movement, Reason { kind, reference: "" }, now_ms).await?;
    Ok(())
}

async fn write_segment<DB: Dialect>(
    connection: &mut DB::Connection,
    commodity: i64,
    segment: Segment,
    delta: i64,
    kind: &str,
    now_ms: i64,
) -> Result<(), AttemptError> {
    segments::write::<DB>(connection, commodity, segment).await?;
    let Segment { slot, version, quantity, .. } = segment;
    let movement = Movement { slot, version, delta, quantity };
    ledger::record_movement::<DB>(connection, commodity, movement, Reason { kind, reference: "" }, now_ms).await?;
    Ok(())
}
