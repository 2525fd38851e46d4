//! A lock over several independent servers, of which a majority counts: it outlives the loss of a minority of them.
//!
//! ```
//! use evenkeel::lock::{Redlock, Release};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let redlock = Redlock::memory(5)?; // or Redlock::connect(&["redis://a", "redis://b", "redis://c"]).await?
//! let guard = redlock.lock("stock/42").acquire().await?;
//! assert!(redlock.lock("stock/42").try_acquire().await?.is_none());
//! assert_eq!(guard.release().await?, Release::Released);
//! # Ok(())
//! # }
//! ```
//!
//! What it hands out is a [`Guard`](super::Guard) like any other. There is no semaphore and no shared lock on a Redlock: with
//! majorities alone, more permits can be out than there are.
//!
//! In this folder: [`Redlock`] is the surface; `quorum_lock` has the steps, `round` one round of an acquisition, `rounds` what is
//! remembered of them; `servers` asks all `node`s (`redis_node`, `memory_node`) with the arithmetic of `quorum`; `assembly` decides
//! which of them take part; `listener` is notified when a lock may be free.

mod assembly;
mod listener;
mod metrics;
mod quorum;
mod quorum_lock;
mod round;
mod rounds;
mod servers;

pub(crate) use quorum_lock::QuorumLock;

use super::exclusive::{Boxed, ExclusiveGuard, ExclusiveLocks, fenced};
use super::store::LockStore;
use crate::lock::acquire::builder::LockBuilder;
use crate::lock::acquire::terms::LockTerms;
use crate::lock::store::locks::Locks;
use evenkeel_link::LinkOptions;
use evenkeel_link::clock::Clock;
use evenkeel_protocol::lock::error::LockError;
use evenkeel_protocol::lock::name::LockName;
use evenkeel_protocol::lock::node::Node;
use evenkeel_protocol::lock::node::memory::MemoryNode;
use evenkeel_protocol::lock::node::redis::RedisNode;
use servers::Servers;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

/// How long one server may take to answer.
const NODE_TIMEOUT: Duration = Duration::from_millis(200);
/// The longest ttl of any lock.
const TTL_MAX: Duration = Duration::from_secs(60);
/// Fewer servers are no better than one; more only cost.
const SERVERS: RangeInclusive<usize> = 3..=15;
/// What a longest ttl may be: no lease is shorter or longer.
const TTLS: RangeInclusive<Duration> = Duration::from_millis(50)..=Duration::from_millis(u32::MAX as u64);
/// In less no server answers.
const NODE_TIMEOUT_MIN: Duration = Duration::from_millis(1);

/// Locks over several independent servers. Cheap to clone.
///
/// **Guarantee.** A lock is held by at most one guard at a time, as long as a majority of the servers keeps what it acknowledged and no
/// clock runs more than 1 % apart; fences rise from holder to holder. One that is away, slow, or was started again without its data
/// changes nothing of that: it takes part again after the longest ttl.
/// **Not guaranteed:** that a paused or slow holder does not act after its lease, as with any lock: what it protects must check the
/// [fence](super::Guard::fence) (`Guard::begin`, with the feature `sql`). Nor anything when all servers lose their memory at once.
#[derive(Clone)]
pub struct Redlock {
    locks: Locks,
    steps: QuorumLock,
    #[cfg(feature = "testing")]
    servers: Arc<Servers>,
}

impl Redlock {
    /// Locks over the Redis servers that these URLs name, each of its own: no replicas of one another.
    /// [`LinkOptions::from_url`] tells what a URL may say.
    ///
    /// # Errors
    /// As [`RedlockBuilder::connect`].
    pub async fn connect(urls: &[&str]) -> Result<Self, LockError> {
        Self::builder().connect(urls).await
    }

    /// Like [`connect`](Self::connect), and it is no error that the servers are away: until a majority can be reached, acquisitions
    /// fail with [`LockError::NoQuorum`]. For services that start during an outage.
    ///
    /// # Errors
    /// As [`RedlockBuilder::connect_lazy`].
    pub async fn connect_lazy(urls: &[&str]) -> Result<Self, LockError> {
        Self::builder().connect_lazy(urls).await
    }

