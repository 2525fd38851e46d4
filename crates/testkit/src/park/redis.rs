//! A test's own prefix on the shared Redis.

use super::{REDIS_VARIABLE, own_name};
use crate::servers::{Redis, RedisOptions};
use anyhow::Result;

/// A Redis that other tests use at the same time, and the prefix under which this test is alone.
///
/// Not for tests that flush, pause, reconfigure or count commands: those start their own [`Redis`].
#[derive(Debug)]
pub struct SharedRedis {
    /// How a client reaches it.
    pub url: String,
    /// Begin every key with this and a colon; no other test does. Letters and digits.
    pub prefix: String,
    /// Kept alive with the handle when the test runs alone.
    _own: Option<Redis>,
}

/// The run's shared Redis with a fresh prefix; without a park, a Redis of this test's own.
///
/// Nothing is removed afterwards: the park's Redis keeps nothing and ends with the run.
pub async fn redis() -> Result<SharedRedis> {
    let prefix = own_name();
    if let Ok(url) = std::env::var(REDIS_VARIABLE) {
        return Ok(SharedRedis { url, prefix, _own: None });
    }
    own_redis_as(prefix).await
}

/// A Redis of this test's own, for a test that flushes it or ends its clients' connections.
pub async fn own_redis() -> Result<SharedRedis> {
    own_redis_as(own_name()).await
}

async fn own_redis_as(prefix: String) -> Result<SharedRedis> {
    let own = Redis::start(RedisOptions::new()).await?;
    Ok(SharedRedis { url: own.url(), prefix, _own: Some(own) })
}
