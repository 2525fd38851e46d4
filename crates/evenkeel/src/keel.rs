//! [`Keel`]: the one handle a program opens.

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

/// Room of the embedded store unless the program names another: 64 MiB.
const MEMORY_MAX_BYTES: usize = 64 << 20;

/// Where the capabilities keep their state.
#[derive(Clone)]
#[cfg_attr(not(feature = "cache"), expect(dead_code, reason = "read by the cache, which is a feature"))]
pub(crate) enum Backend {
    /// In this process; gone with it.
    Memory(MemoryOptions),
    /// On one Redis (or Valkey).
    Redis(Link),
}

/// Limits of the embedded store.
#[derive(Clone, Debug)]
pub(crate) struct MemoryOptions {
    /// Cache entries are evicted above this many bytes; nothing else ever is.
    #[cfg_attr(not(feature = "cache"), expect(dead_code, reason = "read by the cache"))]
    pub(crate) max_bytes: usize,
}

/// The one handle a program opens; cheap to clone. It hands out caches, queues and locks (and, later, streams).
///
/// A keel over Redis belongs to the tokio runtime it was built on. When that has ended, everything that needs Redis fails with
/// [`LinkError::RuntimeEnded`]; so each `#[tokio::test]` builds its own.
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
    /// Everything in this process: no server to install, and everything is gone with the process.
    #[must_use]
    pub fn memory() -> Self {
        Self::memory_with(MEMORY_MAX_BYTES)
    }

    /// Like [`memory`](Self::memory); cache entries are evicted above `max_bytes`.
    #[must_use]
    pub fn memory_with(max_bytes: usize) -> Self {
        Self::builder().memory_with(max_bytes)
    }

    /// Everything on the Redis (or Valkey) that `url` names; [`LinkOptions::from_url`] tells what a URL may say.
    ///
    /// # Errors
    /// As [`Link::connect`]: the server must be reachable now. Later failures are repaired in the background.
    pub async fn connect(url: &str) -> Result<Self, LinkError> {
        Self::builder().connect(url).await
    }

    /// As [`connect`](Self::connect), but a Redis that is away now is no error, so that a program can start during an outage. What
    /// needs Redis fails with [`LinkError::Down`] until it is there; caches read through their loaders.
    ///
    /// Building a queue asks Redis, so a worker builds it once the link is up:
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
    /// As [`Link::connect_lazy`]: the URL is wrong, or the server answers and refuses (password, database number, permissions).
    pub async fn connect_lazy(url: &str) -> Result<Self, LinkError> {
        Self::builder().connect_lazy_with(LinkOptions::from_url(url)?).await
    }

    /// Names what is not the default first.
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

    /// The file for obligations that cannot be carried out now, if [`KeelBuilder::spool`] named one.
    #[cfg(feature = "spool")]
    #[must_use]
    pub fn spool(&self) -> Option<&Spool> {
        self.0.spool.as_ref()
    }

    /// Lets what is on its way to Redis finish, releases of dropped guards included, for at most `deadline`, then closes the
    /// connections, for all clones. Guards that still live are not released: their locks end with their leases.
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

    #[cfg_attr(not(feature = "cache"), expect(dead_code, reason = "read by the cache, which is a feature"))]
    pub(crate) fn backend(&self) -> &Backend {
        &self.0.backend
    }

    #[cfg_attr(
        not(any(feature = "cache", feature = "queue", feature = "lock")),
        expect(dead_code, reason = "read by the capabilities, all of which are features")
    )]
    pub(crate) fn clock(&self) -> &Clock {
        &self.0.clock
    }

    #[cfg(feature = "cache")]
    pub(crate) fn caches(&self) -> &Caches {
        &self.0.caches
    }

    /// What the queues of this keel share.
    #[cfg(feature = "queue")]
    pub(crate) fn queues(&self) -> &Queues {
        &self.0.queues
    }

    /// What the units of work of this keel share.
    #[cfg(feature = "sql")]
    pub(crate) fn sql(&self) -> &super::sql::Shared {
        &self.0.sql
    }

    /// Waits until the rows of all works that this process has carried out are marked as done in the database of `pool`.
    #[cfg(all(feature = "testing", feature = "sql"))]
    pub async fn until_marked<DB: super::sql::Database>(&self, pool: &sqlx::Pool<DB>) {
        self.0.sql.until_marked(pool, self.clock()).await;
    }

    /// What the locks of this keel share.
    #[cfg(feature = "lock")]
    pub(crate) fn locks(&self) -> &Locks {
        &self.0.locks
    }

    /// Where the jobs of all queues are.
    #[cfg(feature = "queue")]
    pub(crate) fn queue_store(&self) -> QueueStore {
        self.0.queues.store(&self.0.backend)
    }

    /// A keel over the same store that knows nothing of this one's loads and caches, as another process would.
    ///
    /// For a keel in memory only: on Redis, connect once more.
    #[cfg(all(feature = "testing", feature = "cache"))]
    #[must_use]
    pub fn another_process(&self) -> Self {
        let caches = Caches::over(Arc::clone(&self.0.caches.entries), Arc::clone(&self.0.caches.plain));
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

    /// The entries of a keel in memory, to be touched as the world touches those of a Redis.
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

/// Names what is not the default before a [`Keel`] is opened.
#[derive(Clone, Debug)]
pub struct KeelBuilder {
    clock: Clock,
    #[cfg(feature = "spool")]
    spool: Option<Spool>,
}

impl KeelBuilder {
    /// Takes the time from a clock that a test moves ([`TestClock::clock`](evenkeel_link::clock::TestClock::clock)).
    #[cfg(feature = "testing")]
    #[must_use]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Opens a bounded file in the folder `dir` (made if it is not there) for what cannot be carried out now: an invalidation
    /// that Redis does not take is kept there and answers `Invalidated::Deferred`, and this process, or
    /// the next one with this folder, carries it out. Each process needs a folder of its own.
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

/// The scripts of the capabilities that are built in.
fn scripts() -> Vec<&'static Script> {
    let capabilities: &[&[&'static Script]] = &[
        #[cfg(feature = "cache")]
        &evenkeel_protocol::cache::redis::scripts(),
        #[cfg(feature = "cache")]
        &super::cache::protocol_scripts(),
        #[cfg(feature = "queue")]
        &evenkeel_protocol::queue::redis::SCRIPTS,
        #[cfg(feature = "sql")]
        &crate::sql::sink::stream::SCRIPTS,
        #[cfg(feature = "lock")]
        &evenkeel_protocol::lock::redis::scripts(),
    ];
    capabilities.concat()
}

/// The keys whose changes somebody wants to hear of, by what follows the prefix.
fn tracked() -> Vec<&'static str> {
    vec![
        #[cfg(feature = "cache")]
        evenkeel_protocol::cache::keys::FRONT,
    ]
}
