//! [`Redlock`]: locks on several independent servers, held on a majority of them, which survive the loss of a minority.
//!
//! ```
//! use evenkeel::lock::{Redlock, ReleaseOutcome};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let redlock = Redlock::memory(5)?; // or Redlock::connect(&["redis://a", "redis://b", "redis://c"]).await?
//! let guard = redlock.lock("stock/42").acquire().await?;
//! assert!(redlock.lock("stock/42").try_acquire().await?.is_none());
//! assert_eq!(guard.release().await?, ReleaseOutcome::Released);
//! # Ok(())
//! # }
//! ```
//!
//! An acquisition returns a [`Guard`](super::Guard) like that of any other lock. A Redlock has no semaphores and no read/write locks,
//! because majorities alone cannot prevent that more permits are granted than exist.
//!
//! In this folder: `quorum_lock` has the steps, `round` one round of an acquisition, and `rounds` the state of all rounds; `servers` calls
//! all servers, with the arithmetic of `quorum`; `assembly` decides which servers take part; `listener` is notified when a lock may be
//! free.

mod assembly;
mod listener;
mod metrics;
mod quorum;
mod quorum_lock;
mod round;
mod rounds;
mod servers;

pub(crate) use quorum_lock::QuorumLock;

use super::exclusive::{BoxFuture, ExclusiveGuard, ExclusiveLocks};
use super::store::LockStore;
use crate::lock::acquire::builder::LockBuilder;
use crate::lock::acquire::terms::LockTerms;
use crate::lock::store::locks::Locks;
use evenkeel_link::LinkOptions;
use evenkeel_link::clock::Clock;
use evenkeel_link::support::guard;
use evenkeel_protocol::lock::error::LockError;
use evenkeel_protocol::lock::name::LockName;
use evenkeel_protocol::lock::node::Node;
use evenkeel_protocol::lock::node::memory::MemoryNode;
use evenkeel_protocol::lock::node::redis::RedisNode;
use servers::Servers;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

/// The default deadline of a call to one server.
const NODE_TIMEOUT: Duration = Duration::from_millis(200);
/// The default of the longest ttl of any lock.
const TTL_MAX: Duration = Duration::from_secs(60);
/// The possible numbers of servers. Fewer are no better than one; more only cost.
const SERVERS: RangeInclusive<usize> = 3..=15;
/// The possible values of the longest ttl.
const TTLS: RangeInclusive<Duration> = Duration::from_millis(50)..=Duration::from_millis(u32::MAX as u64);
/// The shortest deadline of a call to one server.
const NODE_TIMEOUT_MIN: Duration = Duration::from_millis(1);

/// Locks on several independent servers. Cheap to clone.
///
/// **Guarantee.** A lock is held by at most one guard at a time, as long as a majority of the servers keeps its acknowledged writes and the
/// clocks' rates differ by at most 1 %; fences rise from holder to holder. A server that is unreachable, slow, or was restarted without its
/// data does not affect this: it takes part again after the longest ttl.
/// **Not guaranteed:** that a paused or slow holder does not act after its lease, as with any lock: the protected resource must check the
/// [fence](super::Guard::fence) (`Guard::begin`, with the feature `sql`). Nor anything when all servers lose their data at once.
#[derive(Clone)]
pub struct Redlock {
    locks: Locks,
    steps: QuorumLock,
}

impl Redlock {
    /// Locks on the Redis servers at these URLs, which must be independent: no replicas of one another.
    /// [`LinkOptions::from_url`] describes the URLs.
    ///
    /// # Errors
    /// As [`RedlockBuilder::connect`].
    pub async fn connect(urls: &[&str]) -> Result<Self, LockError> {
        Self::builder().connect(urls).await
    }

    /// Like [`connect`](Self::connect), but unreachable servers are no error: acquisitions fail with [`LockError::NoQuorum`] until a
    /// majority can be reached. For services that start during an outage.
    ///
    /// # Errors
    /// As [`RedlockBuilder::connect_lazy`].
    pub async fn connect_lazy(urls: &[&str]) -> Result<Self, LockError> {
        Self::builder().connect_lazy(urls).await
    }

    /// Locks on `servers` simulated servers in this process, for experiments and tests.
    ///
    /// # Errors
    /// [`LockError::Invalid`]: the number of servers is not between 3 and 15.
    pub fn memory(servers: usize) -> Result<Self, LockError> {
        Self::builder().memory(servers)
    }

