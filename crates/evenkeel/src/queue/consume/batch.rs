//! [`Batch`]: several deliveries in the hands of one handler.

use super::consumer::{Consumer, HandleBatch, Work};
use super::delivery::Delivery;
use super::handled::Handled;
use crate::queue::queue::Queue;
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

/// How long the first delivery of a batch waits for others, unless said otherwise.
const FILL: Duration = Duration::from_millis(10);

/// Several deliveries in the hands of one handler: each keeps its own lease, fence, attempt and cancellation.
///
/// A delivery that is lost meanwhile has its own [`cancellation`](Delivery::cancellation) fired, and what is answered for it does
/// not count; the handler's future is dropped once all of them are lost.
#[derive(Debug)]
pub struct Batch<T> {
    /// At least one, at most as many as [`Queue::consume_batch`] was told.
    pub deliveries: Vec<Delivery<T>>,
}

/// What a batch handler answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BatchHandled<E> {
    /// The same for all.
    All(Handled),
    /// One for each delivery, in the order of the batch. A delivery without an answer is tried again, as after an error.
    Each(Vec<Result<Handled, E>>),
}

impl<E> From<()> for BatchHandled<E> {
    fn from((): ()) -> Self {
        Self::All(Handled::Done)
    }
}

impl<E> From<Handled> for BatchHandled<E> {
    fn from(handled: Handled) -> Self {
        Self::All(handled)
    }
}

impl<E> From<Vec<Result<Handled, E>>> for BatchHandled<E> {
    fn from(each: Vec<Result<Handled, E>>) -> Self {
        Self::Each(each)
    }
}

impl<T: Send + Sync + 'static> Queue<T> {
    /// Begins a consumer whose handler gets up to `size` deliveries at once, of all shards: for work that costs as much for a
    /// hundred as for one. A batch starts when it is full, or [`fill`](Consumer::fill) after its first delivery came, or when the
    /// consumer drains. Each delivery takes one of the consumer's slots, so at most
    /// [`concurrency`](Consumer::concurrency)`/size` full batches run at once; unless told otherwise there is room for one.
    ///
    /// The handler answers `Ok(())` or one [`Handled`] for all, or [`BatchHandled::Each`]; an error or a panic counts for each
    /// delivery. A job that is suspected of killing its process comes as a batch of its own.
    ///
    /// Not guaranteed, beyond what [`consume`](Self::consume) does not: any order or size of batches.
    pub fn consume_batch<H, F, R, E>(&self, size: usize, handler: H) -> Consumer<T, E>
    where
        H: Fn(Batch<T>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<R, E>> + Send + 'static,
        R: Into<BatchHandled<E>>,
        E: Display + Send + 'static,
    {
        let handler: Arc<HandleBatch<T, E>> = Arc::new(move |batch| {
            let handled = handler(batch);
            Box::pin(async move { handled.await.map(Into::into) })
        });
        Consumer::new(self.clone(), Work::Batch { size, fill: FILL, handler }, size.max(16))
    }
}