    /// Locks over so many models of a server in this process: for trying things out, and for tests.
    ///
    /// # Errors
    /// [`LockError::Invalid`]: there must be 3 to 15.
    pub fn memory(servers: usize) -> Result<Self, LockError> {
        Self::builder().memory(servers)
    }

    /// Names what is not the default first.
    #[must_use]
    pub fn builder() -> RedlockBuilder {
        RedlockBuilder { node_timeout: NODE_TIMEOUT, ttl_max: TTL_MAX, clock: Clock::system() }
    }

    /// Begins the acquisition of the lock called `name`, as [`Keel::lock`](crate::Keel::lock) does.
    pub fn lock(&self, name: &str) -> LockBuilder {
        LockBuilder::new(&self.locks, name)
    }

    /// The names of all locks that a majority holds, sorted. Walks the whole keyspace of each Redis: for operators.
    ///
    /// # Errors
    /// [`LockError::NoQuorum`].
    pub async fn locks_held(&self) -> Result<Vec<LockName>, LockError> {
        self.locks.store.held().await
    }

    /// Lets releases that are on their way finish, for at most `deadline`, then closes the connections, for all clones.
    pub async fn shutdown(&self, deadline: Duration) {
        let began = self.locks.clock.now();
        self.locks.drain(deadline).await;
        self.steps.shutdown(deadline.saturating_sub(self.locks.clock.now().since(began))).await;
    }

    fn over(servers: &Arc<Servers>, clock: Clock) -> Self {
        let steps = QuorumLock::new(Arc::clone(servers));
        let locks = Locks::over(LockStore::new(Arc::new(steps.clone())), clock);
        Self {
            locks,
            steps,
            #[cfg(feature = "testing")]
            servers: Arc::clone(servers),
        }
    }
}

/// The locks over several servers.
impl ExclusiveLocks for Redlock {
    fn acquire<'a>(
        &'a self,
        name: &'a str,
        terms: &'a LockTerms,
    ) -> Boxed<'a, Result<Box<dyn ExclusiveGuard>, LockError>> {
        fenced(self.lock(name), terms)
    }
}

/// What tests do to a Redlock.
#[cfg(feature = "testing")]
impl Redlock {
    /// The same servers, as another process knows them.
    #[must_use]
    pub fn another_process(&self) -> Self {
        let (nodes, clock) = (self.servers.nodes.clone(), self.locks.clock.clone());
        Self::over(&Servers::new(nodes, clock.clone(), NODE_TIMEOUT, self.servers.ttl_max), clock)
    }

    /// Lets a server in memory forget everything, as one that was started again without its data.
    pub fn forget(&self, server: usize) {
        if let Some(Node::Memory(node)) = self.servers.nodes.get(server) {
            node.forget();
        }
    }

    /// Lets in the servers that may take part again; whether all do now.
    pub async fn assemble(&self) -> bool {
        assembly::run_once(&self.servers).await
    }

    /// The steps, for the conformance suite.
    #[must_use]
    pub fn steps(&self) -> impl evenkeel_protocol::lock::steps::LockSteps + Clone + 'static {
        self.steps.clone()
    }

    /// On which servers the lock is held, in anybody's name.
    pub async fn held_on(&self, name: &LockName) -> Vec<bool> {
        let seen = self.servers.all(|node| node.inspect(name)).await;
        seen.into_iter().map(|seen| matches!(seen, Ok(Some(_)))).collect()
    }
}

/// Names what is not the default before a [`Redlock`] is opened.
#[derive(Clone, Debug)]
pub struct RedlockBuilder {
    node_timeout: Duration,
    ttl_max: Duration,
    clock: Clock,
}

impl RedlockBuilder {
    /// How long one server may take to answer before it counts as away. Far below the ttl. Default 200 ms.
    #[must_use]
    pub fn node_timeout(mut self, timeout: Duration) -> Self {
        self.node_timeout = timeout;
        self
    }

    /// The longest ttl that any program uses on these servers: longer ones are refused, and a server that was started again sits out so
    /// long. The same in all programs. Default 60 s.
    #[must_use]
    pub fn ttl_max(mut self, ttl: Duration) -> Self {
        self.ttl_max = ttl;
        self
    }

