//! The Redis under test, and the plain client it is compared through.

use super::{KEYS, VALUE_BYTES};
use crate::client::connect;
use crate::pin;
use anyhow::Result;
use redis::Pipeline;
use redis::aio::MultiplexedConnection;
use testkit::servers::{Redis, RedisOptions};

/// Commands per write while filling.
const BATCH: u64 = 1_000;

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
