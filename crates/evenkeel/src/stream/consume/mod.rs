//! Handles entries: a typed handler, bounded concurrency, order where the group asks for it.
//!
//! `group.rs`, `consumer.rs`, `entry.rs`, `handled.rs` and `batch.rs` are the public interface. `partition/` has the worker of one
//! partition, a single task that makes all calls for it; `attempt.rs` is one run of the handler, from delivery to outcome. `share.rs`
//! distributes the partitions among consumers, `upkeep.rs` measures and trims, `exclusive.rs` holds a lock during an attempt.

mod attempt;
mod batch;
mod consumer;
mod entry;
#[cfg(feature = "lock")]
mod exclusive;
mod group;
mod handled;
mod partition;
mod run;
mod share;
mod upkeep;

pub use batch::{Batch, BatchHandled};
pub use consumer::Consumer;
pub use entry::Entry;
#[cfg(feature = "lock")]
pub use exclusive::PerKeyExclusive;
pub use group::{Group, OnFailure};
pub use handled::{Handled, Reaction};
pub(crate) use partition::wake_up::Listeners;
pub(crate) use upkeep::trim;
