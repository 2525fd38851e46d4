//! [`Batch`]: several deliveries for one call of a handler.

use super::consumer::{Consumer, Work};
use super::delivery::Delivery;
use super::handled::Handled;
use crate::handling::handler::boxed;
use crate::queue::queue::Queue;
use std::fmt::Display;
use std::time::Duration;

/// The default time for which the first delivery of a batch waits for others.
const FILL: Duration = Duration::from_millis(10);

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BatchHandled<E> {
    /// The same result for all deliveries.
    All(Handled),
    /// One result per delivery, in the order of the batch. A delivery without a result is retried, as after an error.
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
        Consumer::new(self.clone(), Work::Batch { size, fill: FILL, handler: boxed(handler) }, size.max(16))
    }
}