    /// Begins a Redlock with other settings than the defaults.
    #[must_use]
    pub fn builder() -> RedlockBuilder {
        RedlockBuilder { node_timeout: NODE_TIMEOUT, ttl_max: TTL_MAX, clock: Clock::system() }
    }

    /// Begins the acquisition of the lock called `name`, as [`Keel::lock`](crate::Keel::lock) does.
    pub fn lock(&self, name: &str) -> LockBuilder {
        LockBuilder::new(&self.locks, name)
    }

    /// The names of all locks that are held on a majority, sorted. Scans the whole keyspace of each Redis: for operators.
    ///
    /// # Errors
    /// [`LockError::NoQuorum`].
    pub async fn locks_held(&self) -> Result<Vec<LockName>, LockError> {
        self.locks.store.held().await
    }

    /// Waits for releases in progress, for at most `deadline`, then closes the connections of all clones.
    pub async fn shutdown(&self, deadline: Duration) {
        let began = self.locks.clock.now();
        self.locks.drain(deadline).await;
        self.steps.shutdown(deadline.saturating_sub(self.locks.clock.now().since(began))).await;
    }

    fn over(servers: Arc<Servers>, clock: Clock) -> Self {
        let steps = QuorumLock::new(servers);
        let locks = Locks::over(LockStore::new(Arc::new(steps.clone())), clock, None);
        Self { locks, steps }
    }
}

/// The locks over several servers.
impl ExclusiveLocks for Redlock {
    fn acquire<'a>(
        &'a self,
        name: &'a str,
        terms: &'a LockTerms,
    ) -> BoxFuture<'a, Result<Box<dyn ExclusiveGuard>, LockError>> {
        self.lock(name).acquire_boxed(terms)
    }
}

/// For test suites.
#[cfg(feature = "testing")]
impl Redlock {
    /// A Redlock on the same servers, like that of another process.
    #[must_use]
    pub fn another_process(&self) -> Self {
        let (nodes, clock) = (self.steps.servers.nodes.clone(), self.locks.clock.clone());
        Self::over(Servers::new(nodes, clock.clone(), NODE_TIMEOUT, self.steps.servers.ttl_max), clock)
    }

    /// Makes a server in memory lose its data, like a restart without persistence.
    pub fn forget(&self, server: usize) {
        if let Some(node) = self.steps.servers.nodes.get(server) {
            node.forget();
        }
    }

    /// Admits the servers that may take part again; returns whether all take part.
    pub async fn assemble(&self) -> bool {
        assembly::run_once(&self.steps.servers).await
    }

    /// The steps, for the conformance suite.
    #[must_use]
    pub fn steps(&self) -> impl evenkeel_protocol::lock::steps::LockSteps + Clone + 'static {
        self.steps.clone()
    }

    /// Whether the lock is held on each server, by any owner.
    pub async fn held_on(&self, name: &LockName) -> Vec<bool> {
        let seen = self.steps.servers.all(|node| node.inspect(name)).await;
        seen.into_iter().map(|seen| matches!(seen, Ok(Some(_)))).collect()
    }
}

/// The settings of a [`Redlock`], before it is opened.
#[derive(Clone, Debug)]
pub struct RedlockBuilder {
    node_timeout: Duration,
    ttl_max: Duration,
    clock: Clock,
}

impl RedlockBuilder {
    setters! {
        /// The deadline of a call to one server. Choose it far below the ttl. Default 200 ms.
        #[must_use]
        pub fn node_timeout(timeout: Duration) => node_timeout = timeout;

        /// The longest ttl that any program uses on these servers: longer ones are rejected, and a restarted server is excluded for this time.
        /// It must be the same in all programs. Default 60 s.
        #[must_use]
        pub fn ttl_max(ttl: Duration) => ttl_max = ttl;

        /// For test suites: uses the clock of a test.
        #[cfg(feature = "testing")]
        #[must_use]
        pub fn clock(clock: Clock) => clock = clock;
    }

    /// See [`Redlock::memory`].
    ///
    /// # Errors
    /// As [`Redlock::memory`].
    pub fn memory(&self, servers: usize) -> Result<Redlock, LockError> {
        self.check(servers)?;
        let nodes = (0..servers).map(|_| Arc::new(MemoryNode::member(self.clock.clone())) as Arc<dyn Node>);
        let servers = Servers::new(nodes.collect(), self.clock.clone(), self.node_timeout, self.ttl_max);
        Ok(Redlock::over(servers, self.clock.clone()))
    }

