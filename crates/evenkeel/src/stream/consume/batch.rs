//! [`Batch`]: several entries for one call of a handler.

use super::entry::Entry;
use super::handled::Handled;
use crate::handling::work;

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
pub type BatchHandled<E> = work::BatchHandled<Handled, E>;

impl<E> From<Handled> for BatchHandled<E> {
    fn from(handled: Handled) -> Self {
        Self::All(handled)
    }
}
