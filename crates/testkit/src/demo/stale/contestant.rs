//! What takes part: a way to read and to write with a cache in between.

use super::schedule::Act;
use super::world::{Load, Version};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

/// A future that a contestant returns.
pub(super) type Doing<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// A way to read and to write with a cache in between. One contestant stands for all processes.
pub(super) trait Contestant {
    /// Reads a row in a process.
    fn read(&self, process: usize, key: u64, load: Load) -> Doing<'_, Result<Version, String>>;

    /// Writes a row in a process; notes with the world what was committed, and acknowledges it when done.
    fn write(&self, process: usize, key: u64, act: Act) -> Doing<'_, ()>;
}

/// A contestant with the name it has in the table.
pub(super) struct Entrant {
    /// Name of the row.
    pub(super) name: String,
    /// Plays for it.
    pub(super) contestant: Arc<dyn Contestant>,
}
