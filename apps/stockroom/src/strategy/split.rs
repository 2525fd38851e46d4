//! Splitting a stock into segments, and joining it again: requests may choose strategies of both sorts for one product.

use super::attempt::Stop;
use super::tools::Tools;
use crate::store::ledger::{self, Movement, Reason};
use crate::store::segments::{self, Segment};
use crate::store::stocks::{self, Stock};
use crate::store::words::{Pools, Words};
use crate::store::{StoreError, reader};

/// Splits a stock evenly, goods and room. One that is split already stays as it is.
pub(super) async fn split<DB: Words>(
    pools: &Pools<DB>,
    tools: &Tools,
    commodity: i64,
    now_ms: i64,
) -> Result<(), Stop> {
    let of = Stop::of::<DB>;
    let mut transaction = pools.begin().await.map_err(of)?;
    let locked = stocks::lock::<DB>(&mut transaction, commodity).await.map_err(of)?;
    let stock = stocks::present(locked, commodity)?;
    if stock.is_split {
        return Ok(());
    }
    let mut closed = segments::lock_all::<DB>(&mut transaction, commodity).await.map_err(of)?;
    let emptied = Stock { quantity: 0, is_split: true, version: stock.version + 1 };
    write_whole::<DB>(&mut transaction, commodity, stock, emptied, "split", now_ms).await?;
    // A cap that was lowered leaves room for what is there already.
    let (goods, room) = (stock.quantity, tools.cap.max(stock.quantity));
    for slot in 1..=tools.segments {
        let before = closed.iter().position(|segment| segment.slot == slot).map(|at| closed.swap_remove(at));
        let version = before.map_or(0, |segment| segment.version) + 1;
        let share = |whole: i64| whole / tools.segments + i64::from(slot <= whole % tools.segments);
        let segment = Segment { slot, quantity: share(goods), room: share(room), version };
        write_segment::<DB>(&mut transaction, commodity, segment, segment.quantity, "split", now_ms).await?;
    }
    transaction.commit().await.map_err(Stop::of_commit::<DB>)
}

/// Makes a stock whole again. One that is whole already stays as it is; one that others are at is left to them.
pub(super) async fn join<DB: Words>(pools: &Pools<DB>, commodity: i64, now_ms: i64) -> Result<(), StoreError> {
    match join_once(pools, commodity, now_ms).await {
        Ok(()) | Err(Stop::Again(_) | Stop::Interference | Stop::IsSplit) => Ok(()),
        Err(Stop::Error(super::ChangeError::Store(error))) => Err(error),
        Err(Stop::Error(error)) => Err(StoreError::Corrupt(error.to_string())),
    }
}

/// Makes whole all stocks that were split for another cap: their segments have another room together.
pub(crate) async fn join_other_caps<DB: Words>(pools: &Pools<DB>, cap: i64, now_ms: i64) -> Result<(), StoreError> {
    for commodity in segments::split_otherwise::<DB>(&mut *reader(pools).await?, cap).await? {
        join(pools, commodity, now_ms).await?;
    }
    Ok(())
}

async fn join_once<DB: Words>(pools: &Pools<DB>, commodity: i64, now_ms: i64) -> Result<(), Stop> {
    let of = Stop::of::<DB>;
    let mut transaction = pools.begin().await.map_err(of)?;
    let locked = stocks::lock::<DB>(&mut transaction, commodity).await.map_err(of)?;
    let stock = stocks::present(locked, commodity)?;
    if !stock.is_split {
        return Ok(());
    }
    let mut quantity = stock.quantity;
    let all = segments::lock_all::<DB>(&mut transaction, commodity).await.map_err(of)?;
    for segment in all.into_iter().filter(|segment| segment.room > 0) {
        quantity += segment.quantity;
        let closed = Segment { quantity: 0, room: 0, version: segment.version + 1, ..segment };
        write_segment::<DB>(&mut transaction, commodity, closed, -segment.quantity, "join", now_ms).await?;
    }
    let joined = Stock { quantity, is_split: false, version: stock.version + 1 };
    write_whole::<DB>(&mut transaction, commodity, stock, joined, "join", now_ms).await?;
    transaction.commit().await.map_err(Stop::of_commit::<DB>)
}

async fn write_whole<DB: Words>(
    connection: &mut DB::Connection,
    commodity: i64,
    before: Stock,
    after: Stock,
    kind: &str,
    now_ms: i64,
) -> Result<(), Stop> {
    let of = Stop::of::<DB>;
    if !stocks::write::<DB>(connection, commodity, after, before.version).await.map_err(of)? {
        return Err(Stop::stale());
    }
    let delta = after.quantity - before.quantity;
    let movement = Movement { slot: 0, version: after.version, delta, quantity: after.quantity };
    ledger::note::<DB>(connection, commodity, movement, Reason { kind, reference: "" }, now_ms).await.map_err(of)
}

async fn write_segment<DB: Words>(
    connection: &mut DB::Connection,
    commodity: i64,
    segment: Segment,
    delta: i64,
    kind: &str,
    now_ms: i64,
) -> Result<(), Stop> {
    let of = Stop::of::<DB>;
    segments::write::<DB>(connection, commodity, segment).await.map_err(of)?;
    let Segment { slot, version, quantity, .. } = segment;
    let movement = Movement { slot, version, delta, quantity };
    ledger::note::<DB>(connection, commodity, movement, Reason { kind, reference: "" }, now_ms).await.map_err(of)
}
