//! Runs jobs: a typed handler, bounded concurrency, leases that are extended while the process lives.
//!
//! `consumer.rs`, `delivery.rs`, `handled.rs`, `batch.rs` and `layer.rs` are the public interface. `shard/` has the loops of one shard,
//! each in a file of its own: settle and claim in one call (`work`), extend leases (`heartbeat`), take expired leases back (`rescue`);
//! `wake_up` notifies them of new work. `attempt/` is one run of the handler, from delivery to outcome.

mod attempt;
mod batch;
mod consumer;
mod delivery;
mod handled;
#[cfg(feature = "tower")]
mod layer;
mod shard;

pub use batch::{Batch, BatchHandled};
pub use consumer::Consumer;
pub use delivery::Delivery;
pub use handled::{Handled, Reaction};
#[cfg(feature = "tower")]
pub use layer::HandlerService;
pub(crate) use shard::wake_up::WakeUpListeners;
