//! What operators and consumers read.

mod found;
mod heads;
mod jobs;
mod list;
mod position;
mod previews;
mod stats;

pub use found::*;
pub use heads::*;
pub use jobs::*;
pub use list::*;
pub use position::*;
pub use previews::*;
pub use stats::*;
