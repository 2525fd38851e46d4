//! Running jobs: a typed handler, bounded concurrency, leases that are extended while the process lives.
//!
//! For every shard of the queue there is a [`Lane`](lane::Lane) with three loops, each in a file of its own: `work` (settle and
//! claim, in one call), `beat` (extend leases), `rescue` (take lapsed leases back). `attempt` is one run of the handler;
//! `running` the table of those that run, `suspects` of those among them that may kill the process; `ear` how a lane hears of new work. `gather` makes batches of deliveries for handlers that
//! want several at once; `layer` puts the layers of tower around a handler.

mod attempt;
mod batch;
mod beat;
mod body;
mod consumer;
mod delivery;
mod ear;
mod gather;
mod handled;
mod judged;
mod lane;
#[cfg(feature = "tower")]
mod layer;
mod phase;
mod rescue;
mod running;
mod suspects;
mod work;

pub(super) use attempt::caught_call;
pub use batch::{Batch, BatchHandled};
pub use consumer::Consumer;
pub use delivery::{Cancellation, Delivery};
pub(crate) use ear::Ears;
pub use handled::{Handled, Reaction};
#[cfg(feature = "tower")]
pub use layer::HandlerService;
