//! Runs many futures concurrently in one task, so that their commands are sent in one write and no step waits for another.

use futures_util::future::join_all;
use std::future::Future;

/// Steps of a batch that run concurrently: enough to amortize a round trip, few enough to leave capacity for other callers.
pub const TOGETHER_MAX: usize = 500;

/// Runs futures in this task, [`TOGETHER_MAX`] at once; the results keep the order of the futures.
pub async fn in_groups<F: Future>(mut futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut ended = Vec::with_capacity(futures.size_hint().0);
    loop {
        let group = join_all(futures.by_ref().take(TOGETHER_MAX)).await;
        if group.is_empty() {
            return ended;
        }
        ended.extend(group);
    }
}