    /// Takes the time from a clock that a test moves.
    #[cfg(feature = "testing")]
    #[must_use]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// See [`Redlock::memory`].
    ///
    /// # Errors
    /// As [`Redlock::memory`].
    pub fn memory(&self, servers: usize) -> Result<Redlock, LockError> {
        self.check(servers)?;
        let nodes = (0..servers).map(|_| Node::Memory(MemoryNode::member(self.clock.clone())));
        let servers = Servers::new(nodes.collect(), self.clock.clone(), self.node_timeout, self.ttl_max);
        Ok(Redlock::over(&servers, self.clock.clone()))
    }

    /// See [`Redlock::connect`]. Servers that are away are connected to when they come back. When none of the servers knows this
    /// Redlock, and all of them answer, they begin it; else those that do not know it sit out the [longest ttl](Self::ttl_max).
    ///
    /// # Errors
    /// [`LockError::Invalid`]: the number of servers, or an address, cannot work. [`LockError::NoQuorum`]: fewer than a majority can
    /// be reached now; it names each that cannot, and why.
    pub async fn connect(&self, urls: &[&str]) -> Result<Redlock, LockError> {
        let options: Result<Vec<LinkOptions>, _> = urls.iter().map(|url| LinkOptions::from_url(url)).collect();
        self.connect_with(options.map_err(LockError::Link)?).await
    }

    /// Like [`connect`](Self::connect), with options changed after the URLs were read.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub async fn connect_with(&self, options: Vec<LinkOptions>) -> Result<Redlock, LockError> {
        let (redlock, servers) = self.open(options).await?;
        match servers.reached() {
            reached if reached < servers.majority() => Err(servers.too_few(reached)),
            _ => Ok(redlock),
        }
    }

    /// See [`Redlock::connect_lazy`]. Each server is tried once before this returns, and every second from then on.
    ///
    /// # Errors
    /// [`LockError::Invalid`]: the number of servers, or an address, cannot work. [`LockError::NoQuorum`]: so many servers refuse this
    /// program (password, version) that no majority is left.
    pub async fn connect_lazy(&self, urls: &[&str]) -> Result<Redlock, LockError> {
        let options: Result<Vec<LinkOptions>, _> = urls.iter().map(|url| LinkOptions::from_url(url)).collect();
        let (redlock, servers) = self.open(options.map_err(LockError::Link)?).await?;
        let error = servers.too_few(servers.reached());
        if error.is_retryable() { Ok(redlock) } else { Err(error) }
    }

    /// With the servers that can be reached; the others are tried again every second.
    async fn open(&self, options: Vec<LinkOptions>) -> Result<(Redlock, Arc<Servers>), LockError> {
        self.check(options.len())?;
        let nodes = options.into_iter().map(|options| Node::Redis(RedisNode::new(options, self.clock.clone())));
        let servers = Servers::new(nodes.collect(), self.clock.clone(), self.node_timeout, self.ttl_max);
        let redlock = Redlock::over(&servers, self.clock.clone());
        redlock.steps.open().await;
        Ok((redlock, servers))
    }

    /// Refuses numbers that cannot work.
    fn check(&self, servers: usize) -> Result<(), LockError> {
        let refuse = |sentence| Err(LockError::Invalid(sentence));
        if !SERVERS.contains(&servers) {
            let (least, most) = (SERVERS.start(), SERVERS.end());
            return refuse(format!(
                "a Redlock of {servers} servers; it takes {least} to {most}, and an odd number is best"
            ));
        }
        if self.node_timeout < NODE_TIMEOUT_MIN {
            return refuse(format!("a `node_timeout` of {:?}; the least is {NODE_TIMEOUT_MIN:?}", self.node_timeout));
        }
        if !TTLS.contains(&self.ttl_max) {
            let (least, most) = (TTLS.start(), TTLS.end());
            return refuse(format!("a `ttl_max` of {:?}; it takes {least:?} to {most:?}", self.ttl_max));
        }
        Ok(())
    }
}
