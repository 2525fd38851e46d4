//! Records histories of reads and writes, and checks them.
//!
//! A test records every read and write of a key with a [`Recorder`]; the checkers are independent of the test:
//!
//! * [`staleness`] finds reads that returned an older version than one acknowledged before they began, and measures by how much.
//! * [`linearizable`] decides whether the history is linearizable.
//!
//! The initial value is recorded as a write. A write whose outcome the caller does not know may take effect at any later time, or never.

mod linearizability;
mod operation;
mod recorder;
mod search;
mod staleness;
mod timeline;

pub use linearizability::{Checked, linearizable};
pub use operation::{Act, EventTime, History, Operation};
pub use recorder::{PendingRead, PendingWrite, Recorder};
pub use staleness::{StaleRead, Staleness, staleness};
pub use timeline::Violation;
