//! Locks whose fences SQL can check.
//!
//! A lock over Redis keeps a queue in order; it cannot keep a process that was paused from acting after its lease has ended. So
//! every acquisition comes with a [`Fence`], a number above all before it, which the resource can check. Ask for a lock by name:
//!
//! ```
//! use evenkeel::Keel;
//! use evenkeel::lock::Release;
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
//! assert_eq!(guard.release().await?, Release::Released); // or drop it: that never blocks
//! assert!(keel.lock("stock/42").acquire().await?.fence() > first);
//! # Ok(())
//! # }
//! ```
//!
//! In this folder, from the outside in: `builder` and `guard` are the surface; `attempt` waits for a lock, with `gate` as the local
//! queue; `mode` says what is asked for; `lease`, `latch` and `renewal` keep one; `reaper` gives back what was dropped; `store` is the
//! seam to `redis` and `memory`; `fence/` is what the database checks (`Guard::begin`, with the feature `sql`); `sql/` keeps locks in a
//! database instead of Redis, through `other`; `redlock/` is a lock over several servers; `pool/` is what several hold at once.
//!
//! * [`LockBuilder`] — what [`Keel::lock`](crate::Keel::lock) begins; [`Guard`] — the lock is held while it lives.
//! * [`ExclusiveLocks`] — one trait over all kinds of exclusive locks, for programs that choose at run time.
//! * [`RwLock`] — many readers or one writer; [`Semaphore`] — permits with leases; [`StripedLock`] — many keys, few locks.
//! * [`pool`] — what the first two stand on: permits that several hold at once.
//! * [`steps`] — the atomic steps, as a trait; docs/spec/lock.md is their specification.
//! * [`MemoryLock`] — the steps as a model in this process; [`RedisLock`] — as scripts on one Redis.

mod attempt;
mod builder;
mod error;
mod exclusive;
#[cfg(feature = "sql")]
mod fence;
mod gate;
mod guard;
mod latch;
#[cfg(test)]
mod latch_orders;
mod lease;
mod locks;
mod many;
mod memory;
mod metrics;
mod mode;
mod name;
#[cfg(feature = "sql")]
mod other;
pub mod pool;
mod reaper;
mod redis;
mod redlock;
mod renewal;
mod rw;
mod semaphore;
mod setters;
#[cfg(feature = "sql")]
mod sql;
pub mod steps;
mod store;
mod striped;
mod stripes;
mod terms;

/// What the latch is made of; loom puts its own in their place.
mod atomics {
    pub(super) use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
}

pub use attempt::Wait;
pub use builder::LockBuilder;
pub use error::{LockError, LossReason, Lost, Unreached};
pub use exclusive::{Boxed, ExclusiveGuard, ExclusiveLocks};
#[cfg(feature = "sql")]
pub use fence::{FenceError, FencedTransaction};
pub use guard::{Guard, Release};
pub(crate) use locks::Locks;
pub use many::Guards;
pub use memory::MemoryLock;
pub use name::LockName;
pub use redis::RedisLock;
pub(crate) use redis::scripts;
pub use redlock::{Redlock, RedlockBuilder};
pub use rw::{RwBuilder, RwLock};
pub use semaphore::{Permits, PermitsBuilder, Semaphore};
#[cfg(feature = "sql")]
pub use sql::{AdvisoryDatabase, AdvisoryGuard, AdvisoryLocks, RowLock, RowLocks};
pub use steps::Fence;
pub use striped::StripedLock;
pub use terms::LockTerms;
