//! A backend under test: its steps, its clock, and what other programs or failures may do to its entries.

use crate::park::{SharedRedis, redis};
use anyhow::Result;
use bytes::Bytes;
use evenkeel::link::{Link, LinkOptions};
use evenkeel::testing::TestClock;
use evenkeel_protocol::cache::keys::CacheKeys;
use evenkeel_protocol::cache::memory::{EntryStore, MemoryCache};
use evenkeel_protocol::cache::redis::RedisCache;
use evenkeel_protocol::cache::steps::CacheSteps;
use std::sync::Arc;
use std::time::Duration;

const CACHE: &str = "conformance";

/// The backend of a story. Time is frozen unless the story advances it.
pub trait Backend: Sync {
    /// The steps under test.
    type Steps: CacheSteps;

    /// The steps under test.
    fn steps(&self) -> &Self::Steps;

    /// The store's time.
    fn now_ms(&self) -> u64;

    /// Lets time pass.
    fn advance(&self, span_ms: u64) -> impl Future<Output = ()> + Send;

    /// Sets the store's clock back.
    fn set_back(&self, span_ms: u64) -> impl Future<Output = ()> + Send;

    /// Takes the entry away, as an eviction or a flush does.
    fn evict(&self, key: &[u8]) -> impl Future<Output = ()> + Send;

    /// Stores bytes past all steps: what a foreign program, a failover or a newer Evenkeel may leave there.
    fn put(&self, key: &[u8], bytes: Bytes) -> impl Future<Output = ()> + Send;
}

/// The model.
#[derive(Debug)]
pub struct InMemory {
    steps: MemoryCache,
    store: Arc<EntryStore>,
    clock: TestClock,
}

impl Default for InMemory {
    fn default() -> Self {
        let clock = TestClock::default();
        let store = Arc::new(EntryStore::new(usize::MAX));
        let steps = MemoryCache::new(Arc::clone(&store), clock.clock(), CacheKeys::new("memory", CACHE));
        Self { steps, store, clock }
    }
}

impl Backend for InMemory {
    type Steps = MemoryCache;

    fn steps(&self) -> &MemoryCache {
        &self.steps
    }

    fn now_ms(&self) -> u64 {
        self.clock.clock().unix_ms()
    }

    async fn advance(&self, span_ms: u64) {
        self.clock.advance(Duration::from_millis(span_ms));
    }

    async fn set_back(&self, span_ms: u64) {
        self.clock.set_back(Duration::from_millis(span_ms));
    }

    async fn evict(&self, key: &[u8]) {
        self.store.remove(&CacheKeys::new("memory", CACHE).key(key));
    }

    async fn put(&self, key: &[u8], bytes: Bytes) {
        self.store.put_raw(&CacheKeys::new("memory", CACHE).key(key), bytes);
    }
}

/// The scripts, on a real server whose time is held still for this test's prefix.
///
/// Keys still expire in real time, so stories use spans of minutes.
pub struct OnRedis {
    steps: RedisCache,
    link: Link,
    keys: CacheKeys,
    clock: TestClock,
    /// Kept alive, if it is this test's own.
    server: Option<SharedRedis>,
}

impl OnRedis {
    /// A backend on the run's Redis, under its own prefix.
    pub async fn start() -> Result<Self> {
        let server = redis().await?;
        let mut backend = Self::on(&server.url, &server.prefix).await?;
        backend.server = Some(server);
        Ok(backend)
    }

    /// A backend on a server that the caller keeps, under an unused prefix.
    pub async fn on(url: &str, prefix: &str) -> Result<Self> {
        let clock = TestClock::default();
        let mut options = LinkOptions::from_url(url)?;
        prefix.clone_into(&mut options.prefix);
        let link = Link::connect(options, clock.clock()).await?;
        let keys = CacheKeys::new(prefix, CACHE);
        let backend = Self { steps: RedisCache::new(link.clone(), keys.clone()), link, keys, clock, server: None };
        backend.hold_time_still().await;
        Ok(backend)
    }

    /// What Redis says to one command on the entry of `key`, for what only a real server has (its own expiry).
    pub async fn command(&self, name: &str, key: &[u8]) -> ::redis::Value {
        self.send(::redis::cmd(name).arg(self.keys.key(key))).await
    }

    /// Puts a list where the entry would be.
    pub async fn push(&self, key: &[u8]) {
        self.send(::redis::cmd("RPUSH").arg(self.keys.key(key)).arg("something else")).await;
    }

    async fn hold_time_still(&self) {
        let key = format!("{}:test:now_ms", self.link.prefix());
        self.send(::redis::cmd("SET").arg(key).arg(self.now_ms())).await;
    }

    async fn send(&self, command: &::redis::Cmd) -> ::redis::Value {
        let answer = self.link.command(b"", command).await;
        answer.unwrap_or_else(|error| panic!("{}: {error}", self.link.address()))
    }
}

impl Backend for OnRedis {
    type Steps = RedisCache;

    fn steps(&self) -> &RedisCache {
        &self.steps
    }

    fn now_ms(&self) -> u64 {
        self.clock.clock().unix_ms()
    }

    async fn advance(&self, span_ms: u64) {
        self.clock.advance(Duration::from_millis(span_ms));
        self.hold_time_still().await;
    }

    async fn set_back(&self, span_ms: u64) {
        self.clock.set_back(Duration::from_millis(span_ms));
        self.hold_time_still().await;
    }

    async fn evict(&self, key: &[u8]) {
        self.command("DEL", key).await;
    }

    async fn put(&self, key: &[u8], bytes: Bytes) {
        self.send(::redis::cmd("SET").arg(self.keys.key(key)).arg(&bytes[..])).await;
    }
}
