//! A fleet of processes on one store, whose time the test controls.

use evenkeel::clock::Clock;
use evenkeel::link::LinkOptions;
use evenkeel::testing::TestClock;
use evenkeel::{Keel, KeelBuilder};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;
use testkit::park::{SharedRedis, own_redis, redis};

/// One store, and the clock that the store and all processes share.
pub(crate) struct Fleet {
    clock: TestClock,
    pub(crate) store: Store,
    /// How far the store's clock is ahead of the processes'.
    ahead_ms: AtomicU64,
}

pub(crate) enum Store {
    Memory(Keel),
    Redis { server: Box<SharedRedis>, hand: Keel },
}

impl Fleet {
    pub(crate) fn memory() -> Self {
        let clock = TestClock::default();
        let keel = builder(&clock).memory();
        Self { clock, store: Store::Memory(keel), ahead_ms: AtomicU64::new(0) }
    }

    pub(crate) async fn redis() -> Self {
        Self::on(redis().await.unwrap()).await
    }

    /// With a Redis that no other test uses.
    pub(crate) async fn own_redis() -> Self {
        Self::on(own_redis().await.unwrap()).await
    }

    async fn on(server: SharedRedis) -> Self {
        let clock = TestClock::default();
        let hand = connect(&clock, &server.url, &server.prefix).await;
        let store = Store::Redis { server: Box::new(server), hand };
        let fleet = Self { clock, store, ahead_ms: AtomicU64::new(0) };
        fleet.set_time(fleet.now_ms()).await;
        fleet
    }

    /// A keel as one more process of the fleet would open it.
    pub(crate) async fn process(&self) -> Keel {
        match &self.store {
            Store::Memory(keel) => keel.another_process(),
            Store::Redis { server, .. } => connect(&self.clock, &server.url, &server.prefix).await,
        }
    }

    /// Like `process`, with its reports on or off.
    pub(crate) async fn process_that_reports(&self, reports: bool) -> Keel {
        match &self.store {
            Store::Memory(keel) => keel.another_process_that_reports(reports),
            Store::Redis { server, .. } => {
                let mut options = LinkOptions::from_url(&server.url).unwrap();
                server.prefix.clone_into(&mut options.prefix);
                builder(&self.clock).process_reports(reports).connect_with(options).await.unwrap()
            }
        }
    }

    /// A keel of this store that reaches its Redis through another address.
    pub(crate) async fn process_through(&self, url: impl FnOnce(&str) -> String) -> Keel {
        connect(&self.clock, &url(self.url()), self.prefix()).await
    }

    /// The address of the store's Redis.
    pub(crate) fn url(&self) -> &str {
        &self.server().url
    }

    /// The port of the store's Redis.
    pub(crate) fn port(&self) -> u16 {
        self.url().rsplit(':').next().and_then(|tail| tail.split(['/', '?']).next()?.parse().ok()).unwrap()
    }

    /// The prefix of all keys of the store.
    pub(crate) fn prefix(&self) -> &str {
        &self.server().prefix
    }

    fn server(&self) -> &SharedRedis {
        let Store::Redis { server, .. } = &self.store else { panic!("the embedded store has no server") };
        server
    }

    /// Lets time pass in one leap, for the store and all processes: as if all of them had been paused.
    pub(crate) async fn advance(&self, span: Duration) {
        // The store first: a process must not wake to ask a store whose clock has not advanced yet.
        self.set_time(self.now_ms() + u64::try_from(span.as_millis()).unwrap()).await;
        self.clock.advance(span);
    }

    /// The same for the processes alone: their store's time is frozen.
    pub(crate) fn advance_processes(&self, span: Duration) {
        self.clock.advance(span);
    }

    /// The same for the store alone: the processes' time is frozen.
    pub(crate) async fn advance_store(&self, span: Duration) {
        self.ahead_ms.fetch_add(u64::try_from(span.as_millis()).unwrap(), SeqCst);
        self.set_time(self.now_ms()).await;
    }

    /// Sets the clock of the store back, as a failover to another server may.
    pub(crate) async fn set_back(&self, span: Duration) {
        self.clock.set_back(span);
        self.set_time(self.now_ms()).await;
    }

    /// The clock of the processes.
    pub(crate) fn clock(&self) -> Clock {
        self.clock.clock()
    }

    /// The store's time.
    pub(crate) fn now_ms(&self) -> u64 {
        self.clock.clock().unix_ms() + self.ahead_ms.load(SeqCst)
    }

    /// Advances time in small steps until `future` is ready: for futures that wait on timers.
    pub(crate) async fn while_time_passes<F: Future>(&self, future: F) -> F::Output {
        self.while_time_passes_by(Duration::from_millis(100), future).await
    }

    /// The same in steps of another length.
    pub(crate) async fn while_time_passes_by<F: Future>(&self, step: Duration, future: F) -> F::Output {
        let mut future = std::pin::pin!(future);
        loop {
            // The pause is real, so that a server has time to answer before the clock moves on.
            match tokio::time::timeout(Duration::from_millis(2), &mut future).await {
                Ok(output) => return output,
                Err(_) => self.advance(step).await,
            }
        }
    }

    /// Sends a command to the store's Redis, for the slot of `key`, as another program would.
    pub(crate) async fn command(&self, key: &[u8], cmd: &redis::Cmd) -> redis::Value {
        let Store::Redis { hand, .. } = &self.store else { panic!("the embedded store accepts no commands") };
        hand.link().unwrap().command(key, cmd).await.unwrap()
    }

    async fn set_time(&self, now_ms: u64) {
        if let Store::Redis { server, .. } = &self.store {
            let key = format!("{}:test:now_ms", server.prefix);
            self.command(key.as_bytes(), redis::cmd("SET").arg(&key).arg(now_ms)).await;
        }
    }
}

fn builder(clock: &TestClock) -> KeelBuilder {
    Keel::builder().clock(clock.clock())
}

async fn connect(clock: &TestClock, url: &str, prefix: &str) -> Keel {
    let mut options = LinkOptions::from_url(url).unwrap();
    prefix.clone_into(&mut options.prefix);
    builder(clock).connect_with(options).await.unwrap()
}
