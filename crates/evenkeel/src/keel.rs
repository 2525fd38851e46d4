//! [`Keel`]: the handle from which a program gets its caches, queues and locks.

#[cfg(feature = "cache")]
use super::cache::Caches;
#[cfg(feature = "lock")]
use super::lock::Locks;
#[cfg(feature = "queue")]
use super::queue::{QueueStore, Queues};
#[cfg(feature = "spool")]
use super::spool::{Spool, SpoolError, SpoolOptions};
use evenkeel_link::clock::Clock;
use evenkeel_link::{Link, LinkError, LinkOptions, Script};
#[cfg(feature = "spool")]
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Size limit of the embedded store unless the program sets another: 64 MiB.
const MEMORY_MAX_BYTES: usize = 64 << 20;

/// The store of all capabilities.
#[derive(Clone)]
#[cfg_attr(not(feature = "cache"), expect(dead_code, reason = "read by the cache, which is a feature"))]
pub(crate) enum Backend {
    /// In this process; lost when the process ends.
    Memory(MemoryOptions),
    /// On one Redis (or Valkey).
    Redis(Link),
}

/// Limits of the embedded store.
#[derive(Clone, Debug)]
pub(crate) struct MemoryOptions {
    /// Cache entries are evicted above this many bytes; other data is never evicted.
    #[cfg_attr(not(feature = "cache"), expect(dead_code, reason = "read by the cache"))]
    pub(crate) max_bytes: usize,
}

/// The handle from which a program gets its caches, queues, locks and units of work. Cheap to clone.
///
/// A keel over Redis belongs to the tokio runtime on which it was built. After that runtime has ended, every operation that
/// needs Redis fails with [`LinkError::RuntimeEnded`]; each `#[tokio::test]` therefore builds its own keel.
#[derive(Clone)]
pub struct Keel(Arc<Inner>);

struct Inner {
    backend: Backend,
    clock: Clock,
    #[cfg(feature = "cache")]
    caches: Caches,
    #[cfg(feature = "queue")]
    queues: Queues,
    #[cfg(feature = "sql")]
    sql: super::sql::Shared,
    #[cfg(feature = "spool")]
    spool: Option<Spool>,
    #[cfg(feature = "lock")]
    locks: Locks,
}

impl Keel {
    /// Keeps all data in this process. No server is needed, and the data is lost when the process ends.
    #[must_use]
    pub fn memory() -> Self {
        Self::memory_with(MEMORY_MAX_BYTES)
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
    /// Building a queue requires Redis, so a worker builds it once the link is up:
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
        KeelBuilder {
            clock: Clock::system(),
            #[cfg(feature = "spool")]
            spool: None,
        }
    }

    /// The link to Redis; `None` for a keel in memory.
    #[must_use]
    pub fn link(&self) -> Option<&Link> {
        match &self.0.backend {
            Backend::Memory(_) => None,
            Backend::Redis(link) => Some(link),
        }
    }

    /// The spool, if [`KeelBuilder::spool`] opened one.
    #[cfg(feature = "spool")]
    #[must_use]
    pub fn spool(&self) -> Option<&Spool> {
        self.0.spool.as_ref()
    }

    /// Waits for commands in flight, including the releases of dropped guards, for at most `deadline`; then closes the
    /// connections of all clones. Guards that still exist are not released: their locks end when their leases expire.
    pub async fn shutdown(&self, deadline: Duration) {
        #[cfg(feature = "lock")]
        let began = self.0.clock.now();
        #[cfg(feature = "lock")]
        self.0.locks.drain(deadline).await;
        #[cfg(feature = "lock")]
        let deadline = deadline.saturating_sub(self.0.clock.now().since(began));
        if let Some(link) = self.link() {
            link.shutdown(deadline).await;
        }
    }

