//! Runs many futures concurrently in one task, so that their commands are sent in one write and no step waits for another.

use std::future::{Future, poll_fn};
use std::task::Poll;

/// Steps of a batch that run concurrently: enough to amortize a round trip, few enough to leave capacity for other callers.
pub const TOGETHER_MAX: usize = 500;

/// Runs futures in this task, [`TOGETHER_MAX`] at once; the results keep the order of the futures.
pub async fn in_groups<F: Future>(mut futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut ended = Vec::with_capacity(futures.size_hint().0);
    loop {
        let group = together(futures.by_ref().take(TOGETHER_MAX)).await;
        if group.is_empty() {
            return ended;
        }
        ended.extend(group);
    }
}

/// Runs futures at once in this task; the results keep the order of the futures.
pub async fn together<F: Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut running: Vec<_> = futures.map(Box::pin).collect();
    let mut ended: Vec<Option<F::Output>> = running.iter().map(|_| None).collect();
    poll_fn(move |context| {
        for (future, ended) in running.iter_mut().zip(&mut ended) {
            if ended.is_none()
                && let Poll::Ready(output) = future.as_mut().poll(context)
            {
                *ended = Some(output);
            }
        }
        if ended.iter().all(Option::is_some) {
            return Poll::Ready(ended.iter_mut().filter_map(Option::take).collect());
        }
        Poll::Pending
    })
    .await
}
