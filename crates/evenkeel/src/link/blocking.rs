//! A connection of its own for commands that block: on a shared one they would hold up everybody behind them.

use super::connect::Connected;
use super::epoch::Epoch;
use super::error::LinkError;
use super::health::Health;
use super::shared::Shared;
use crate::clock::Clock;
use redis::aio::MultiplexedConnection;
use redis::{Cmd, Value};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::AbortHandle;

/// A connection for one blocking command at a time. It belongs to the epoch it was opened under and dies with it; open another
/// one then. If a call is cancelled or times out the connection is closed, so that the server stops blocking for nobody.
pub struct Blocking {
    epoch: Arc<Epoch>,
    open: Option<Open>,
    clock: Clock,
    slack: Duration,
}

struct Open {
    connection: MultiplexedConnection,
    health: Arc<Health>,
    driver: AbortHandle,
}

pub(super) async fn open(shared: &Shared) -> Result<Blocking, LinkError> {
    let epoch = shared.epoch()?;
    let health = Arc::new(Health::default());
    let connector = shared.topology.primary();
    let Connected { connection, driver } = connector
        .connect(Arc::clone(&health), shared.listeners.sender(epoch.number()))
        .await
        .map_err(|error| error.into_link_error(shared))?;
    let open = Open { connection, health, driver };
    Ok(Blocking { epoch, open: Some(open), clock: shared.clock.clone(), slack: shared.options.response_timeout })
}

impl Blocking {
    /// Sends a command that the server may hold for up to `block` and waits that long, plus the link's response time-out.
    ///
    /// # Errors
    /// [`LinkError::EpochOver`] if the connection is gone (nothing was sent): open another one.
    /// [`LinkError::NoAnswer`] if it went under the command: what the command took from Redis may be lost with the answer.
    pub async fn command(&mut self, cmd: &Cmd, block: Duration) -> Result<Value, LinkError> {
        // Taken out for the time of the call: whoever drops this future closes the connection with it.
        let mut open = self.open.take().ok_or(LinkError::EpochOver)?;
        if self.epoch.is_over() || open.health.is_over() {
            return Err(LinkError::EpochOver);
        }
        let request = self.clock.timeout(block + self.slack, open.connection.send_packed_command(cmd));
        let answer = tokio::select! {
            biased;
            answer = request => answer.map_err(|_| LinkError::SILENT)?.map_err(|error| LinkError::from_request(&error))?,
            _ = self.epoch.over() => return Err(LinkError::BROKEN),
        };
        self.open = Some(open);
        match answer {
            Value::ServerError(error) => Err(error.into()),
            answer => Ok(answer),
        }
    }

    /// Whether the connection can be used. After `false` it never can again.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !self.epoch.is_over() && self.open.as_ref().is_some_and(|open| !open.health.is_over())
    }

    /// The epoch the connection belongs to.
    #[must_use]
    pub fn epoch(&self) -> &Arc<Epoch> {
        &self.epoch
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.driver.abort();
    }
}
