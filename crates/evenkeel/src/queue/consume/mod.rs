//! Running jobs: a typed handler, bounded concurrency, leases that are extended while the process lives.
//!
//! For every shard of the queue there is a [`Lane`](lane::Lane) with three loops, each in a file of its own: `work` (settle and
//! claim, in one call), `beat` (extend leases), `rescue` (take lapsed leases back). `attempt` is one run of the handler;
//! `running` the table of those that run; `ear` how a lane hears of new work.

mod attempt;
mod beat;
mod consumer;
mod delivery;
mod ear;
mod handled;
mod lane;
mod phase;
mod rescue;
mod running;
mod work;

pub use consumer::Consumer;
pub use delivery::{Cancellation, Delivery};
pub(crate) use ear::Ears;
pub use handled::{Handled, Reaction};
