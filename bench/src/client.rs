//! The plain client that ours is compared through.

use anyhow::Result;
use redis::aio::MultiplexedConnection;
use redis::io::tcp::TcpSettings;
use redis::{AsyncConnectionConfig, Client, IntoConnectionInfo};
use std::time::Duration;

/// The client's own default (50) would throttle the peer; this is as much as the library gives itself.
const BUFFER: usize = 10_000;
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) async fn connect(url: &str) -> Result<MultiplexedConnection> {
    let config =
        AsyncConnectionConfig::new().set_pipeline_buffer_size(BUFFER).set_response_timeout(Some(RESPONSE_TIMEOUT));
    let nodelay = TcpSettings::default().set_nodelay(true);
    let info = format!("{url}/?protocol=resp3").into_connection_info()?.set_tcp_settings(nodelay);
    Ok(Client::open(info)?.get_multiplexed_async_connection_with_config(&config).await?)
}
