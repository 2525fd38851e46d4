//! A contestant of the demonstration: a way to read and write through a cache.

use super::schedule::Act;
use super::simulation::{Load, Version};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

/// A future that a contestant returns.
pub(super) type Doing<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// A way to read and write through a cache. One contestant represents all processes.
pub(super) trait Contestant {
    /// Reads a row, in the given process.
    fn read(&self, process: usize, key: u64, load: Load) -> Doing<'_, Result<Version, String>>;

    /// Writes a row, in the given process; records the commit, and acknowledges the write when it is done.
    fn write(&self, process: usize, key: u64, act: Act) -> Doing<'_, ()>;
}

/// A contestant with its name in the table.
pub(super) struct Entrant {
    /// Name of the row.
    pub(super) name: String,
    /// The contestant.
    pub(super) contestant: Arc<dyn Contestant>,
}