    /// See [`Redlock::connect`]. Unreachable servers are connected when they are back. If all servers answer and none of them knows this
    /// Redlock, all of them join at once; otherwise servers that do not know it are excluded for the [longest ttl](Self::ttl_max).
    ///
    /// # Errors
    /// [`LockError::Invalid`]: the number of servers, or an address, is invalid, or two servers have the same address and prefix.
    /// [`LockError::NoQuorum`]: fewer than a majority can be reached now; the error names each unreachable server and the reason.
    pub async fn connect(&self, urls: &[&str]) -> Result<Redlock, LockError> {
        let options: Result<Vec<LinkOptions>, _> = urls.iter().map(|url| LinkOptions::from_url(url)).collect();
        self.connect_with(options.map_err(LockError::Link)?).await
    }

    /// Like [`connect`](Self::connect), with options instead of URLs.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub async fn connect_with(&self, options: Vec<LinkOptions>) -> Result<Redlock, LockError> {
        let redlock = self.open(options).await?;
        let servers = &redlock.steps.servers;
        match servers.connected_count() {
            reached if reached < servers.majority() => Err(servers.too_few(reached)),
            _ => Ok(redlock),
        }
    }

    /// See [`Redlock::connect_lazy`]. Each server is tried once before this returns, and every second from then on.
    ///
    /// # Errors
    /// [`LockError::Invalid`] as for [`connect`](Self::connect). [`LockError::NoQuorum`]: so many servers reject this program (password,
    /// version) that no majority is left.
    pub async fn connect_lazy(&self, urls: &[&str]) -> Result<Redlock, LockError> {
        let options: Result<Vec<LinkOptions>, _> = urls.iter().map(|url| LinkOptions::from_url(url)).collect();
        let redlock = self.open(options.map_err(LockError::Link)?).await?;
        let servers = &redlock.steps.servers;
        let error = servers.too_few(servers.connected_count());
        if error.is_retryable() { Ok(redlock) } else { Err(error) }
    }

    /// Opens the Redlock with the reachable servers; the others are retried every second.
    async fn open(&self, options: Vec<LinkOptions>) -> Result<Redlock, LockError> {
        self.check(options.len())?;
        check_places(&options)?;
        let node = |options| Arc::new(RedisNode::new(options, self.clock.clone())) as Arc<dyn Node>;
        let nodes = options.into_iter().map(node);
        let servers = Servers::new(nodes.collect(), self.clock.clone(), self.node_timeout, self.ttl_max);
        let redlock = Redlock::over(servers, self.clock.clone());
        redlock.steps.open().await;
        Ok(redlock)
    }

    /// Rejects invalid settings.
    fn check(&self, servers: usize) -> Result<(), LockError> {
        let refuse = |sentence| Err(LockError::Invalid(sentence));
        if !SERVERS.contains(&servers) {
            let (least, most) = (SERVERS.start(), SERVERS.end());
            return refuse(format!(
                "a Redlock of {servers} servers; it needs {least} to {most}, and an odd number is best"
            ));
        }
        if self.node_timeout < NODE_TIMEOUT_MIN {
            return refuse(format!("a `node_timeout` of {:?}; the minimum is {NODE_TIMEOUT_MIN:?}", self.node_timeout));
        }
        if !TTLS.contains(&self.ttl_max) {
            let (least, most) = (TTLS.start(), TTLS.end());
            return refuse(format!("a `ttl_max` of {:?}; it must be between {least:?} and {most:?}", self.ttl_max));
        }
        Ok(())
    }
}

/// Rejects a server that was given twice: it would answer for two, and alone be a majority of three.
fn check_places(options: &[LinkOptions]) -> Result<(), LockError> {
    let place = |options: &LinkOptions| (options.address(), options.prefix.clone());
    for (number, one) in options.iter().enumerate() {
        if options[..number].iter().any(|other| place(other) == place(one)) && guard("redlock_servers_differ") {
            let address = one.address();
            return Err(LockError::Invalid(format!(
                "{address} was given twice; a Redlock needs servers that fail independently, so name each server once"
            )));
        }
    }
    Ok(())
}
