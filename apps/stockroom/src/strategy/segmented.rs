//! The stock is split over several rows, so that changes of one product need not wait for each other.
//!
//! Each segment has goods and room for goods; together they have no more room than the cap, so the rule holds in each by itself. A
//! change takes one segment at random. If that has too little, it takes what is missing from the others (it steals), with all of
//! them locked in one order.

use super::attempt::{Done, Stop};
use super::tools::Tools;
use super::{split, whole};
use crate::domain::{Change, RefusedChange};
use crate::store::ledger::Movement;
use crate::store::segments::{self, Segment};
use crate::store::words::{Pools, Words};
use rand::Rng;

pub(super) async fn once<DB: Words>(
    pools: &Pools<DB>,
    tools: &Tools,
    change: &Change,
    now_ms: i64,
) -> Result<Done, Stop> {
    let slot = rand::rng().random_range(1..=tools.segments);
    let mut transaction = pools.begin().await.map_err(Stop::of::<DB>)?;
    let taken = segments::change::<DB>(&mut transaction, change.commodity, slot, change.delta).await;
    let Some(segment) = taken.map_err(Stop::of::<DB>)? else {
        transaction.rollback().await.map_err(Stop::of::<DB>)?;
        return steal(pools, tools, change, now_ms).await;
    };
    moved::<DB>(&mut transaction, segment, change.delta, change, now_ms).await?;
    finish(transaction, change, now_ms).await
}

/// Takes it from several segments, those with the most first.
async fn steal<DB: Words>(pools: &Pools<DB>, tools: &Tools, change: &Change, now_ms: i64) -> Result<Done, Stop> {
    let mut transaction = pools.begin().await.map_err(Stop::of::<DB>)?;
    let all = segments::lock_all::<DB>(&mut transaction, change.commodity).await.map_err(Stop::of::<DB>)?;
    let open: Vec<Segment> = all.into_iter().filter(|segment| segment.room > 0).collect();
    if open.is_empty() {
        transaction.rollback().await.map_err(Stop::of::<DB>)?;
        split::split(pools, tools, change.commodity, now_ms).await?;
        return Err(Stop::stale());
    }
    for (segment, delta) in shares(&open, change)? {
        let after = Segment { quantity: segment.quantity + delta, version: segment.version + 1, ..segment };
        segments::write::<DB>(&mut transaction, change.commodity, after).await.map_err(Stop::of::<DB>)?;
        moved::<DB>(&mut transaction, after, delta, change, now_ms).await?;
    }
    finish(transaction, change, now_ms).await
}

/// How a change is shared out: which segments, and how many of each.
fn shares(open: &[Segment], change: &Change) -> Result<Vec<(Segment, i64)>, RefusedChange> {
    let (quantity, cap) =
        open.iter().fold((0, 0), |(quantity, cap), segment| (quantity + segment.quantity, cap + segment.room));
    change.of(quantity, cap)?;
    let is_arrival = change.delta > 0;
    let spare = |segment: &Segment| if is_arrival { segment.room - segment.quantity } else { segment.quantity };
    let mut fullest = open.to_vec();
    fullest.sort_by_key(|segment| std::cmp::Reverse(spare(segment)));
    let mut missing = change.delta.abs();
    let mut shares = Vec::new();
    for segment in fullest {
        let taken = spare(&segment).clamp(0, missing);
        if taken > 0 {
            missing -= taken;
            shares.push((segment, if is_arrival { taken } else { -taken }));
        }
    }
    Ok(shares)
}

async fn moved<DB: Words>(
    connection: &mut DB::Connection,
    after: Segment,
    delta: i64,
    change: &Change,
    now_ms: i64,
) -> Result<(), Stop> {
    let movement = Movement { slot: after.slot, version: after.version, delta, quantity: after.quantity };
    whole::note_movement::<DB>(connection, movement, change, now_ms).await.map_err(Stop::of::<DB>)
}

async fn finish<DB: Words>(
    mut transaction: sqlx::Transaction<'static, DB>,
    change: &Change,
    now_ms: i64,
) -> Result<Done, Stop> {
    let quantity = segments::total::<DB>(&mut transaction, change.commodity).await.map_err(Stop::of::<DB>)?;
    let noted = whole::cause::<DB>(&mut transaction, change, now_ms).await?;
    transaction.commit().await.map_err(Stop::of_commit::<DB>)?;
    Ok(Done { quantity, noted })
}

#[cfg(test)]
mod tests {
    use super::shares;
    use crate::domain::{Cause, Change, RefusedChange};
    use crate::store::segments::Segment;

    fn shared(delta: i64) -> Result<Vec<(i64, i64)>, RefusedChange> {
        let segment = |slot, quantity| Segment { slot, quantity, room: 10, version: 1 };
        let open = [segment(1, 2), segment(2, 9), segment(3, 0)];
        let change = Change { commodity: 1, delta, cause: Cause::Reserve(String::new()) };
        let shares = shares(&open, &change)?;
        Ok(shares.into_iter().map(|(segment, delta)| (segment.slot, delta)).collect())
    }

    #[test]
    fn those_with_the_most_are_taken_from_first() {
        assert_eq!(shared(-9), Ok(vec![(2, -9)]));
        assert_eq!(shared(-10), Ok(vec![(2, -9), (1, -1)]));
        assert_eq!(shared(-11), Ok(vec![(2, -9), (1, -2)]));
        assert_eq!(shared(-12), Err(RefusedChange::Insufficient { quantity: 11 }));
        assert_eq!(shared(12), Ok(vec![(3, 10), (1, 2)]));
        assert_eq!(shared(19), Ok(vec![(3, 10), (1, 8), (2, 1)]));
        assert_eq!(shared(20), Err(RefusedChange::CapExceeded { quantity: 11, cap: 30 }));
    }
}
