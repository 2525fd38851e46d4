//! What consumers send.

mod heartbeat;
mod kept;
mod marker;
mod outcome;
mod piece;
mod progress;
mod receipt;
mod rescue;
mod room;
mod settle_and_claim;

pub use heartbeat::*;
pub use kept::*;
pub use marker::*;
pub use outcome::*;
pub use piece::*;
pub use progress::*;
pub use receipt::*;
pub use rescue::*;
pub use room::*;
pub use settle_and_claim::*;
