//! What happened, written down while it happens, and judges that read it afterwards.
//!
//! A scenario records every read and write of a key with a [`Recorder`]; the checkers know nothing of the scenario:
//!
//! * [`staleness`] counts reads that returned less than what had been acknowledged before they began, and says by how much.
//! * [`linearizable`] decides whether one order of all operations explains what everybody saw.
//!
//! What was there before the scenario is recorded as a write. A write whose outcome the caller does not know may take effect at
//! any later time, or never.

mod linearizability;
mod operation;
mod recorder;
mod search;
mod staleness;
mod timeline;

pub use linearizability::{Checked, linearizable};
pub use operation::{Act, History, Operation, Stamp};
pub use recorder::{PendingRead, PendingWrite, Recorder};
pub use staleness::{StaleRead, Staleness, staleness};
pub use timeline::Violation;
