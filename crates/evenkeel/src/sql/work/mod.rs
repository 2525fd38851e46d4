//! The unit of work: a SQL transaction and the effects that must follow it.
//!
//! The modules: `effects` collects the effects; `begun` is the form that owns its transaction, `joined` the one on a transaction of
//! the caller; `write` has the statements right before the commit, `commit` the commit and the fast path, `outcome` decides a commit
//! whose reply was lost, `windows` are the update windows of strong caches, `finisher` marks rows as done, and `notifier` notifies
//! relays of other processes.

mod begun;
mod commit;
mod effects;
mod finisher;
mod joined;
mod metrics;
mod notifier;
mod outcome;
#[cfg(feature = "cache")]
mod windows;
#[cfg(not(feature = "cache"))]
#[path = "no_windows.rs"]
mod windows;
mod write;

pub(super) use self::metrics::WorkMetrics;
pub use begun::Work;
pub use commit::{Committed, Left};
pub use effects::Effects;
pub(super) use finisher::Finisher;
pub use joined::{Joined, Sealed};
pub(super) use joined::{join, seal};
pub use notifier::WakeUp;
#[cfg(feature = "queue")]
pub(crate) use write::{UNCHECKED_MAX, fits, largest_body, take_versions};
