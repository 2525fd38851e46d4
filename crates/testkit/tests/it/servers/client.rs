//! Redis clients with a long timeout: only a test about silence may give up soon.

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, RedisResult};
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) async fn connect(url: &str) -> RedisResult<MultiplexedConnection> {
    connect_within(TIMEOUT, url).await
}

/// A client whose commands fail when they are not answered in time.
pub(crate) async fn connect_within(wait_max: Duration, url: &str) -> RedisResult<MultiplexedConnection> {
    let config =
        AsyncConnectionConfig::new().set_connection_timeout(Some(wait_max)).set_response_timeout(Some(wait_max));
    redis::Client::open(url)?.get_multiplexed_async_connection_with_config(&config).await
}

pub(crate) async fn ping(url: &str) -> RedisResult<String> {
    redis::cmd("PING").query_async(&mut connect(url).await?).await
}
