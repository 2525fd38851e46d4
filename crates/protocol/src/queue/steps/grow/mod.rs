//! Shard migration: the steps that move jobs when a topic gets more shards.
//!
//! A *closed* shard accepts no new item that belongs to another shard. Such items are *sent*: removed from every index and
//! numbered. Their new shard *receives* them, each number once and in order; after that the old shard drops them (`drop_received`). A process that
//! migrates may die at any point, and any number of processes may migrate at once: the numbers make every step idempotent.
//! docs/spec/queue.md is the specification.

mod close;
mod drop_received;
mod ids;
mod item;
mod leaving;
mod receive;
mod schedules;
mod send_items;

pub use close::*;
pub use drop_received::*;
pub use ids::*;
pub use item::*;
pub use leaving::*;
pub use receive::*;
pub use schedules::*;
pub use send_items::*;

use super::Shard;
use crate::queue::QueueBackend;
use crate::queue::error::QueueError;

/// The maximum number of transfers per batch: their bodies are read whole.
pub const TRANSFERS_MAX: usize = 50;

/// Moves the items that were sent from one shard to another, until none remains.
///
/// # Errors
/// [`QueueError::Link`]; a later call continues.
pub async fn carry(store: &QueueBackend, from: &Shard, to: &Shard) -> Result<(), QueueError> {
    loop {
        let transfers = store.run(from, &ReadLeaving { to: to.number(), limit: TRANSFERS_MAX }).await?;
        if transfers.is_empty() {
            return Ok(());
        }
        let received = store.run(to, &Receive { from: from.number(), transfers }).await?;
        store.run(from, &DropReceived { to: to.number(), sequence: received }).await?;
    }
}
