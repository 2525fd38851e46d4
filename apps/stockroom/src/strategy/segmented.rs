//! `segmented`: the stock is split over several rows, so that changes of one product do not wait for each other.
//!
//! Each segment has a quantity and a limit, and the limits add up to the cap, so the rule holds if it holds in each segment. A change
//! takes a random segment. If that is not sufficient, it locks all segments in one order and takes from several.

use super::attempt::Attempt;
use super::retry::{AttemptError, Committed};
use super::split;
use crate::domain::{ChangeRejected, StockChange};
use crate::store::database::Dialect;
use crate::store::tables::ledger::Movement;
use crate::store::tables::segments::{self, Segment};
use evenkeel::sql::PoolTransaction;
use rand::Rng;

pub(super) async fn attempt<DB: Dialect>(of: &Attempt<'_, DB>) -> Result<Committed, AttemptError> {
    let slot = rand::rng().random_range(1..=of.context.segments);
    let mut transaction = of.pools.begin().await?;
    let changed = segments::change::<DB>(&mut transaction, of.change.commodity, slot, of.change.delta).await?;
    let Some(segment) = changed else {
        transaction.rollback().await?;
        return change_several(of).await;
    };
    of.record_movement(&mut transaction, movement(segment, of.change.delta)).await?;
    commit(of, transaction).await
}

/// Takes from several segments, the fullest first.
async fn change_several<DB: Dialect>(of: &Attempt<'_, DB>) -> Result<Committed, AttemptError> {
    let mut transaction = of.pools.begin().await?;
    let all = segments::lock_all::<DB>(&mut transaction, of.change.commodity).await?;
    let open: Vec<Segment> = all.into_iter().filter(|segment| segment.room > 0).collect();
    if open.is_empty() {
        transaction.rollback().await?;
        split::split(of.pools, of.context, of.change.commodity, of.now_ms).await?;
        return Err(AttemptError::stale());
    }
    for (segment, delta) in shares(&open, of.change)? {
        let after = Segment { quantity: segment.quantity + delta, version: segment.version + 1, ..segment };
        segments::write::<DB>(&mut transaction, of.change.commodity, after).await?;
        of.record_movement(&mut transaction, movement(after, delta)).await?;
    }
    commit(of, transaction).await
}

/// The segments to change, and by how much.
fn shares(open: &[Segment], change: &StockChange) -> Result<Vec<(Segment, i64)>, ChangeRejected> {
    let (quantity, cap) =
        open.iter().fold((0, 0), |(quantity, cap), segment| (quantity + segment.quantity, cap + segment.room));
    change.apply(quantity, cap)?;
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

/// The movement of `delta` to `after`.
fn movement(after: Segment, delta: i64) -> Movement {
    Movement { slot: after.slot, version: after.version, delta, quantity: after.quantity }
}

async fn commit<DB: Dialect>(
    of: &Attempt<'_, DB>,
    mut transaction: PoolTransaction<DB>,
) -> Result<Committed, AttemptError> {
    let quantity = segments::total::<DB>(&mut transaction, of.change.commodity).await?;
    let cause = of.record_cause(&mut transaction).await?;
    transaction.commit().await.map_err(AttemptError::of_commit)?;
    Ok(Committed { quantity, cause })
}

#[cfg(test)]
mod tests {
    use super::shares;
    use crate::domain::{Cause, ChangeRejected, StockChange};
    use crate::store::tables::segments::Segment;

    fn planned(delta: i64) -> Result<Vec<(i64, i64)>, ChangeRejected> {
        let segment = |slot, quantity| Segment { slot, quantity, room: 10, version: 1 };
        let open = [segment(1, 2), segment(2, 9), segment(3, 0)];
        let change = StockChange { commodity: 1, delta, cause: Cause::Release(String::new()) };
        let shares = shares(&open, &change)?;
        Ok(shares.into_iter().map(|(segment, delta)| (segment.slot, delta)).collect())
    }

    #[test]
    fn fullest_segments_are_changed_first() {
        assert_eq!(planned(-9), Ok(vec![(2, -9)]));
        assert_eq!(planned(-10), Ok(vec![(2, -9), (1, -1)]));
        assert_eq!(planned(-11), Ok(vec![(2, -9), (1, -2)]));
        assert_eq!(planned(-12), Err(ChangeRejected::Insufficient { quantity: 11 }));
        assert_eq!(planned(12), Ok(vec![(3, 10), (1, 2)]));
        assert_eq!(planned(19), Ok(vec![(3, 10), (1, 8), (2, 1)]));
        assert_eq!(planned(20), Err(ChangeRejected::CapExceeded { quantity: 11, cap: 30 }));
    }
}
