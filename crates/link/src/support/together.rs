//! Runs many futures concurrently in one task, so that their commands are sent in one write and no step waits for another.

use futures_util::future::join_all;
use std::future::Future;

/// Steps of a batch that run concurrently: enough to amortize a round trip, few enough to leave capacity for other callers.
/// A link may allow fewer ([`Link::together_max`](crate::Link::together_max)).
pub const TOGETHER_MAX: usize = 500;

/// How many steps of a batch run concurrently on a link with this limit of commands in flight: half of it, for the same reason.
pub(crate) fn together_max(in_flight_max: usize) -> usize {
    TOGETHER_MAX.min(in_flight_max.div_ceil(2))
}

/// Runs futures in this task, `together_max` at once; the results keep the order of the futures.
pub async fn in_groups<F: Future>(together_max: usize, mut futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut ended = Vec::with_capacity(futures.size_hint().0);
    loop {
        let group = join_all(futures.by_ref().take(together_max)).await;
        if group.is_empty() {
            return ended;
        }
        ended.extend(group);
    }
}
