//! Three servers whose time the test controls. The Redis ones are three prefixes on one server: each has its own keys and
//! clock, and may lose its data or be cut off by itself. Tests that stop servers start their own.

use evenkeel::Keel;
use evenkeel::link::LinkOptions;
use evenkeel::lock::{Guard, LockName, Redlock, RedlockBuilder};
use evenkeel::testing::TestClock;
use std::future::Future;
use std::sync::Mutex;
use std::time::Duration;
use testkit::park::{SharedRedis, redis};

/// How many there are.
pub(super) const SERVERS: usize = 3;
/// The ttl of the stories.
pub(super) const TTL: Duration = Duration::from_secs(30);
/// The reduction of a lease that allows for clock drift.
pub(super) const DRIFT: Duration = Duration::from_millis(302);
/// The longest ttl.
pub(super) const TTL_MAX: Duration = Duration::from_secs(40);
/// How long a server sits out.
pub(super) const SIT_OUT: Duration = Duration::from_secs(41);
/// What is locked.
pub(super) const NAME: &str = "stock/42";

pub(super) struct Fleet {
    clock: TestClock,
    store: Store,
    /// How far each server's clock is ahead of the processes'.
    ahead: Mutex<[Duration; SERVERS]>,
}

enum Store {
    Memory(Redlock),
    Redis { shared: Box<SharedRedis>, hand: Keel },
}

impl Fleet {
    pub(super) fn memory() -> Self {
        let clock = TestClock::default();
        let redlock = builder(&clock).memory(SERVERS).unwrap();
        Self { clock, store: Store::Memory(redlock), ahead: Mutex::default() }
    }

    pub(super) async fn redis() -> Self {
        let clock = TestClock::default();
        let shared = redis().await.unwrap();
        let hand = Keel::connect(&shared.url).await.unwrap();
        let fleet = Self { clock, store: Store::Redis { shared: Box::new(shared), hand }, ahead: Mutex::default() };
        fleet.set_time().await;
        // One process initializes the Redlock; all others find it.
        fleet.process().await;
        fleet
    }

    /// A Redlock as one more process would open it.
    pub(super) async fn process(&self) -> Redlock {
        self.process_through(|_, url| url.to_owned()).await
    }

    /// The same, reaching each server through another address.
    pub(super) async fn process_through(&self, address: impl Fn(usize, &str) -> String) -> Redlock {
        match &self.store {
            Store::Memory(redlock) => redlock.another_process(),
            Store::Redis { shared, .. } => {
                let options = (0..SERVERS).map(|server| {
                    let mut options = LinkOptions::from_url(&address(server, &shared.url)).unwrap();
                    options.prefix = self.prefix(server);
                    options
                });
                builder(&self.clock).connect_with(options.collect()).await.unwrap()
            }
        }
    }

    /// The address of the Redis that all servers of this fleet are on.
    pub(super) fn url(&self) -> &str {
        match &self.store {
            Store::Memory(_) => panic!("memory has no address"),
            Store::Redis { shared, .. } => &shared.url,
        }
    }

    /// A server forgets everything.
    pub(super) async fn forget(&self, server: usize) {
        match &self.store {
            Store::Memory(redlock) => redlock.forget(server),
            Store::Redis { hand, .. } => {
                let prefix = self.prefix(server);
                let mut keys = vec![format!("{prefix}:redlock")];
                keys.extend(["lock", "fence", "waiters"].map(|ending| format!("{prefix}:l:{{{NAME}}}:{ending}")));
                hand.link().unwrap().command(b"", redis::cmd("DEL").arg(&keys)).await.unwrap();
            }
        }
    }

    /// Puts a server's clock ahead of all others.
    pub(super) async fn put_ahead(&self, server: usize, span: Duration) {
        self.ahead.lock().unwrap()[server] += span;
        self.set_time().await;
    }

    /// Lets time pass in one leap, for the servers and all processes.
    pub(super) async fn advance(&self, span: Duration) {
        // The servers first: a process must not wake to ask a server whose clock has not advanced yet.
        self.clock.advance(span);
        self.set_time().await;
    }

    /// Lets time pass in small steps, so that woken tasks run.
    pub(super) async fn pass(&self, span: Duration) {
        let step = Duration::from_millis(500);
        let mut left = span;
        while !left.is_zero() {
            self.advance(step.min(left)).await;
            left = left.saturating_sub(step);
            // Real time, so that a server can answer before the clock moves on.
            let _ = tokio::time::timeout(Duration::from_millis(3), std::future::pending::<()>()).await;
        }
    }

    /// Advances time in small steps until `future` is ready: for futures that wait on timers.
    pub(super) async fn while_time_passes<F: Future>(&self, future: F) -> F::Output {
        let mut future = std::pin::pin!(future);
        loop {
            match tokio::time::timeout(Duration::from_millis(3), &mut future).await {
                Ok(output) => return output,
                Err(_) => self.advance(Duration::from_millis(100)).await,
            }
        }
    }

    fn prefix(&self, server: usize) -> String {
        match &self.store {
            Store::Memory(_) => String::new(),
            Store::Redis { shared, .. } => format!("{}s{server}", shared.prefix),
        }
    }

    async fn set_time(&self) {
        let Store::Redis { hand, .. } = &self.store else { return };
        let now_ms = self.clock.clock().unix_ms();
        let ahead = *self.ahead.lock().unwrap();
        for (server, ahead) in ahead.iter().enumerate() {
            let key = format!("{}:test:now_ms", self.prefix(server));
            let now_ms = now_ms + u64::try_from(ahead.as_millis()).unwrap();
            hand.link().unwrap().command(b"", redis::cmd("SET").arg(&key).arg(now_ms)).await.unwrap();
        }
    }
}

pub(super) async fn take(redlock: &Redlock) -> Guard {
    redlock.lock(NAME).ttl(TTL).acquire().await.unwrap()
}

/// The servers on which the lock is held.
pub(super) async fn held_on(redlock: &Redlock) -> Vec<bool> {
    redlock.held_on(&LockName::new(NAME).unwrap()).await
}

pub(super) async fn is_free_everywhere(redlock: &Redlock) -> bool {
    held_on(redlock).await == [false; SERVERS]
}

/// Time advances in leaps here, which must not make a server appear slow.
fn builder(clock: &TestClock) -> RedlockBuilder {
    Redlock::builder().clock(clock.clock()).ttl_max(TTL_MAX).node_timeout(Duration::from_secs(1_000_000))
}
