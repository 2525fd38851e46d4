//! [`BlockingReads`]: the connection on which a process waits for new work, of all queues or of all streams.

use evenkeel_link::clock::Clock;
use evenkeel_link::support::Backoff;
use evenkeel_link::{Blocking, Link, LinkError};
use redis::{Cmd, Value};
use std::time::Duration;
use tokio::sync::Notify;

/// The timeout of a blocking command. After each, its caller looks again for whom it waits.
pub(crate) const BLOCK: Duration = Duration::from_secs(1);
const RECONNECT: Backoff = Backoff { delay_min: Duration::from_millis(50), delay_max: Duration::from_secs(1) };

/// Sends blocking commands on a connection of their own, which it opens when it is needed and again after it is lost.
pub(crate) struct BlockingReads {
    link: Link,
    /// What it waits for, for the log.
    of: &'static str,
    connection: Option<Connection>,
    failures: u32,
}

struct Connection {
    blocking: Blocking,
    /// Its `CLIENT ID`.
    client: i64,
}

impl BlockingReads {
    pub(crate) fn new(link: Link, of: &'static str) -> Self {
        Self { link, of, connection: None, failures: 0 }
    }

    /// Sends a command that blocks for at most [`BLOCK`]. Whenever `changed` is notified, the command ends early, as after its timeout.
    pub(crate) async fn send(&mut self, cmd: &Cmd, changed: &Notify) -> Result<Value, LinkError> {
        let reply = self.reply(cmd, changed).await;
        match &reply {
            Ok(_) => self.failures = 0,
            Err(error) => {
                tracing::debug!(%error, "the blocking connection of the {} was lost; opening another one", self.of);
                self.connection = None;
            }
        }
        reply
    }

    /// Waits after an error: longer after each one without a reply in between.
    pub(crate) async fn pause(&mut self, clock: &Clock) {
        clock.sleep(RECONNECT.delay(self.failures)).await;
        self.failures = self.failures.saturating_add(1);
    }

    async fn reply(&mut self, cmd: &Cmd, changed: &Notify) -> Result<Value, LinkError> {
        if self.connection.as_ref().is_some_and(|connection| !connection.blocking.is_open()) {
            self.connection = None;
        }
        let Connection { blocking, client } = match &mut self.connection {
            Some(open) => open,
            None => self.connection.insert(Connection::open(&self.link).await?),
        };
        let mut reply = std::pin::pin!(blocking.command(cmd, BLOCK));
        loop {
            tokio::select! {
                biased;
                reply = &mut reply => return reply,
                () = changed.notified() => {
                    // An error costs at most the rest of the second.
                    let _ = self.link.command(b"", redis::cmd("CLIENT").arg("UNBLOCK").arg(*client)).await;
                }
            }
        }
    }
}

impl Connection {
    async fn open(link: &Link) -> Result<Self, LinkError> {
        let mut blocking = link.blocking().await?;
        match blocking.command(redis::cmd("CLIENT").arg("ID"), Duration::ZERO).await? {
            Value::Int(client) => Ok(Self { blocking, client }),
            other => Err(LinkError::Unexpected(format!("CLIENT ID: {other:?}"))),
        }
    }
}
