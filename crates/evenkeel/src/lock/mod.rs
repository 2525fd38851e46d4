//! Distributed locks with fencing tokens that SQL can check.
//!
//! A lock on Redis serializes its holders, but it cannot prevent a paused process from acting after its lease has expired. So every
//! acquisition returns a [`Fence`], a fencing token above all earlier ones, which the protected resource can check. A lock has a name:
//!
//! ```
//! use evenkeel::Keel;
//! use evenkeel::lock::ReleaseOutcome;
//! use std::time::Duration;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let keel = Keel::memory(); // or Keel::connect("redis://127.0.0.1").await?
//! let guard = keel.lock("stock/42").ttl(Duration::from_secs(10)).wait(Duration::from_secs(2)).acquire().await?;
//! assert!(keel.lock("stock/42").try_acquire().await?.is_none());
//!
//! // Ends early, with an error, if the lock is lost meanwhile.
//! let counted = guard.run(async { 41 + 1 }).await?;
//! assert_eq!(counted, 42);
//!
//! let first = guard.fence();
//! assert_eq!(guard.release().await?, ReleaseOutcome::Released); // or drop it: that never blocks
//! assert!(keel.lock("stock/42").acquire().await?.fence() > first);
//! # Ok(())
//! # }
//! ```
//!
//! * [`LockBuilder`] — an acquisition, begun by [`Keel::lock`](crate::Keel::lock); [`Guard`] — holds the lock until it is dropped.
//! * [`ExclusiveLocks`] — one trait of all kinds of exclusive locks, for programs that choose one at run time.
//! * [`RwLock`] — many readers or one writer; [`Semaphore`] — permits with leases; [`StripedLock`] — many keys, few locks.
//!
//! docs/spec/lock.md specifies the protocol; the crate `evenkeel-protocol` has its atomic steps, their model and their scripts. The
//! modules of this folder, in the order in which an acquisition passes through them:
//!
//! * `acquire/`: the builder, the local queue, and the acquisition itself.
//! * `hold/`: the guard, its lease and renewal, and the background release of dropped guards.
//! * `shared/`: locks with several concurrent holders, and locks that many keys share.
//! * `fence/`: the check of fences in a database (`Guard::begin`, with the feature `sql`).
//! * `store/` gives access to the steps; `redlock/` implements them on several servers (with the feature `redlock`), `sql/` in a
//!   database (with the feature `sql`).

mod acquire;
mod exclusive;
#[cfg(feature = "sql")]
mod fence;
mod hold;
mod metrics;
#[cfg(feature = "redlock")]
mod redlock;
mod shared;
#[cfg(feature = "sql")]
pub(crate) mod sql;
mod store;

pub use acquire::attempt::Wait;
pub use acquire::builder::LockBuilder;
pub use acquire::many::Guards;
pub use acquire::terms::LockTerms;
pub use evenkeel_protocol::lock::error::{LockError, LossReason, Lost, Unreached};
pub use evenkeel_protocol::lock::name::LockName;
pub use evenkeel_protocol::lock::pool::steps::{PERMITS_MAX, PoolHolder, PoolState};
pub use evenkeel_protocol::lock::steps::{Fence, Holder};
pub use exclusive::{BoxFuture, ExclusiveGuard, ExclusiveLocks};
#[cfg(feature = "sql")]
pub use fence::{FenceError, FencedTransaction};
pub use hold::guard::{Guard, ReleaseOutcome};
#[cfg(feature = "redlock")]
pub use redlock::{Redlock, RedlockBuilder};
pub use shared::rw::{RwBuilder, RwLock};
pub use shared::semaphore::{Permits, PermitsBuilder, Semaphore};
pub use shared::striped::StripedLock;
#[cfg(feature = "sql")]
pub use sql::{AdvisoryDatabase, AdvisoryGuard, AdvisoryLocks, RowLocks};
pub(crate) use store::locks::Locks;
