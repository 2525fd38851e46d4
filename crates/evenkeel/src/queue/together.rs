//! Several futures at once, in one task.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

/// Waits for all of them; their outputs in the order of the futures.
pub(super) async fn together<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut all: Vec<(Pin<Box<F>>, Option<F::Output>)> =
        futures.into_iter().map(|future| (Box::pin(future), None)).collect();
    poll_fn(|context| {
        let mut is_ready = true;
        for (future, output) in all.iter_mut().filter(|(_, output)| output.is_none()) {
            match future.as_mut().poll(context) {
                Poll::Ready(ready) => *output = Some(ready),
                Poll::Pending => is_ready = false,
            }
        }
        if is_ready { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    all.into_iter().filter_map(|(_, output)| output).collect()
}
