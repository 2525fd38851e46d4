//! The Redis under test, and the plain client it is compared through.

use super::{KEYS, VALUE_BYTES};
use crate::pin;
use anyhow::Result;
use redis::aio::MultiplexedConnection;
use redis::io::tcp::TcpSettings;
use redis::{AsyncConnectionConfig, Client, IntoConnectionInfo, Pipeline};
use std::time::Duration;
use testkit::servers::{Redis, RedisOptions};

/// Commands per write while filling.
const BATCH: u64 = 1_000;
/// The client's own default (50) would throttle the peer; this is as much as the library gives itself.
const BUFFER: usize = 10_000;
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(5);

/// A pinned Redis with every key in it.
pub(crate) struct Server {
    redis: Redis,
    pub(crate) raw: MultiplexedConnection,
}

impl Server {
    pub(crate) async fn start() -> Result<Self> {
        let redis = Redis::start(RedisOptions::new()).await?;
        pin::process(redis.process_id(), pin::SERVER_CORE)?;
        let raw = connect(&redis.url()).await?;
        let server = Self { redis, raw };
        server.fill().await?;
        Ok(server)
    }

    pub(crate) fn url(&self) -> String {
        self.redis.url()
    }

    async fn fill(&self) -> Result<()> {
        let value = vec![b'x'; VALUE_BYTES];
        for first in (0..KEYS).step_by(usize::try_from(BATCH)?) {
            let mut pipeline = Pipeline::new();
            for key in first..first + BATCH {
                pipeline.cmd("SET").arg(key_of(key)).arg(&value).ignore();
            }
            pipeline.query_async::<()>(&mut self.raw.clone()).await?;
        }
        Ok(())
    }
}

/// The key a plain read uses, built anew for each read as the library builds its own.
pub(crate) fn key_of(number: u64) -> String {
    format!("evenkeel:r:bench:{{{}}}", number % KEYS)
}

async fn connect(url: &str) -> Result<MultiplexedConnection> {
    let config =
        AsyncConnectionConfig::new().set_pipeline_buffer_size(BUFFER).set_response_timeout(Some(RESPONSE_TIMEOUT));
    let nodelay = TcpSettings::default().set_nodelay(true);
    let info = format!("{url}/?protocol=resp3").into_connection_info()?.set_tcp_settings(nodelay);
    Ok(Client::open(info)?.get_multiplexed_async_connection_with_config(&config).await?)
}
