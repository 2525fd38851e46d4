//! An epoch: a set of connections that is opened as a whole and replaced as a whole after a failure.

pub(crate) mod bulk_limit;
pub(crate) mod health;
pub(crate) mod heartbeat;
pub(crate) mod loaded;
pub(crate) mod open;
pub(crate) mod server_clock;
pub(crate) mod server_errors;
pub(crate) mod shared;
pub(crate) mod state;
pub(crate) mod supervisor;

pub use health::EndReason;
pub use state::LinkState;

use self::bulk_limit::{BulkLimit, longest, longest_of};
use self::health::Health;
use self::loaded::Loaded;
use self::server_errors::ServerErrors;
use super::error::LinkError;
use super::script::{Call, Script};
use crate::connection::lane::Lane;
use crate::connection::response_timeout::ResponseTimeout;
use crate::push::tracking::Tracking;
use crate::server::identity::Identity;
use crate::server::route;
use redis::{Cmd, FromRedisValue, Pipeline, Value};
use std::sync::Arc;
use tokio::sync::OnceCell;

/// A set of connections opened together. When an epoch ends, only the outcome of commands without a reply is unknown.
pub struct Epoch {
    pub(crate) number: u64,
    pub(crate) identity: Identity,
    pub(crate) lanes: Box<[Lane]>,
    pub(crate) tracking: Tracking,
    /// The connection for subscriptions, opened when it is first needed.
    pub(crate) listening: OnceCell<Lane>,
    pub(crate) health: Arc<Health>,
    pub(crate) loaded: Loaded,
    pub(crate) server_errors: ServerErrors,
    pub(crate) bulk_limit: BulkLimit,
}

impl Epoch {
    /// The number of this epoch. The first epoch is 1, and each replacement increases the number by one.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The run id of the server process; it changes with every restart of Redis.
    #[must_use]
    pub fn run_id(&self) -> &str {
        &self.identity.run_id
    }

    /// Identifies the history of the data; it changes after a failover or a full resynchronization. If it or the
    /// [`run_id`](Self::run_id) differs from the last epoch's, writes that the server acknowledged in the last epoch may be lost.
    #[must_use]
    pub fn replication_id(&self) -> &str {
        &self.identity.replication_id
    }

    /// The version that the server reports.
    #[must_use]
    pub fn server_version(&self) -> &str {
        &self.identity.version
    }

    /// Whether steps are functions on this server; else it refuses functions, and they are scripts.
    #[must_use]
    pub fn runs_functions(&self) -> bool {
        self.loaded.as_functions()
    }

    /// Whether this epoch has been replaced or is about to be.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.health.is_over()
    }

    /// Waits until this epoch is over and returns the reason.
    pub async fn over(&self) -> EndReason {
        self.health.ended().await
    }

    /// Sends one command on this epoch; `route` is the key that selects the connection.
    ///
    /// # Errors
    /// [`LinkError::EpochOver`] once the epoch is over; else as [`Link::command`](super::link::Link::command).
    pub async fn command(&self, route: &[u8], cmd: &Cmd) -> Result<Value, LinkError> {
        self.command_within(route, cmd, None).await
    }

    /// Like [`command`](Self::command), with the time-out of `response_timeout`.
    pub(crate) async fn command_within(
        &self,
        route: &[u8],
        cmd: &Cmd,
        response_timeout: Option<&ResponseTimeout>,
    ) -> Result<Value, LinkError> {
        let lane = self.lane(route);
        self.bulk_limit.check(longest(cmd), lane).await?;
        lane.call(cmd, response_timeout).await
    }

    /// Sends several commands on this epoch; see [`Link::pipeline`](super::link::Link::pipeline).
    ///
    /// # Errors
    /// As [`Link::pipeline`](super::link::Link::pipeline).
    pub async fn pipeline(&self, route: &[u8], pipeline: &Pipeline) -> Result<Vec<Value>, LinkError> {
        self.pipeline_within(route, pipeline, None).await
    }

    /// Like [`pipeline`](Self::pipeline), with the time-out of `response_timeout`.
    pub(crate) async fn pipeline_within(
        &self,
        route: &[u8],
        pipeline: &Pipeline,
        response_timeout: Option<&ResponseTimeout>,
    ) -> Result<Vec<Value>, LinkError> {
        if pipeline.is_transaction() {
            return Err(LinkError::Options("a pipeline cannot be a transaction; use a script".to_owned()));
        }
        if pipeline.is_empty() {
            return Ok(Vec::new());
        }
        let lane = self.lane(route);
        self.bulk_limit.check(pipeline.cmd_iter().map(longest).max().unwrap_or(0), lane).await?;
        lane.call_many(pipeline, response_timeout).await
    }

    /// Runs one script on this epoch; the first key selects the connection.
    ///
    /// # Errors
    /// As [`Link::run`](super::link::Link::run), and [`LinkError::EpochOver`] once the epoch is over.
    pub async fn run<T: FromRedisValue>(
        &self,
        script: &'static Script,
        keys: &[&[u8]],
        args: &[&[u8]],
    ) -> Result<T, LinkError> {
        self.run_within(script, keys, args, None).await
    }

    /// Like [`run`](Self::run), with the time-out of `response_timeout` for each command that it sends.
    pub async fn run_within<T: FromRedisValue>(
        &self,
        script: &'static Script,
        keys: &[&[u8]],
        args: &[&[u8]],
        response_timeout: Option<&ResponseTimeout>,
    ) -> Result<T, LinkError> {
        let lane = self.lane(keys.first().copied().unwrap_or_default());
        self.bulk_limit.check(longest_of(args), lane).await?;
        let answer = self.loaded.run(lane, &Call { script, keys, args }, response_timeout).await;
        self.server_errors.check(script, &answer);
        let answer = answer?.extract_error().map_err(|error| LinkError::from_redis(&error))?;
        redis::from_redis_value(answer).map_err(|error| LinkError::Unexpected(format!("{}: {error}", script.name())))
    }

    /// Commands that wait for a reply.
    pub(crate) fn in_flight(&self) -> usize {
        self.lanes.iter().map(Lane::in_flight).sum()
    }

    /// Every connection of the epoch.
    pub(crate) fn all_lanes(&self) -> impl Iterator<Item = &Lane> {
        self.lanes.iter().chain(self.listening.get())
    }

    /// The connection that `route` selects.
    pub(crate) fn lane(&self, route: &[u8]) -> &Lane {
        &self.lanes[route::index(route, self.lanes.len())]
    }

    /// Ends the epoch: commands in flight get no reply, later ones are rejected.
    pub(crate) fn end(&self, reason: EndReason) {
        self.health.end(reason);
        self.all_lanes().for_each(Lane::close);
    }
}
