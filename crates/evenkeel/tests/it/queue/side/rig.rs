//! A fleet on one store, with its time in the test's hand.

pub(super) use crate::in_time;
use evenkeel::link::LinkOptions;
use evenkeel::queue::{JobId, Queue, QueueBuilder};
use evenkeel::testing::TestClock;
use evenkeel::{Keel, KeelBuilder};
use evenkeel_protocol::queue::steps::{Found, State};
use std::time::Duration;
use testkit::park::{SharedRedis, redis};

/// One store, and the clock that the store and all processes share.
pub(super) struct Rig {
    clock: TestClock,
    store: Store,
}

enum Store {
    Memory(Keel),
    Redis { server: Box<SharedRedis>, hand: Keel },
}

/// A queue of text.
pub(super) type Mail = Queue<String>;

impl Rig {
    pub(super) fn memory() -> Self {
        let clock = TestClock::default();
        let keel = builder(&clock).memory();
        Self { clock, store: Store::Memory(keel) }
    }

    pub(super) async fn redis() -> Self {
        let clock = TestClock::default();
        let server = redis().await.unwrap();
        let hand = connect(&clock, &server.url, &server.prefix).await;
        let rig = Self { clock, store: Store::Redis { server: Box::new(server), hand } };
        rig.set_time(rig.now_ms()).await;
        rig
    }

    /// A keel as one more process of the fleet would open it.
    pub(super) async fn process(&self) -> Keel {
        match &self.store {
            Store::Memory(keel) => keel.another_process(),
            Store::Redis { server, .. } => connect(&self.clock, &server.url, &server.prefix).await,
        }
    }

    /// A keel of this store that reaches its Redis through another address.
    pub(super) async fn process_through(&self, url: impl FnOnce(&str) -> String) -> Keel {
        match &self.store {
            Store::Memory(_) => panic!("nothing lies between a process and its own memory"),
            Store::Redis { server, .. } => connect(&self.clock, &url(&server.url), &server.prefix).await,
        }
    }

    /// The address of the store's Redis.
    pub(super) fn url(&self) -> &str {
        match &self.store {
            Store::Memory(_) => panic!("memory has no address"),
            Store::Redis { server, .. } => &server.url,
        }
    }

    /// The port of the store's Redis.
    pub(super) fn port(&self) -> u16 {
        self.url().rsplit(':').next().and_then(|tail| tail.split(['/', '?']).next()?.parse().ok()).unwrap()
    }

    /// What all keys of the store begin with.
    pub(super) fn prefix(&self) -> &str {
        match &self.store {
            Store::Memory(_) => panic!("memory has no keys"),
            Store::Redis { server, .. } => &server.prefix,
        }
    }

    /// The queue `mail`, in its own process.
    pub(super) async fn mail(&self) -> Mail {
        self.mail_with(|builder| builder).await
    }

    /// The same with other settings.
    pub(super) async fn mail_with(&self, change: impl FnOnce(QueueBuilder<String>) -> QueueBuilder<String>) -> Mail {
        change(self.process().await.queue("mail")).open().await.unwrap()
    }

    /// Lets time pass, for the store and all processes.
    pub(super) async fn advance(&self, span: Duration) {
        // The store first: a process must not wake to ask a store whose clock has not advanced yet.
        self.set_time(self.now_ms() + u64::try_from(span.as_millis()).unwrap()).await;
        self.clock.advance(span);
    }

    /// The store's time.
    pub(super) fn now_ms(&self) -> u64 {
        self.clock.clock().unix_ms()
    }

    /// Advances time in small steps until `future` is ready: for futures that wait on timers.
    pub(super) async fn while_time_passes<F: Future>(&self, future: F) -> F::Output {
        self.while_time_passes_by(Duration::from_millis(100), future).await
    }

    /// The same in steps of another length: for futures that wait for minutes.
    pub(super) async fn while_time_passes_by<F: Future>(&self, step: Duration, future: F) -> F::Output {
        let mut future = std::pin::pin!(future);
        loop {
            // The pause is real, so that a server has time to answer before the clock moves on.
            match tokio::time::timeout(Duration::from_millis(2), &mut future).await {
                Ok(output) => return output,
                Err(_) => self.advance(step).await,
            }
        }
    }

    /// Waits until no consumer is left to wake for the shard of this tag.
    pub(super) async fn until_notified(&self, tag: &str) {
        let Store::Redis { hand, .. } = &self.store else { return };
        let markers = redis::cmd("ZCARD").arg(format!("{tag}:wake")).clone();
        while hand.link().unwrap().command(tag.as_bytes(), &markers).await.unwrap() != redis::Value::Int(0) {}
    }

    async fn set_time(&self, now_ms: u64) {
        if let Store::Redis { server, hand } = &self.store {
            let key = format!("{}:test:now_ms", server.prefix);
            hand.link().unwrap().command(key.as_bytes(), redis::cmd("SET").arg(&key).arg(now_ms)).await.unwrap();
        }
    }
}

/// Where a job is; `None` once it has ended.
pub(super) async fn state(mail: &Mail, id: &JobId) -> Option<State> {
    match mail.find(id).await.unwrap() {
        Some(Found::Live { state, .. }) => Some(state),
        _ => None,
    }
}

/// Waits until a job has ended, without letting time pass.
pub(super) async fn ended(mail: &Mail, id: &JobId) {
    while state(mail, id).await.is_some() {
        tokio::task::yield_now().await;
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
