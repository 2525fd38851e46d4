//! Server-assisted invalidation: Redis notifies a connection when a key that was read on it changes (`CLIENT TRACKING`).
//!
//! Each connection is its own client for Redis: changes of what was read on one are pushed on that one, and there alone a push stands in order
//! with the answers. So a tracked read is one write of two adjacent commands on the connection whose pushes count. There is no
//! redirection to another connection: its loss would be silent (redis#11767).

use crate::connection::lane::Lane;
use crate::connection::patience::Patience;
use crate::epoch::Epoch;
use crate::epoch::shared::Shared;
use crate::error::LinkError;
use bytes::Bytes;
use redis::{Cmd, Pipeline, Value};

/// How Redis is asked to tell about changes of keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tracking {
    /// Of each key that was read for it, once: Redis remembers who read what, up to its `tracking-table-max-keys`.
    #[default]
    Keys,
    /// Of every key under the prefixes of the capabilities: Redis remembers nothing, and every connection is notified of every write.
    /// For fleets whose keys are so many that Redis's table overflows.
    Broadcast,
    /// Of nothing. Near caches cannot be opened, and a reader that waits for another one's load polls.
    Off,
}

/// What a tracked read found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tracked {
    /// The value.
    pub value: Option<Bytes>,
    /// The connection of the epoch on which the next change of the key is pushed; `None` if it will not be pushed at all.
    pub tracked_on: Option<usize>,
}

/// Asks for tracking on a new connection; `false` if the server will not have it.
///
/// Without `NOLOOP`: one connection's scripts change what another one has read, and a change that is pushed twice does no harm.
pub(crate) async fn begin(shared: &Shared, lane: &Lane) -> Result<bool, LinkError> {
    let Some(ask) = question(shared) else { return Ok(false) };
    match lane.probe(&ask).await {
        Ok(_) => Ok(true),
        Err(LinkError::Refused { code, message }) => {
            tracing::warn!(
                code,
                message,
                "Redis refuses CLIENT TRACKING; near caches stay empty and waiters ask again and again (allow the user +client|tracking and +client|caching)"
            );
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

fn question(shared: &Shared) -> Option<Cmd> {
    let options = &shared.options;
    let mut ask = redis::cmd("CLIENT");
    ask.arg("TRACKING").arg("ON");
    match options.tracking {
        Tracking::Off => return None,
        Tracking::Keys => _ = ask.arg("OPTIN"),
        Tracking::Broadcast => {
            ask.arg("BCAST");
            for part in if options.tracked.is_empty() { &[""][..] } else { &options.tracked } {
                ask.arg("PREFIX").arg(format!("{}:{part}", options.prefix));
            }
        }
    }
    Some(ask)
}

impl Epoch {
    /// Whether changes of keys are pushed on this epoch.
    #[must_use]
    pub fn tracks(&self) -> bool {
        self.lanes.iter().all(|lane| lane.tracks)
    }

    /// `GET` of several keys in one write, each so that its next change is pushed, all on the connection of the first, for no longer than `patience` lasts.
    pub(crate) async fn get_tracked_many(
        &self,
        keys: &[&[u8]],
        patience: Option<&Patience>,
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
        let mut answers = lane.call_many_within(&pipeline, patience).await?.into_iter();
        lane.pulse.answered(lane.number, asked);
        let mut tracked = || {
            let is_told = lane.tracks && (!opts_in || matches!(answers.next(), Some(Value::Okay)));
            let value = value_of(answers.next())?;
            Ok(Tracked { value, tracked_on: is_told.then_some(lane.number) })
        };
        let found: Vec<Result<Tracked, LinkError>> = keys.iter().map(|_| tracked()).collect();
        self.server_errors.watch_rights("GET", found.iter().find_map(|found| found.as_ref().err()));
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
