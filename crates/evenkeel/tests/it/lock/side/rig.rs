//! A fleet on one store, with its time in the test's hand.

pub(in crate::lock) use crate::in_time;
use evenkeel::link::LinkOptions;
use evenkeel::testing::TestClock;
use evenkeel::{Keel, KeelBuilder};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use testkit::CommandTrace;
use testkit::park::{SharedRedis, redis};
use testkit::servers::Redis;

/// The ttl of the stories.
pub(in crate::lock) const TTL: Duration = Duration::from_secs(30);

/// One store, and the clock that the store and all processes share.
pub(in crate::lock) struct Rig {
    clock: TestClock,
    store: Store,
    /// By how much the store's clock is ahead of the processes'.
    ahead_ms: AtomicU64,
}

enum Store {
    Memory(Keel),
    Redis { server: Box<SharedRedis>, hand: Keel },
}

impl Rig {
    pub(in crate::lock) fn memory() -> Self {
        let clock = TestClock::default();
        let keel = builder(&clock).memory();
        Self { clock, store: Store::Memory(keel), ahead_ms: AtomicU64::new(0) }
    }

    pub(in crate::lock) async fn redis() -> Self {
        let clock = TestClock::default();
        let server = redis().await.unwrap();
        let hand = connect(&clock, &server.url, &server.prefix).await;
        let rig = Self { clock, store: Store::Redis { server: Box::new(server), hand }, ahead_ms: AtomicU64::new(0) };
        rig.set_time(rig.now_ms()).await;
        rig
    }

    /// A keel as one more process of the fleet would open it.
    pub(in crate::lock) async fn process(&self) -> Keel {
        match &self.store {
            Store::Memory(keel) => keel.another_process(),
            Store::Redis { server, .. } => connect(&self.clock, &server.url, &server.prefix).await,
        }
    }

    /// A keel of this store that reaches its Redis through another address.
    pub(in crate::lock) async fn process_through(&self, url: impl FnOnce(&str) -> String) -> Keel {
        match &self.store {
            Store::Memory(_) => panic!("nothing lies between a process and its own memory"),
            Store::Redis { server, .. } => connect(&self.clock, &url(&server.url), &server.prefix).await,
        }
    }

    /// The port of the store's Redis.
    pub(in crate::lock) fn port(&self) -> u16 {
        let Store::Redis { server, .. } = &self.store else { panic!("memory has no address") };
        server.url.rsplit(':').next().and_then(|tail| tail.split(['/', '?']).next()?.parse().ok()).unwrap()
    }

    /// A key of the store's.
    pub(in crate::lock) fn key_of(&self, rest: &str) -> String {
        let Store::Redis { server, .. } = &self.store else { panic!("memory has no keys") };
        format!("{}:{rest}", server.prefix)
    }

    /// The key of a lock that ends so.
    pub(in crate::lock) fn key(&self, name: &str, ending: &str) -> String {
        self.key_of(&format!("l:{{{name}}}:{ending}"))
    }

    /// Lets time pass in one leap, for the store and all processes: as if all of them had been paused.
    pub(in crate::lock) async fn advance(&self, span: Duration) {
        // The store first: a process must not wake to ask a store whose clock has not advanced yet.
        self.set_time(self.now_ms() + u64::try_from(span.as_millis()).unwrap()).await;
        self.clock.advance(span);
    }

    /// The same for the processes alone: their store's time is frozen.
    pub(in crate::lock) fn advance_processes(&self, span: Duration) {
        self.clock.advance(span);
    }

    /// The same for the store alone: the processes' time is frozen.
    pub(in crate::lock) async fn advance_store(&self, span: Duration) {
        self.ahead_ms.fetch_add(u64::try_from(span.as_millis()).unwrap(), SeqCst);
        self.set_time(self.now_ms()).await;
    }

    /// Sets the clock of the store back, as a failover to another server may.
    pub(in crate::lock) async fn set_back(&self, span: Duration) {
        self.clock.set_back(span);
        self.set_time(self.now_ms()).await;
    }

    /// The store forgets everything about a lock.
    pub(in crate::lock) async fn forget(&self, name: &str) {
        let Store::Redis { server, hand } = &self.store else { panic!("memory forgets nothing") };
        for ending in ["lock", "fence", "waiters", "rw", "permits"] {
            let key = format!("{}:l:{{{name}}}:{ending}", server.prefix);
            hand.link().unwrap().command(key.as_bytes(), redis::cmd("DEL").arg(&key)).await.unwrap();
        }
    }

    /// Lets time pass in small steps, with room for what it wakes.
    pub(in crate::lock) async fn pass(&self, span: Duration) {
        let step = Duration::from_millis(500);
        let mut left = span;
        while !left.is_zero() {
            self.advance(step.min(left)).await;
            left = left.saturating_sub(step);
            // Real time, so that a server can answer before the clock moves on.
            let _ = tokio::time::timeout(Duration::from_millis(2), std::future::pending::<()>()).await;
        }
    }

    /// Advances time in small steps until `future` is ready: for futures that wait on timers.
    pub(in crate::lock) async fn while_time_passes<F: Future>(&self, future: F) -> F::Output {
        let mut future = std::pin::pin!(future);
        loop {
            match tokio::time::timeout(Duration::from_millis(2), &mut future).await {
                Ok(output) => return output,
                Err(_) => self.advance(Duration::from_millis(100)).await,
            }
        }
    }

    fn now_ms(&self) -> u64 {
        self.clock.clock().unix_ms() + self.ahead_ms.load(SeqCst)
    }

    async fn set_time(&self, now_ms: u64) {
        if let Store::Redis { server, hand } = &self.store {
            let key = format!("{}:test:now_ms", server.prefix);
            hand.link().unwrap().command(key.as_bytes(), redis::cmd("SET").arg(&key).arg(now_ms)).await.unwrap();
        }
    }
}

/// Waits until what is held under `renewed` was renewed: by then every renewal of what is over would have come, too. None may.
pub(in crate::lock) async fn renewed_alone(trace: &mut CommandTrace, redis: &Redis, renewed: &str, over: &str) {
    in_time(async {
        loop {
            let seen = trace.take(redis).await.unwrap().from_clients();
            let on = |name: &str| seen.0.iter().any(|command| command.arguments.iter().any(|word| word.contains(name)));
            assert!(!on(over), "{seen:?}");
            if on(renewed) {
                return;
            }
        }
    })
    .await;
}

/// Waits, without letting time pass, until `condition` holds.
pub(in crate::lock) async fn until(mut condition: impl AsyncFnMut() -> bool) {
    while !condition().await {
        tokio::task::yield_now().await;
    }
}

/// Whether a future is ready when it is polled once.
pub(in crate::lock) fn is_ready<F: Future + ?Sized>(future: Pin<&mut F>) -> bool {
    matches!(future.poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(_))
}

fn builder(clock: &TestClock) -> KeelBuilder {
    Keel::builder().clock(clock.clock())
}

async fn connect(clock: &TestClock, url: &str, prefix: &str) -> Keel {
    let mut options = LinkOptions::from_url(url).unwrap();
    options.prefix = prefix.to_owned();
    builder(clock).connect_with(options).await.unwrap()
}
