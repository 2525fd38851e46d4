//! [`Batch`]: several deliveries for one call of a handler.

use super::consumer::Consumer;
use super::delivery::Delivery;
use super::handled::Handled;
use crate::handling::handler::boxed;
use crate::handling::work::{self, FILL, Work};
use crate::queue::queue::Queue;
use std::fmt::Display;

/// Several deliveries for one call of a handler: each has its own lease, fence, attempt and cancellation.
///
/// When a delivery is lost, its [`cancellation`](Delivery::cancellation) fires and the handler's result for it is ignored. The
/// handler's future is dropped once all deliveries of the batch are lost.
#[derive(Debug)]
pub struct Batch<T> {
    /// At least one delivery, at most the `size` of [`Queue::consume_batch`].
    pub deliveries: Vec<Delivery<T>>,
}

/// The result of a batch handler.
pub type BatchHandled<E> = work::BatchHandled<Handled, E>;

impl<E> From<Handled> for BatchHandled<E> {
    fn from(handled: Handled) -> Self {
        Self::All(handled)
    }
}

impl<T: Send + Sync + 'static> Queue<T> {
    /// Begins a consumer whose handler receives up to `size` deliveries at once, from all shards, for work whose cost hardly depends on
    /// the number of jobs. A batch starts when it is full, [`fill`](Consumer::fill) after its first delivery, or when the consumer
    /// drains. Each delivery takes one of the consumer's slots, so at most [`concurrency`](Consumer::concurrency)`/size` full batches run
    /// at once; the default concurrency has slots for one.
    ///
    /// The handler returns `Ok(())` or one [`Handled`] for all deliveries, or [`BatchHandled::Each`]; an error or a panic counts for each
    /// delivery. A job that is suspected of killing its process is delivered in a batch of its own.
    ///
    /// Not guaranteed, in addition to what [`consume`](Self::consume) does not guarantee: any order or size of batches.
    pub fn consume_batch<H, F, R, E>(&self, size: usize, handler: H) -> Consumer<T, E>
    where
        H: Fn(Batch<T>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<R, E>> + Send + 'static,
        R: Into<BatchHandled<E>>,
        E: Display + Send + 'static,
    {
        let handler = boxed(move |deliveries| handler(Batch { deliveries }));
        Consumer::new(self.clone(), Work::Batch { size, fill: FILL, handler }, size.max(16))
    }
}
