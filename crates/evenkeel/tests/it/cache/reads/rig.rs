//! A fleet on one store, with its time in the test's hand.

use super::db::Db;
pub(super) use crate::in_time;
use evenkeel::cache::{Cache, CacheBuilder, CacheError, Found, Freshness};
use evenkeel::link::{LinkError, LinkOptions};
use evenkeel::testing::TestClock;
use evenkeel::{Keel, KeelBuilder};
use std::sync::Arc;
use std::time::Duration;
use testkit::park::{SharedRedis, own_redis, redis};
use tokio::task::JoinHandle;

/// One store, and the clock that the store and all processes share.
pub(super) struct Rig {
    clock: TestClock,
    store: Store,
}

enum Store {
    Memory(Keel),
    Redis { server: Box<SharedRedis>, hand: Keel },
}

/// A cache of rows as text, and what its readers would write.
pub(super) type Rows = Cache<u64, String>;

impl Rig {
    pub(super) fn memory() -> Self {
        let clock = TestClock::default();
        let keel = builder(&clock).memory();
        Self { clock, store: Store::Memory(keel) }
    }

    pub(super) async fn redis() -> Self {
        Self::on(redis().await.unwrap()).await
    }

    /// With a Redis that no other test uses.
    pub(super) async fn own_redis() -> Self {
        Self::on(own_redis().await.unwrap()).await
    }

    async fn on(server: SharedRedis) -> Self {
        let clock = TestClock::default();
        let hand = connect(&clock, &server).await;
        let rig = Self { clock, store: Store::Redis { server: Box::new(server), hand } };
        rig.set_time(rig.now_ms()).await;
        rig
    }

    /// A keel as one more process of the fleet would open it.
    pub(super) async fn process(&self) -> Keel {
        match &self.store {
            Store::Memory(keel) => keel.another_process(),
            Store::Redis { server, .. } => connect(&self.clock, server).await,
        }
    }

    /// The cache `row` with a ttl of 10 minutes, in its own process.
    pub(super) async fn rows(&self) -> Rows {
        self.rows_with(|builder| builder).await
    }

    /// The same with other settings.
    pub(super) async fn rows_with(
        &self,
        change: impl FnOnce(CacheBuilder<u64, String>) -> CacheBuilder<u64, String>,
    ) -> Rows {
        let builder = self.process().await.cache("row").ttl(Duration::from_secs(600)).spread(0.0);
        // The machine of the tests may keep a server waiting for longer than a reader should wait.
        let builder = builder.store_timeout(Duration::from_secs(10));
        change(builder).open().await.unwrap()
    }

    /// Lets time pass, for the store and all processes.
    pub(super) async fn advance(&self, span: Duration) {
        // The store first: a process must not wake to ask a store whose clock has not advanced yet.
        self.set_time(self.now_ms() + u64::try_from(span.as_millis()).unwrap()).await;
        self.clock.advance(span);
    }

    fn now_ms(&self) -> u64 {
        self.clock.clock().unix_ms()
    }

    /// Advances time in small steps until `future` is ready: for futures that wait on timers.
    pub(super) async fn while_time_passes<F: Future>(&self, future: F) -> F::Output {
        let mut future = std::pin::pin!(future);
        loop {
            // The pause is real, so that a server has time to answer before the clock moves on.
            match tokio::time::timeout(Duration::from_millis(2), &mut future).await {
                Ok(output) => return output,
                Err(_) => self.advance(Duration::from_millis(20)).await,
            }
        }
    }

    /// Takes the entry of row `key` away, as an eviction does.
    pub(super) async fn evict(&self, key: u64) {
        match &self.store {
            Store::Memory(keel) => keel.entries().remove(&self.entry(key)),
            Store::Redis { .. } => self.command(redis::cmd("DEL").arg(self.entry(key))).await,
        }
    }

    /// Stores bytes under row `key` past all steps.
    pub(super) async fn put(&self, key: u64, bytes: &'static [u8]) {
        match &self.store {
            Store::Memory(keel) => keel.entries().put_raw(&self.entry(key), bytes.into()),
            Store::Redis { .. } => self.command(redis::cmd("SET").arg(self.entry(key)).arg(bytes)).await,
        }
    }

    /// Lets another program write under the key of row `key`: a command, and what follows the key. Redis only.
    pub(super) async fn trespass(&self, key: u64, command: &str, arguments: &[&str]) {
        self.evict(key).await;
        self.command(redis::cmd(command).arg(self.entry(key)).arg(arguments)).await;
    }

    /// Sends a command as an operator does. Redis only.
    pub(super) async fn operate(&self, words: &[&str]) {
        self.command(redis::cmd(words[0]).arg(&words[1..])).await;
    }

    /// The key of row `key` in the store.
    fn entry(&self, key: u64) -> Vec<u8> {
        let prefix = match &self.store {
            Store::Memory(_) => "evenkeel",
            Store::Redis { server, .. } => &server.prefix,
        };
        format!("{prefix}:c:row:{{{key}}}").into_bytes()
    }

    async fn set_time(&self, now_ms: u64) {
        if let Store::Redis { server, .. } = &self.store {
            let key = format!("{}:test:now_ms", server.prefix);
            self.command(redis::cmd("SET").arg(key).arg(now_ms)).await;
        }
    }

    async fn command(&self, cmd: &redis::Cmd) {
        if let Store::Redis { hand, .. } = &self.store {
            hand.link().unwrap().command(b"", cmd).await.unwrap();
        }
    }
}

fn builder(clock: &TestClock) -> KeelBuilder {
    Keel::builder().clock(clock.clock())
}

async fn connect(clock: &TestClock, server: &SharedRedis) -> Keel {
    let mut options = LinkOptions::from_url(&server.url).unwrap();
    options.prefix.clone_from(&server.prefix);
    builder(clock).connect_with(options).await.unwrap()
}

/// One read of row 1, and what it found.
pub(super) async fn find(rows: &Rows, db: &Db) -> Result<Found<String>, CacheError> {
    find_as(rows, db, Freshness::Eventual).await
}

/// The same with another freshness.
pub(super) async fn find_as(rows: &Rows, db: &Db, freshness: Freshness) -> Result<Found<String>, CacheError> {
    rows.get_with(&1, freshness, |key| db.find(*key)).await
}

/// One read of row 1 that must succeed.
pub(super) async fn get(rows: &Rows, db: &Db) -> Option<String> {
    find(rows, db).await.unwrap().value.map(|row| String::clone(&row))
}

/// A reader of row 1 in its own task.
pub(super) fn reader(rows: &Rows, db: &Db) -> JoinHandle<Result<Option<Arc<String>>, CacheError>> {
    let (rows, db) = (rows.clone(), db.clone());
    tokio::spawn(async move { rows.get(&1, |key| db.find(*key)).await })
}

/// What a reader got, as text.
pub(super) async fn row(reader: JoinHandle<Result<Option<Arc<String>>, CacheError>>) -> Option<String> {
    reader.await.unwrap().unwrap().map(|row| String::clone(&row))
}

/// Text as a row.
pub(super) fn some(row: &str) -> Option<String> {
    Some(row.to_owned())
}

/// A command whose answer was lost.
pub(super) fn no_answer() -> CacheError {
    CacheError::Link(LinkError::NoAnswer { reason: "the test took it" })
}
