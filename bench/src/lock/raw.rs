//! The fewest commands that make a lock: `SET NX PX`, and a script that deletes what the caller has set.

use super::TTL;
use super::pairs::Names;
use crate::load::rate;
use anyhow::{Context, Result, ensure};
use redis::aio::MultiplexedConnection;
use redis::io::tcp::TcpSettings;
use redis::{Client, IntoConnectionInfo, Script};
use std::sync::Arc;
use std::time::Duration;

const DELETE: &str = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";

/// A plain client that shares one connection among all tasks.
#[derive(Clone)]
pub(crate) struct Raw {
    connection: MultiplexedConnection,
    delete: Arc<Script>,
}

impl Raw {
    pub(crate) async fn open(url: &str) -> Result<Self> {
        let nodelay = TcpSettings::default().set_nodelay(true);
        let info = format!("{url}/?protocol=resp3").into_connection_info()?.set_tcp_settings(nodelay);
        let connection = Client::open(info)?.get_multiplexed_async_connection().await?;
        Ok(Self { connection, delete: Arc::new(Script::new(DELETE)) })
    }

    /// Acquisitions with their releases a second.
    pub(crate) async fn pairs(&self, tasks: usize, span: Duration) -> Result<f64> {
        let (raw, names) = (self.clone(), Names::new("raw", tasks));
        rate(tasks, span, move |random| {
            let (raw, names) = (raw.clone(), names.clone());
            async move {
                let name = names.take().context("each task has a name")?;
                raw.pair(&name, random).await?;
                names.give_back(name);
                Ok(())
            }
        })
        .await
    }

    async fn pair(mut self, name: &str, owner: u64) -> Result<()> {
        let mut set = redis::cmd("SET");
        set.arg(name).arg(owner).arg("NX").arg("PX").arg(u64::try_from(TTL.as_millis())?);
        let taken: Option<String> = set.query_async(&mut self.connection).await?;
        ensure!(taken.is_some(), "{name} has another holder");
        let deleted: u64 = self.delete.key(name).arg(owner).invoke_async(&mut self.connection).await?;
        ensure!(deleted == 1, "{name} had another holder");
        Ok(())
    }
}
