//! What operators and senders do to jobs that are stored.

mod amend;
mod delete;
mod forget;
mod pause;
mod purge;
mod redrive;
mod reschedule;
mod resume;
mod revoke;
mod set_limits;
mod sweep_lease;

pub use amend::*;
pub use delete::*;
pub use forget::*;
pub use pause::*;
pub use purge::*;
pub use redrive::*;
pub use reschedule::*;
pub use resume::*;
pub use revoke::*;
pub use set_limits::*;
pub use sweep_lease::*;
