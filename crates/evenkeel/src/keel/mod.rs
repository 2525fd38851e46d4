//! [`Keel`]: the handle from which a program gets its caches, queues, locks and limits.
//!
//! This room stands above the capabilities: it creates the state that each of them shares, and has the methods of [`Keel`]. No
//! capability names it.

#![allow(clippy::disallowed_types, reason = "the only room that names the handle")]

mod builder;
#[cfg(feature = "cache")]
mod cache;
#[cfg(feature = "cdc")]
#[cfg_attr(
    not(any(feature = "mysql", feature = "postgres", feature = "sqlite")),
    allow(unreachable_code, unused_variables, reason = "without a database there is no value of a pool")
)]
mod cdc;
#[cfg(feature = "id")]
mod id;
#[cfg(feature = "limit")]
mod limit;
#[cfg(feature = "lock")]
mod lock;
mod process;
#[cfg(feature = "queue")]
mod queue;
#[cfg(feature = "sql")]
#[cfg_attr(
    not(any(feature = "mysql", feature = "postgres", feature = "sqlite")),
    allow(unreachable_code, reason = "without a database there is no value of a pool")
)]
mod sql;
#[cfg(feature = "stream")]
mod stream;
#[cfg(feature = "testing")]
mod testing;

pub use builder::KeelBuilder;

use crate::context::Context;
#[cfg(feature = "id")]
use crate::id::Scopes;
#[cfg(feature = "limit")]
use crate::limit::Limits;
#[cfg(feature = "lock")]
use crate::lock::Locks;
#[cfg(feature = "spool")]
use crate::spool::Spool;
#[cfg(feature = "sql")]
use crate::sql::Shared;
use crate::stores::Stores;
use evenkeel_link::{Link, LinkError, LinkOptions};
use std::sync::Arc;
use std::time::Duration;

/// The handle from which a program gets its caches, queues, locks and units of work. Cheap to clone.
///
/// A keel over Redis belongs to the tokio runtime on which it was built. After that runtime has ended, every operation that
/// needs Redis fails with [`LinkError::RuntimeEnded`]; each `#[tokio::test]` therefore builds its own keel.
#[derive(Clone)]
pub struct Keel(Arc<Inner>);

struct Inner {
    context: Context,
    #[cfg_attr(
        not(any(feature = "cache", feature = "queue", feature = "stream")),
        expect(dead_code, reason = "without them it is empty")
    )]
    stores: Stores,
    #[cfg(feature = "sql")]
    sql: Arc<Shared>,
    #[cfg(feature = "lock")]
    locks: Locks,
    #[cfg(feature = "id")]
    scopes: Scopes,
    #[cfg(feature = "limit")]
    limits: Arc<Limits>,
}

impl Keel {
    /// Keeps all data in this process. No server is needed, and the data is lost when the process ends.
    #[must_use]
    pub fn memory() -> Self {
        Self::builder().memory()
    }

    /// Like [`memory`](Self::memory); cache entries are evicted above `max_bytes`.
    #[must_use]
    pub fn memory_with(max_bytes: usize) -> Self {
        Self::builder().memory_with(max_bytes)
    }

    /// Keeps all data on the Redis (or Valkey) at `url`; [`LinkOptions::from_url`] documents the URL.
    ///
    /// # Errors
    /// As [`Link::connect`]: the server must be reachable now. The link recovers from later failures in the background.
    pub async fn connect(url: &str) -> Result<Self, LinkError> {
        Self::builder().connect(url).await
    }

    /// Like [`connect`](Self::connect), but an unreachable Redis is not an error, so a program can start during an outage.
    /// Operations that need Redis fail with [`LinkError::Down`] until it is reachable; caches read through their loaders.
    ///
    /// Opening a queue requires Redis, so a worker opens it once the link is up:
    ///
    /// ```no_run
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// let keel = evenkeel::Keel::connect_lazy("redis://127.0.0.1").await?;
    /// if let Some(link) = keel.link() {
    ///     link.state().wait_for(|state| state.is_up()).await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Link::connect_lazy`]: the URL is invalid, or the server rejects the connection (password, database number,
    /// permissions).
    pub async fn connect_lazy(url: &str) -> Result<Self, LinkError> {
        Self::builder().connect_lazy_with(LinkOptions::from_url(url)?).await
    }

    /// Starts a builder, for settings other than the defaults.
    #[must_use]
    pub fn builder() -> KeelBuilder {
        KeelBuilder::new()
    }

    /// The link to Redis; `None` for a keel in memory.
    #[must_use]
    pub fn link(&self) -> Option<&Link> {
        self.0.context.link.as_ref()
    }

    /// The spool, if [`KeelBuilder::spool`] opened one.
    #[cfg(feature = "spool")]
    #[must_use]
    pub fn spool(&self) -> Option<&Spool> {
        self.0.context.spool.as_ref()
    }

    /// Waits for commands in flight, including the releases of dropped guards, for at most `deadline`; then closes the
    /// connections of all clones. Guards that still exist are not released: their locks end when their leases expire.
    pub async fn shutdown(&self, deadline: Duration) {
        let clock = &self.0.context.clock;
        let began = clock.now();
        #[cfg(feature = "lock")]
        self.0.locks.drain(deadline).await;
        let left = deadline.saturating_sub(clock.now().since(began));
        let _ = clock.timeout(left, self.0.context.reporter.leave()).await;
        if let Some(link) = self.link() {
            link.shutdown(deadline.saturating_sub(clock.now().since(began))).await;
        }
    }

    /// The capabilities over `context`. In memory, cache entries are evicted above `max_bytes`.
    fn over(context: Context, max_bytes: usize) -> Self {
        let stores = Stores::new(&context, max_bytes);
        Self(Arc::new(Inner {
            #[cfg(feature = "sql")]
            sql: Arc::new(Shared::new(&context, stores.clone())),
            stores,
            #[cfg(feature = "lock")]
            locks: Locks::new(&context),
            #[cfg(feature = "id")]
            scopes: Scopes::new(&context),
            #[cfg(feature = "limit")]
            limits: Arc::new(Limits::new(&context)),
            context,
        }))
    }
}
