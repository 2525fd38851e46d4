//! A Redis of the test's own, a process that reaches it through a proxy, and one that reaches it directly. Time is frozen
//! for both processes and for Redis, unless a test advances it.

use super::super::rig::Rows;
use super::near_with;
use evenkeel::Keel;
use evenkeel::cache::CacheBuilder;
use evenkeel::link::LinkState;
use evenkeel::testing::TestClock;
use std::time::Duration;
use testkit::proxy::Proxy;
use testkit::servers::{Redis, RedisOptions};
use tokio::time::timeout;

/// Far above what any recovery takes; a test that hangs fails instead.
const TIMEOUT: Duration = Duration::from_secs(60);

pub(super) struct Stand {
    pub(super) clock: TestClock,
    pub(super) redis: Redis,
    pub(super) proxy: Proxy,
    /// Behind the proxy.
    pub(super) keel: Keel,
    pub(super) elsewhere: Rows,
}

impl Stand {
    /// `options` are of the URL of the process behind the proxy.
    pub(super) async fn start(options: &str) -> Self {
        let redis = Redis::start(RedisOptions::new()).await.unwrap();
        let proxy = Proxy::start(redis.port(), 7).await.unwrap();
        let clock = TestClock::default();
        let now_ms = clock.clock().unix_ms().to_string();
        redis.command::<()>(&["SET", "evenkeel:test:now_ms", &now_ms]).await.unwrap();
        let keel = connect(&clock, &format!("{}?{options}", proxy.url(&redis.url()))).await;
        let other = connect(&clock, &redis.url()).await;
        let elsewhere = other.cache("row").ttl(Duration::from_secs(600)).ttl_jitter(0.0).open().await.unwrap();
        Self { clock, redis, proxy, keel, elsewhere }
    }

    /// The cache of the process behind the proxy, with a near cache.
    pub(super) async fn rows(
        &self,
        change: impl FnOnce(CacheBuilder<u64, String>) -> CacheBuilder<u64, String>,
    ) -> Rows {
        near_with(&self.keel, change).await
    }

    /// Lets time pass for Redis and the processes.
    pub(super) async fn advance(&self, span: Duration) {
        let now_ms = self.clock.clock().unix_ms() + u64::try_from(span.as_millis()).unwrap();
        self.redis.command::<()>(&["SET", "evenkeel:test:now_ms", &now_ms.to_string()]).await.unwrap();
        self.clock.advance(span);
    }

    /// Waits for an epoch of the process behind the proxy that comes after this one.
    pub(super) async fn epoch_after(&self, number: u64) {
        let mut state = self.keel.link().unwrap().state();
        let newer = |state: &LinkState| matches!(state, LinkState::Up { epoch } if *epoch > number);
        assert!(timeout(TIMEOUT, state.wait_for(newer)).await.is_ok(), "the link came back");
    }

    /// Waits until the process behind the proxy knows that its connections have ended.
    pub(super) async fn down(&self) {
        let mut state = self.keel.link().unwrap().state();
        assert!(timeout(TIMEOUT, state.wait_for(|state| !state.is_up())).await.is_ok(), "the link is down");
    }
}

async fn connect(clock: &TestClock, url: &str) -> Keel {
    Keel::builder().clock(clock.clock()).connect(url).await.unwrap()
}
