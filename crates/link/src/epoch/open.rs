//! Opens an epoch: the ordered steps from the first connection attempt until commands may be sent.

use super::Epoch;
use super::bulk_limit::BulkLimit;
use super::health::Health;
use super::loaded::Loaded;
use super::server_errors::ServerErrors;
use super::shared::Shared;
use crate::connection::connect::{Connected, Connector};
use crate::connection::lane::Lane;
use crate::connection::response_timeout::turn_periodically;
use crate::connection::wheel::Wheel;
use crate::error::LinkError;
use crate::link::EpochHook;
use crate::push::{subscribe, tracking};
use crate::server::identity::{self, Identity};
use crate::support::guard::guard;
use crate::support::spawn;
use redis::PushInfo;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize};
use std::time::Duration;
use tokio::sync::OnceCell;

/// The time limit for all hooks together. Each of their commands has its own time-out; this one covers everything else.
const HOOKS_MAX: Duration = Duration::from_secs(30);

/// Why an epoch or one of its connections could not be opened.
#[derive(Debug)]
pub(crate) struct OpenError {
    pub(crate) reason: String,
    /// Set if a retry cannot succeed: invalid options, wrong password.
    pub(crate) permanent: Option<LinkError>,
}

impl OpenError {
    pub(crate) fn retryable(reason: String) -> Self {
        Self { reason, permanent: None }
    }

    /// The error for a caller that requested a connection.
    pub(crate) fn into_link_error(self, shared: &Shared) -> LinkError {
        let down = |reason| LinkError::Down { address: shared.topology.address(), reason };
        self.permanent.unwrap_or_else(|| down(self.reason))
    }
}

impl From<io::Error> for OpenError {
    fn from(error: io::Error) -> Self {
        Self::retryable(error.to_string())
    }
}

impl From<LinkError> for OpenError {
    fn from(error: LinkError) -> Self {
        let reason = error.reason();
        Self { reason, permanent: Some(error).filter(|error| !error.is_retryable()) }
    }
}

/// Connects, checks the server, loads the scripts, samples the server's clock and runs the hooks. Returns a complete epoch or an error.
pub(crate) async fn open(shared: &Shared) -> Result<Arc<Epoch>, OpenError> {
    let connector = shared.topology.primary();
    let number = shared.next_epoch();
    let health = Arc::new(Health::default());
    let mut lanes = Vec::with_capacity(shared.options.connections);
    for place in 0..shared.options.connections {
        let mut lane = lane(shared, &connector, &health, place, shared.listeners.sender(number)).await?;
        lane.tracks = tracking::begin(shared, &lane).await?;
        lanes.push(lane);
    }
    let identity = match ask_identity(&lanes[0]).await {
        Ok(identity) => identity,
        Err(refusal) => return Err(too_old(&lanes[0], connector.address(), refusal).await.into()),
    };
    identity.check(connector.address())?;
    let loaded = Loaded::load(&shared.options.scripts, &lanes[0]).await?;
    let asked = shared.server_clock.asked();
    shared.server_clock.learn(asked, &lanes[0].probe(&redis::cmd("TIME")).await?);
    let (lanes, tracking) = (lanes.into(), shared.options.tracking);
    let (server_errors, bulk_limit, listening_lane) = (ServerErrors::default(), BulkLimit::default(), OnceCell::new());
    let epoch = Arc::new(Epoch {
        number,
        identity,
        lanes,
        tracking,
        listening: listening_lane,
        health,
        loaded,
        server_errors,
        bulk_limit,
    });
    if !shared.subscriptions.is_empty() {
        subscribe::renew(shared, listening(shared, &epoch).await?).await?;
    }
    if guard("link_hooks_first") {
        run_hooks(shared, &epoch).await?;
    }
    Ok(epoch)
}

/// Opens one multiplexed connection of an epoch.
pub(crate) async fn lane(
    shared: &Shared,
    connector: &Connector,
    health: &Arc<Health>,
    number: usize,
    push: impl Fn(PushInfo) -> Result<(), ()> + Send + Sync + 'static,
) -> Result<Lane, OpenError> {
    let Connected { connection, driver } = connector.connect(Arc::clone(health), push).await?;
    let wheel = Arc::new(Wheel::default());
    let wheel_task = turn_periodically(Arc::clone(&wheel), shared.clock.clone(), shared.options.response_timeout);
    Ok(Lane {
        number,
        connection,
        tasks: [driver, spawn(wheel_task).abort_handle()],
        wheel,
        health: Arc::clone(health),
        metrics: Arc::clone(&shared.metrics),
        pulse: Arc::clone(&shared.pulse),
        tracks: false,
        in_flight: AtomicUsize::new(0),
        in_flight_max: shared.options.in_flight_max,
        silent: AtomicU32::new(0),
        silent_max: shared.options.silent_timeouts_max,
    })
}

/// The epoch's connection for subscriptions, opened when it is first needed.
pub(crate) async fn listening<'a>(shared: &Shared, epoch: &'a Epoch) -> Result<&'a Lane, OpenError> {
    let open = || async {
        let (subscriptions, listeners) = (Arc::clone(&shared.subscriptions), shared.listeners.sender(epoch.number));
        let push = move |info| {
            subscriptions.received(&info);
            listeners(info)
        };
        lane(shared, &shared.topology.primary(), &epoch.health, epoch.lanes.len(), push).await
    };
    epoch.listening.get_or_try_init(open).await
}

/// Asks the server for its identity.
pub(crate) async fn ask_identity(lane: &Lane) -> Result<Identity, LinkError> {
    let answer = lane.probe(&Identity::question()).await?;
    Identity::parse(&answer).ok_or_else(|| LinkError::Unexpected("INFO has no role or no run id".to_owned()))
}

/// Explains an error reply to the identity question: a server before Redis 7.0 rejects its syntax and reports only its version.
async fn too_old(lane: &Lane, address: String, refusal: LinkError) -> LinkError {
    let is_syntax = matches!(&refusal, LinkError::Refused { code, .. } if code == "ERR");
    if !is_syntax || !guard("link_old_version") {
        return refusal;
    }
    let version = lane.probe(&identity::version_question()).await.ok().as_ref().and_then(identity::version);
    match version {
        Some(version) if identity::is_too_old(&version) => LinkError::TooOld { address, version },
        _ => refusal,
    }
}

async fn run_hooks(shared: &Shared, epoch: &Epoch) -> Result<(), OpenError> {
    let hooks = shared.hooks();
    let all = async {
        for hook in &hooks {
            EpochHook::open(&**hook, epoch).await?;
        }
        Ok::<_, LinkError>(())
    };
    tokio::select! {
        biased;
        reason = epoch.health.ended() => Err(OpenError::retryable(format!("the new connection ended at once ({})", reason.as_str()))),
        done = shared.clock.timeout(HOOKS_MAX, all) => match done {
            Ok(Ok(())) => Ok(()),
            // A retry may succeed after any error of a hook; only the server's own error replies are permanent.
            Ok(Err(error)) => Err(OpenError::retryable(format!("a step before opening failed: {}", error.reason()))),
            Err(_) => Err(OpenError::retryable(format!("a step before opening took longer than {HOOKS_MAX:?}"))),
        },
    }
}
