//! Update windows that count as open only after replicas of Redis have confirmed them.

use super::error::CacheError;
use super::redis::RedisCache;
use super::steps::{BeginWrite, Begun};
use evenkeel_link::support::{guard, ms};
use evenkeel_link::{Blocking, Link, LinkError};
use redis::Value;
use std::time::Duration;
use tokio::sync::Mutex;

/// The required number of replicas, and the dedicated connection that waits for them, because `WAIT` blocks its connection.
pub struct OnReplicas {
    count: u32,
    timeout: Duration,
    idle: Mutex<Option<Blocking>>,
}

impl OnReplicas {
    /// For windows that `count` replicas must confirm within `timeout`.
    pub fn new(count: u32, timeout: Duration) -> Self {
        Self { count, timeout, idle: Mutex::default() }
    }

    /// Opens a window and waits for the replicas, in one write. Concurrent calls of this process run one after the other.
    pub(crate) async fn begin_write(
        &self,
        steps: &RedisCache,
        link: &Link,
        key: &[u8],
        begin: &BeginWrite,
    ) -> Result<Begun, CacheError> {
        let mut wait = redis::cmd("WAIT");
        wait.arg(self.count).arg(ms(self.timeout).max(1));
        let mut idle = self.idle.lock().await;
        let mut connection = match idle.take().filter(Blocking::is_open) {
            Some(connection) => connection,
            None => link.blocking().await?,
        };
        let answered = steps.begin_write_and_wait(&mut connection, key, begin, &wait, self.timeout).await;
        *idle = Some(connection);
        let (begun, waited) = answered?;
        let confirmed = match waited {
            Value::Int(replicas) => u32::try_from(replicas).unwrap_or(0),
            Value::ServerError(error) => {
                tracing::warn!(
                    error = error.details(),
                    code = error.code(),
                    "Redis rejected WAIT; no replica confirmed the update window"
                );
                0
            }
            other => return Err(LinkError::Unexpected(format!("WAIT: {other:?}")).into()),
        };
        match begun {
            Begun::Open { .. } if confirmed < self.count && guard("window_on_replicas") => {
                Err(CacheError::WindowNotReplicated { required: self.count, confirmed })
            }
            begun => Ok(begun),
        }
    }
}
