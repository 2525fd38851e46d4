//! Dedicated connections for blocking commands, which would delay every other command on a shared connection.

use super::connect::Connected;
use crate::clock::Clock;
use crate::epoch::Epoch;
use crate::epoch::bulk_limit::{longest, longest_of};
use crate::epoch::health::Health;
use crate::epoch::loaded::Missing;
use crate::epoch::shared::Shared;
use crate::error::LinkError;
use crate::script::{Call, Script};
use redis::aio::MultiplexedConnection;
use redis::{Cmd, Pipeline, RedisResult, Value};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::AbortHandle;

/// A connection for one blocking command at a time. It belongs to the epoch in which it was opened and is closed when that epoch ends;
/// the caller then opens another. A call that is cancelled or times out closes the connection, so that the server stops blocking.
pub struct Blocking {
    epoch: Arc<Epoch>,
    open: Option<Open>,
    clock: Clock,
    response_timeout: Duration,
}

struct Open {
    connection: MultiplexedConnection,
    health: Arc<Health>,
    driver: AbortHandle,
}

pub(crate) async fn open(shared: &Shared) -> Result<Blocking, LinkError> {
    let epoch = shared.epoch()?;
    let health = Arc::new(Health::default());
    let connector = shared.topology.primary();
    let Connected { connection, driver } = connector
        .connect(Arc::clone(&health), shared.listeners.sender(epoch.number()))
        .await
        .map_err(|error| error.into_link_error(shared))?;
    let open = Open { connection, health, driver };
    Ok(Blocking {
        epoch,
        open: Some(open),
        clock: shared.clock.clone(),
        response_timeout: shared.options.response_timeout,
    })
}

impl Blocking {
    /// Sends a command that the server may hold for up to `block` and waits for that long plus the link's response time-out.
    ///
    /// # Errors
    /// [`LinkError::EpochOver`] if the connection is closed (nothing was sent): open another one.
    /// [`LinkError::NoAnswer`] if it ended during the command: data that the command removed from Redis may be lost with the reply.
    pub async fn command(&mut self, cmd: &Cmd, block: Duration) -> Result<Value, LinkError> {
        self.epoch.bulk_limit.check(longest(cmd), self.epoch.lane(b"")).await?;
        let mut open = self.take()?;
        let answer = self.answer(open.connection.send_packed_command(cmd), block).await?;
        self.open = Some(open);
        match answer {
            Value::ServerError(error) => Err(error.into()),
            answer => Ok(answer),
        }
    }

    /// Runs a script and waits for its reply for up to `block` plus the link's response time-out. For large arguments and replies.
    ///
    /// # Errors
    /// As [`command`](Self::command).
    pub async fn run(
        &mut self,
        script: &'static Script,
        keys: &[&[u8]],
        args: &[&[u8]],
        block: Duration,
    ) -> Result<Value, LinkError> {
        let call = Call { script, keys, args };
        for _ in 0..2 {
            let answer = self.command(&self.epoch.loaded.command(&call), block).await;
            let Some(missing) = Missing::of(&answer) else { return answer };
            self.load_again(missing, script).await?;
        }
        self.command(&self.epoch.loaded.command(&call), block).await
    }

    /// Loads a step that the server did not run.
    async fn load_again(&self, missing: Missing, script: &'static Script) -> Result<(), LinkError> {
        self.epoch.loaded.load_again(missing, script, self.epoch.lane(b""), None).await
    }

    /// Runs a script and, in the same write, a command that waits for replication or persistence of its writes (`WAIT`, `WAITAOF`).
    /// Returns both replies; an error reply to the second is returned as a value, because the script has run.
    ///
    /// # Errors
    /// As [`command`](Self::command); after `NoAnswer` the script may have run.
    pub async fn run_and_wait(
        &mut self,
        script: &'static Script,
        keys: &[&[u8]],
        args: &[&[u8]],
        wait: &Cmd,
        block: Duration,
    ) -> Result<(Value, Value), LinkError> {
        let call = Call { script, keys, args };
        self.epoch.bulk_limit.check(longest_of(args), self.epoch.lane(b"")).await?;
        for attempt in 0..3 {
            let mut calls = Pipeline::new();
            calls.add_command(self.epoch.loaded.command(&call)).add_command(wait.clone());
            let mut open = self.take()?;
            let answers = self.answer(open.connection.send_packed_commands(&calls, 0, 2), block).await?;
            self.open = Some(open);
            let [ran, waited] = <[Value; 2]>::try_from(answers)
                .map_err(|answers| LinkError::Unexpected(format!("{} answers to two commands", answers.len())))?;
            let ran = match ran {
                Value::ServerError(error) => Err(error.into()),
                ran => Ok(ran),
            };
            match Missing::of(&ran) {
                Some(missing) if attempt < 2 => self.load_again(missing, script).await?,
                _ => return Ok((ran?, waited)),
            }
        }
        Err(LinkError::Unexpected(format!("{} is not known right after it was loaded", script.name())))
    }

    /// Takes the connection out for the duration of a call, so that dropping the call's future closes the connection.
    fn take(&mut self) -> Result<Open, LinkError> {
        let open = self.open.take().ok_or(LinkError::EpochOver)?;
        if self.epoch.is_over() || open.health.is_over() {
            return Err(LinkError::EpochOver);
        }
        Ok(open)
    }

    async fn answer<T>(&self, request: impl Future<Output = RedisResult<T>>, block: Duration) -> Result<T, LinkError> {
        tokio::select! {
            biased;
            answer = self.clock.timeout(block.saturating_add(self.response_timeout), request) => {
                answer.map_err(|_| LinkError::SILENT)?.map_err(|error| LinkError::from_request(&error))
            }
            _ = self.epoch.over() => Err(LinkError::BROKEN),
        }
    }

    /// Whether the connection can be used. Once `false`, it stays `false`.
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
