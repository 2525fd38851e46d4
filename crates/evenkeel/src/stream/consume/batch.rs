//! [`Batch`]: several entries for one call of a handler.

use super::entry::Entry;
use super::handled::Handled;

/// Several entries for one call of a handler.
///
/// When a delivery is lost, its [`cancellation`](Entry::cancellation) fires and the handler's result for it is ignored. The handler's future
/// is dropped once all deliveries of the batch are lost.
#[derive(Debug)]
pub struct Batch<T> {
    /// At least one entry, at most the `size` of [`Group::handle_batch`](super::Group::handle_batch).
    pub entries: Vec<Entry<T>>,
}

/// The result of a batch handler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BatchHandled<E> {
    /// The same result for all entries.
    All(Handled),
    /// One result per entry, in the order of the batch. An entry without a result is retried, as after an error.
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
