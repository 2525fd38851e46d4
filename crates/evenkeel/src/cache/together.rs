//! Many steps at once in one task: their commands travel in one write, and nobody waits for one after another.

use std::future::{Future, poll_fn};
use std::task::Poll;

/// Runs futures at once in this task; the answers keep the order of the futures.
pub(crate) async fn together<F: Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
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
