//! Update windows that count as open only once replicas of Redis have them.

use super::error::CacheError;
use super::redis::RedisCache;
use super::steps::{BeginWrite, Begun};
use evenkeel_link::support::{guard, ms};
use evenkeel_link::{Blocking, Link, LinkError};
use redis::Value;
use std::time::Duration;
use tokio::sync::Mutex;

/// How many replicas must have a window, and the connection that asks them: `WAIT` holds up whatever comes behind it.
pub struct OnReplicas {
    count: u32,
    timeout: Duration,
    lane: Mutex<Option<Blocking>>,
}

impl OnReplicas {
    /// For windows that `count` replicas must have within `timeout`.
    pub fn new(count: u32, timeout: Duration) -> Self {
        Self { count, timeout, lane: Mutex::default() }
    }

    /// Opens a window and waits for the replicas, in one write. One writer of this process after the other.
    pub(crate) async fn begin_write(
        &self,
        steps: &RedisCache,
        link: &Link,
        key: &[u8],
        begin: &BeginWrite,
    ) -> Result<Begun, CacheError> {
        let mut wait = redis::cmd("WAIT");
        wait.arg(self.count).arg(ms(self.timeout).max(1));
        let mut lane = self.lane.lock().await;
        let mut connection = match lane.take().filter(Blocking::is_open) {
            Some(connection) => connection,
            None => link.blocking().await?,
        };
        let answered = steps.begin_write_and_wait(&mut connection, key, begin, &wait, self.timeout).await;
        *lane = Some(connection);
        let (begun, waited) = answered?;
        let confirmed = match waited {
            Value::Int(replicas) => u32::try_from(replicas).unwrap_or(0),
            Value::ServerError(error) => {
                tracing::warn!(error = error.details(), code = error.code(), "the server cannot confirm copies");
                0
            }
            other => return Err(LinkError::Unexpected(format!("WAIT: {other:?}")).into()),
        };
        match begun {
            Begun::Open { .. } if confirmed < self.count && guard("window_on_replicas") => {
                Err(CacheError::WindowNotReplicated { wanted: self.count, confirmed })
            }
            begun => Ok(begun),
        }
    }
}
