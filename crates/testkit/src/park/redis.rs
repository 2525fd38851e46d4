//! A prefix of a test's own on the shared Redis.

use super::{REDIS_VARIABLE, own_name};
use crate::servers::{Redis, RedisOptions};
use anyhow::Result;

/// A Redis that other tests use at the same time, and a prefix that only this test uses.
///
/// Tests that flush, pause, reconfigure, or count commands start a [`Redis`] of their own instead.
#[derive(Debug)]
pub struct SharedRedis {
    /// The address.
    pub url: String,
    /// The prefix of every key, followed by a colon. Letters and digits.
    pub prefix: String,
    /// The server, if it is the test's own.
    _own: Option<Redis>,
}

/// The shared Redis with a new prefix; without a park, a Redis of the test's own.
///
/// The keys are not removed, because the shared Redis ends with the run.
pub async fn redis() -> Result<SharedRedis> {
    let prefix = own_name();
    if let Ok(url) = std::env::var(REDIS_VARIABLE) {
        return Ok(SharedRedis { url, prefix, _own: None });
    }
    own_redis_as(prefix).await
}

/// A Redis of the test's own, for a test that flushes it or closes its connections.
pub async fn own_redis() -> Result<SharedRedis> {
    own_redis_as(own_name()).await
}

async fn own_redis_as(prefix: String) -> Result<SharedRedis> {
    let own = Redis::start(RedisOptions::new()).await?;
    Ok(SharedRedis { url: own.url(), prefix, _own: Some(own) })
}