    #[cfg_attr(
        not(any(feature = "cache", feature = "sql")),
        expect(dead_code, reason = "read by the cache and by a sink, which are features")
    )]
    pub(crate) fn backend(&self) -> &Backend {
        &self.0.backend
    }

    #[cfg_attr(
        not(any(feature = "cache", feature = "queue", feature = "lock", feature = "sql")),
        expect(dead_code, reason = "read by the capabilities, all of which are features")
    )]
    pub(crate) fn clock(&self) -> &Clock {
        &self.0.clock
    }

    #[cfg(feature = "cache")]
    pub(crate) fn caches(&self) -> &Caches {
        &self.0.caches
    }

    /// State shared by the queues of this keel.
    #[cfg(feature = "queue")]
    pub(crate) fn queues(&self) -> &Queues {
        &self.0.queues
    }

    /// State shared by the units of work of this keel.
    #[cfg(feature = "sql")]
    pub(crate) fn sql(&self) -> &super::sql::Shared {
        &self.0.sql
    }

    /// Waits until the outbox rows of all units of work that this process has carried out are marked as done in the database of
    /// `pool`.
    #[cfg(all(feature = "testing", feature = "sql"))]
    pub async fn until_marked<DB: super::sql::Database>(&self, pool: &sqlx::Pool<DB>) {
        self.0.sql.until_marked(pool, self.clock()).await;
    }

    /// State shared by the locks of this keel.
    #[cfg(feature = "lock")]
    pub(crate) fn locks(&self) -> &Locks {
        &self.0.locks
    }

    /// The store of all queues.
    #[cfg(feature = "queue")]
    pub(crate) fn queue_store(&self) -> QueueStore {
        self.0.queues.store(&self.0.backend)
    }

    /// A keel over the same store that shares no loads and caches with this one, like another process.
    ///
    /// For a keel in memory only: on Redis, connect once more.
    #[cfg(all(feature = "testing", feature = "cache"))]
    #[must_use]
    pub fn another_process(&self) -> Self {
        let caches = Caches::over(Arc::clone(&self.0.caches.entries));
        Self(Arc::new(Inner {
            backend: self.0.backend.clone(),
            clock: self.0.clock.clone(),
            caches,
            #[cfg(feature = "queue")]
            queues: self.0.queues.another_process(),
            #[cfg(feature = "sql")]
            sql: super::sql::Shared::default(),
            #[cfg(feature = "spool")]
            spool: None,
            #[cfg(feature = "lock")]
            locks: self.0.locks.another_process(),
        }))
    }

    /// The entries of a keel in memory, so that a test can change them from outside, as other programs can change those of a
    /// Redis.
    #[cfg(all(feature = "testing", feature = "cache"))]
    #[must_use]
    pub fn entries(&self) -> &evenkeel_protocol::cache::memory::store::EntryStore {
        &self.0.caches.entries
    }

    fn open(backend: Backend, builder: KeelBuilder) -> Self {
        let clock = builder.clock;
        #[cfg(feature = "cache")]
        let caches = Caches::new(match &backend {
            Backend::Memory(options) => options.max_bytes,
            Backend::Redis(_) => 0,
        });
        #[cfg(feature = "queue")]
        let queues = Queues::new(clock.clone());
        #[cfg(feature = "lock")]
        let locks = Locks::new(&backend, clock.clone());
        Self(Arc::new(Inner {
            backend,
            clock,
            #[cfg(feature = "cache")]
            caches,
            #[cfg(feature = "queue")]
            queues,
            #[cfg(feature = "sql")]
            sql: super::sql::Shared::default(),
            #[cfg(feature = "spool")]
            spool: builder.spool,
            #[cfg(feature = "lock")]
            locks,
        }))
    }
}

/// Settings of a [`Keel`] before it is opened.
#[derive(Clone, Debug)]
pub struct KeelBuilder {
    clock: Clock,
    #[cfg(feature = "spool")]
    spool: Option<Spool>,
}

impl KeelBuilder {
    /// Uses a clock that a test advances ([`TestClock::clock`](evenkeel_link::clock::TestClock::clock)).
    #[cfg(feature = "testing")]
    #[must_use]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Opens a spool in the folder `dir`, which is created if it does not exist. If Redis does not accept an invalidation, the
    /// spool stores it and the call returns `Invalidated::Deferred`; this process, or the next one with this folder, replays
    /// it. Each process needs a folder of its own.
    ///
    /// # Errors
    /// As [`Spool::open`].
    #[cfg(feature = "spool")]
    pub async fn spool(mut self, dir: impl AsRef<Path>, options: SpoolOptions) -> Result<Self, SpoolError> {
        self.spool = Some(Spool::open_with(dir.as_ref(), options, self.clock.clone()).await?);
        Ok(self)
    }

    /// See [`Keel::memory`].
    #[must_use]
    pub fn memory(self) -> Keel {
        self.memory_with(MEMORY_MAX_BYTES)
    }

    /// See [`Keel::memory_with`].
    #[must_use]
    pub fn memory_with(self, max_bytes: usize) -> Keel {
        Keel::open(Backend::Memory(MemoryOptions { max_bytes }), self)
    }

    /// See [`Keel::connect`].
    ///
    /// # Errors
    /// As [`Keel::connect`].
    pub async fn connect(self, url: &str) -> Result<Keel, LinkError> {
        self.connect_with(LinkOptions::from_url(url)?).await
    }

    /// See [`Keel::connect_lazy`]; with options changed after the URL was read.
    ///
    /// # Errors
    /// As [`Keel::connect_lazy`].
    pub async fn connect_lazy_with(self, options: LinkOptions) -> Result<Keel, LinkError> {
        let options = options.with_scripts(scripts()).with_tracked(tracked());
        let link = Link::connect_lazy(options, self.clock.clone()).await?;
        Ok(Keel::open(Backend::Redis(link), self))
    }

    /// Like [`connect`](Self::connect), with options changed after the URL was read.
    ///
    /// # Errors
    /// As [`Keel::connect`].
    pub async fn connect_with(self, options: LinkOptions) -> Result<Keel, LinkError> {
        let options = options.with_scripts(scripts()).with_tracked(tracked());
        let link = Link::connect(options, self.clock.clone()).await?;
        Ok(Keel::open(Backend::Redis(link), self))
    }
}

/// The Lua scripts of the enabled capabilities.
fn scripts() -> Vec<&'static Script> {
    let capabilities: &[&[&'static Script]] = &[
        #[cfg(feature = "cache")]
        &evenkeel_protocol::cache::redis::scripts(),
        #[cfg(feature = "queue")]
        &evenkeel_protocol::queue::redis::SCRIPTS,
        #[cfg(feature = "sql")]
        &crate::sql::sink::stream::SCRIPTS,
        #[cfg(feature = "lock")]
        &evenkeel_protocol::lock::redis::scripts(),
    ];
    capabilities.concat()
}

/// Key prefixes (after the namespace prefix) whose changes the link tracks.
fn tracked() -> Vec<&'static str> {
    vec![
        #[cfg(feature = "cache")]
        evenkeel_protocol::cache::keys::FRONT,
    ]
}
