//! Redis clients that are patient: only a test about silence may give up soon.

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, RedisResult};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) async fn connect(url: &str) -> RedisResult<MultiplexedConnection> {
    connect_within(PATIENCE, url).await
}

/// A client whose commands fail when they are not answered in time.
pub(crate) async fn connect_within(patience: Duration, url: &str) -> RedisResult<MultiplexedConnection> {
    let config =
        AsyncConnectionConfig::new().set_connection_timeout(Some(patience)).set_response_timeout(Some(patience));
    redis::Client::open(url)?.get_multiplexed_async_connection_with_config(&config).await
}

pub(crate) async fn ping(url: &str) -> RedisResult<String> {
    redis::cmd("PING").query_async(&mut connect(url).await?).await
}
