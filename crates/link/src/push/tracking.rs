//! Server-assisted client-side caching: Redis notifies a connection when a key that was read on it changes (`CLIENT TRACKING`).
//!
//! To Redis each connection is a separate client: a change is pushed to the connection on which the key was read, and only there a push
//! is ordered with the replies. A tracked read is therefore one write of two adjacent commands on one connection. Invalidations
//! are not redirected to another connection, because the loss of that connection would go unnoticed (redis#11767).

use crate::connection::lane::Lane;
use crate::connection::response_timeout::ResponseTimeout;
use crate::epoch::Epoch;
use crate::epoch::shared::Shared;
use crate::error::LinkError;
use bytes::Bytes;
use redis::{Cmd, Pipeline, Value};

/// Which key changes Redis pushes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tracking {
    /// Changes of each key that was read with tracking, once. Redis records who read which key, up to `tracking-table-max-keys`.
    #[default]
    Keys,
    /// Changes of every key under the prefixes of the capabilities: Redis records nothing and notifies every connection of every write.
    /// For fleets with more keys than Redis's table can hold.
    Broadcast,
    /// None. Near caches cannot be opened, and a reader that waits for another process's load polls.
    Off,
}

/// The result of a tracked read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tracked {
    /// The value.
    pub value: Option<Bytes>,
    /// The connection of the epoch that receives the next change of the key; `None` if no change will be pushed.
    pub tracked_on: Option<usize>,
}

/// Enables tracking on a new connection; returns `false` if the server rejects it.
///
/// Without `NOLOOP`, because one connection's scripts change keys that another one has read, and a duplicate push is harmless.
pub(crate) async fn begin(shared: &Shared, lane: &Lane) -> Result<bool, LinkError> {
    let Some(command) = tracking_command(shared) else { return Ok(false) };
    match lane.probe(&command).await {
        Ok(_) => {
            shared.rejections.over("tracking");
            Ok(true)
        }
        Err(LinkError::Refused { code, message }) => {
            if let Some(times) = shared.rejections.line_due("tracking", &message) {
                tracing::warn!(
                    code,
                    message,
                    times,
                    "Redis rejected CLIENT TRACKING; near caches stay empty and waiters poll (grant +client|tracking and +client|caching)"
                );
            }
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

fn tracking_command(shared: &Shared) -> Option<Cmd> {
    let options = &shared.options;
    let mut command = redis::cmd("CLIENT");
    command.arg("TRACKING").arg("ON");
    match options.tracking {
        Tracking::Off => return None,
        Tracking::Keys => _ = command.arg("OPTIN"),
        Tracking::Broadcast => {
            command.arg("BCAST");
            for part in if options.tracked.is_empty() { &[""][..] } else { &options.tracked } {
                command.arg("PREFIX").arg(format!("{}:{part}", options.prefix));
            }
        }
    }
    Some(command)
}

impl Epoch {
    /// Whether key changes are pushed on this epoch.
    #[must_use]
    pub fn tracks(&self) -> bool {
        self.lanes.iter().all(|lane| lane.tracks)
    }

    /// Reads several keys in one write on the connection of the first; the next change of each is pushed. With the time-out of `response_timeout`.
    pub(crate) async fn get_tracked_many(
        &self,
        keys: &[&[u8]],
        response_timeout: Option<&ResponseTimeout>,
    ) -> Result<Vec<Result<Tracked, LinkError>>, LinkError> {
        let Some(first) = keys.first() else { return Ok(Vec::new()) };
        let lane = self.lane(first);
        let opts_in = lane.tracks && self.tracking == Tracking::Keys;
        let mut pipeline = Pipeline::with_capacity(keys.len() * 2);
        for key in keys {
            if opts_in {
                pipeline.cmd("CLIENT").arg("CACHING").arg("YES");
            }
            pipeline.cmd("GET").arg(*key);
        }
        let asked = lane.pulse.now();
        let mut answers = lane.call_many(&pipeline, response_timeout).await?.into_iter();
        lane.pulse.answered(lane.number, asked);
        let mut tracked = || {
            let is_tracked = lane.tracks && (!opts_in || matches!(answers.next(), Some(Value::Okay)));
            let value = value_of(answers.next())?;
            Ok(Tracked { value, tracked_on: is_tracked.then_some(lane.number) })
        };
        let found: Vec<Result<Tracked, LinkError>> = keys.iter().map(|_| tracked()).collect();
        self.server_errors.check_permissions("GET", found.iter().find_map(|found| found.as_ref().err()));
        Ok(found)
    }
}

fn value_of(answer: Option<Value>) -> Result<Option<Bytes>, LinkError> {
    match answer {
        Some(Value::BulkString(bytes)) => Ok(Some(bytes.into())),
        Some(Value::Nil) => Ok(None),
        Some(Value::ServerError(error)) => Err(error.into()),
        other => Err(LinkError::Unexpected(format!("GET: {other:?}"))),
    }
}
