//! The handle to Redis. No other crate opens a connection or depends on the topology of the server.
//!
//! A [`Link`] is either up or down. While up, it has one [`Epoch`]: a few multiplexed connections opened together, which all tasks
//! share. When Redis closes a connection, stops replying, becomes a replica or turns out to be another server, the whole epoch is
//! replaced. While there is none, calls fail at once; nothing is queued. docs/spec/link.md has the states and the guarantees.
//!
//! **Cancellation and time-outs.** Dropping the future of a call, or its time-out, does not cancel the command: the server may
//! still execute it. Every write must therefore be idempotent or carry a token.

use crate::connection::{Blocking, ResponseTimeout, blocking};
use crate::epoch::{EndReason, Epoch, LinkState, heartbeat, open, supervisor};
use crate::error::LinkError;
use crate::options::LinkOptions;
use crate::push::{Pulse, PushListener, Subscription, Tracked, subscribe};
use crate::script::Script;
use crate::server::identity;

use super::clock::{Clock, Moment};
use crate::epoch::shared::Shared;
use crate::support::background::Background;
use crate::support::guard::guard;
use crate::support::together::together_max;
use bytes::Bytes;
use redis::{Cmd, FromRedisValue, Pipeline, Value};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::watch;

/// What a capability does on a new epoch before other callers may use it; the cache, for example, replays recent invalidations.
pub trait EpochHook: Send + Sync + 'static {
    /// Runs after the scripts are loaded and before the epoch is published. After an error the link tries to open another epoch.
    fn open<'a>(&'a self, epoch: &'a Epoch) -> Pin<Box<dyn Future<Output = Result<(), LinkError>> + Send + 'a>>;
}

/// A cheap handle to the supervised connections to one Redis server. Its tasks run on the tokio runtime on which it was opened; they end
/// with that runtime ([`LinkError::RuntimeEnded`]) or when the last handle is dropped.
#[derive(Clone)]
pub struct Link {
    handle: Arc<Handle>,
    /// The response time-out of this handle's commands, if shorter than the link's own.
    response_timeout: Option<Arc<ResponseTimeout>>,
}

struct Handle {
    shared: Arc<Shared>,
    runtime: tokio::runtime::Handle,
    _loops: [Background; 2],
}

impl Link {
    /// Opens the first epoch or returns an error. After a later failure the link reconnects by itself.
    ///
    /// `clock` is the program's clock; response time-outs and reconnection always use the machine's.
    ///
    /// # Errors
    /// [`LinkError::Options`] if the options are invalid, [`LinkError::Refused`] if the server rejects the login (password,
    /// database number, permissions), [`LinkError::TooOld`] if it is older than Redis 7.0, [`LinkError::Down`] if it is not
    /// reachable.
    pub async fn connect(options: LinkOptions, clock: Clock) -> Result<Self, LinkError> {
        Self::begin(options, clock, false).await
    }

    /// Like [`connect`](Self::connect), but a server that is not reachable is not an error: the link is then down and reconnects as
    /// after every failure. [`state`](Self::state) reports when it is up.
    ///
    /// # Errors
    /// [`LinkError::Options`], [`LinkError::Refused`] and [`LinkError::TooOld`], as of [`connect`](Self::connect).
    pub async fn connect_lazy(options: LinkOptions, clock: Clock) -> Result<Self, LinkError> {
        Self::begin(options, clock, true).await
    }

    /// Checks once whether a link could be opened, and closes the connection, for a program that must know before it changes
    /// anything elsewhere. A server that is not reachable is not an error.
    ///
    /// # Errors
    /// [`LinkError::Options`], [`LinkError::Refused`] and [`LinkError::TooOld`], as of [`connect`](Self::connect).
    pub async fn check(options: LinkOptions) -> Result<(), LinkError> {
        let shared = Shared::new(options, Clock::system())?;
        match Box::pin(open::open(&shared)).await.err().and_then(|error| error.permanent) {
            Some(permanent) => Err(permanent),
            None => Ok(()),
        }
    }

    async fn begin(options: LinkOptions, clock: Clock, may_be_down: bool) -> Result<Self, LinkError> {
        let shared = Arc::new(Shared::new(options, clock)?);
        match Box::pin(open::open(&shared)).await {
            Ok(epoch) => shared.publish(&epoch),
            Err(error) => {
                shared.report(&error.reason);
                match error.permanent {
                    Some(permanent) => return Err(permanent),
                    None if !may_be_down => return Err(shared.down()),
                    None => {
                        let address = shared.topology.address();
                        tracing::warn!(%address, reason = error.reason, "Redis is not reachable; the link keeps trying to connect");
                    }
                }
            }
        }
        let (on_runtime, monitored) = (supervisor::OnRuntime(Arc::clone(&shared)), Arc::clone(&shared));
        let supervisor = Background::spawn("link supervisor", shared.clock.clone(), move || {
            let on_runtime = &on_runtime;
            supervisor::supervise(Arc::clone(&on_runtime.0))
        });
        let heartbeat =
            Background::spawn("link heartbeat", shared.clock.clone(), move || heartbeat::run(Arc::clone(&monitored)));
        let handle =
            Arc::new(Handle { shared, runtime: tokio::runtime::Handle::current(), _loops: [supervisor, heartbeat] });
        Ok(Self { handle, response_timeout: None })
    }

    /// A handle to the same link whose commands time out after `timeout`, if that is shorter than the link's own time-out.
    /// A command that timed out may still be executed; its time-out is not counted as silence of the server.
    pub fn with_response_timeout(&self, timeout: Duration) -> Self {
        let shared = self.shared();
        let is_shorter = timeout < shared.options.response_timeout && guard("store_timeout");
        let known = || shared.response_timeouts.get(timeout, &shared.clock, &self.handle.runtime);
        let response_timeout = is_shorter.then(known);
        Self { handle: Arc::clone(&self.handle), response_timeout }
    }

    /// The response time-out of this handle's commands, if shorter than the link's own.
    pub fn response_timeout(&self) -> Option<&ResponseTimeout> {
        self.response_timeout.as_deref()
    }

    /// The error of a call that finds the link without an epoch.
    pub fn why_down(&self) -> LinkError {
        self.shared().down()
    }

    /// The current epoch; `None` while the link is down.
    #[must_use]
    pub fn epoch(&self) -> Option<Arc<Epoch>> {
        self.shared().current.load_full()
    }

    /// The state of the link, as a receiver that can wait for changes.
    #[must_use]
    pub fn state(&self) -> watch::Receiver<LinkState> {
        self.shared().state.subscribe()
    }

    /// An estimate of Redis's time in ms since 1970. Suitable to decide what is due, never for safety.
    /// If the program's clock is a test clock, this is the test clock's time.
    #[must_use]
    pub fn server_now_ms(&self) -> u64 {
        self.shared().server_now_ms()
    }

    /// `GET key`: one command, without a script.
    ///
    /// # Errors
    /// As [`command`](Self::command); `WRONGTYPE` if the value is not a string.
    pub async fn get(&self, key: &[u8]) -> Result<Option<Bytes>, LinkError> {
        let epoch = self.shared().epoch()?;
        let mut cmd = Cmd::with_capacity(2, 3 + key.len());
        cmd.arg("GET").arg(key);
        let answer = epoch.command_within(key, &cmd, self.response_timeout()).await;
        epoch.server_errors.check_permissions("GET", answer.as_ref().err());
        match answer? {
            Value::BulkString(bytes) => Ok(Some(bytes.into())),
            Value::Nil => Ok(None),
            other => Err(LinkError::Unexpected(format!("GET: {other:?}"))),
        }
    }

    /// `GET key`, and [listeners](Self::listen) are notified when the key is changed, expires or is evicted afterwards: once, until the
    /// key is read again. Costs one write of two commands (of one, with [`Tracking::Broadcast`](crate::Tracking::Broadcast)).
    ///
    /// Not guaranteed: a notification if the connection ends first; in that case [`PushListener::ended`] is called.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn get_tracked(&self, key: &[u8]) -> Result<Tracked, LinkError> {
        let mut found = self.get_tracked_many(&[key]).await?;
        found.pop().unwrap_or_else(|| Err(LinkError::Unexpected("GET: no answer".to_owned())))
    }

    /// [`get_tracked`](Self::get_tracked) for several keys in one write, all on the connection of the first.
    ///
    /// # Errors
    /// As [`pipeline`](Self::pipeline) for the whole; an error reply for one key is that key's result.
    pub async fn get_tracked_many(&self, keys: &[&[u8]]) -> Result<Vec<Result<Tracked, LinkError>>, LinkError> {
        self.shared().epoch()?.get_tracked_many(keys, self.response_timeout()).await
    }

    /// Sends one command; `route` is the key that selects the connection, so commands on one key stay in order.
    ///
    /// Not for commands that block (use [`blocking`](Self::blocking)) or that change the state of the connection (`SELECT`,
    /// `SUBSCRIBE`, `MULTI`, ...), because the connection is shared.
    ///
    /// # Errors
    /// [`LinkError::Down`], [`LinkError::EpochOver`], [`LinkError::RuntimeEnded`] and [`LinkError::Busy`]: nothing was sent.
    /// [`LinkError::NoAnswer`]: the command may have been executed. [`LinkError::Refused`]: the server's error reply.
    pub async fn command(&self, route: &[u8], cmd: &Cmd) -> Result<Value, LinkError> {
        self.shared().epoch()?.command_within(route, cmd, self.response_timeout()).await
    }

    /// Sends several commands in one write, all on the connection of `route`. Returns one reply each, in order; an error reply is a
    /// value (`Value::ServerError`) and does not stop the other commands. Not atomic.
    ///
    /// # Errors
    /// As [`command`](Self::command), for the whole; after [`LinkError::NoAnswer`] any part may have been executed.
    pub async fn pipeline(&self, route: &[u8], pipeline: &Pipeline) -> Result<Vec<Value>, LinkError> {
        self.shared().epoch()?.pipeline_within(route, pipeline, self.response_timeout()).await
    }

    /// Runs a script by its hash (loaded on every epoch; `NOSCRIPT` is handled). The first key selects the connection.
    ///
    /// # Errors
    /// As [`command`](Self::command); [`LinkError::Unexpected`] if the reply is not a `T`.
    pub async fn run<T: FromRedisValue>(
        &self,
        script: &'static Script,
        keys: &[&[u8]],
        args: &[&[u8]],
    ) -> Result<T, LinkError> {
        self.shared().epoch()?.run_within(script, keys, args, self.response_timeout()).await
    }

    /// Opens a dedicated connection for commands that block, such as `BLPOP` or `XREAD BLOCK`.
    ///
    /// # Errors
    /// [`LinkError::Down`] if there is no epoch, or no connection can be opened.
    pub async fn blocking(&self) -> Result<Blocking, LinkError> {
        blocking::open(self.shared()).await
    }

    /// Receives what is published on a channel (`SPUBLISH`), across all later epochs.
    ///
    /// Guaranteed: after the loss of a message that the link can detect, a [`Notification::Reset`](crate::Notification::Reset) follows.
    /// Not guaranteed: that a message arrives at all; poll with a timer as well.
    ///
    /// # Errors
    /// As [`command`](Self::command); nothing is subscribed then.
    pub async fn subscribe(&self, channel: &[u8]) -> Result<Subscription, LinkError> {
        subscribe::subscribe(self.shared(), channel).await
    }

    /// Registers a hook that runs on every later epoch before it is published. It does not run for the current one.
    ///
    /// The link holds the hook weakly, because a hook usually holds the link: **keep the `Arc`** for as long as the hook must run.
    pub fn before_open<H: EpochHook>(&self, hook: &Arc<H>) {
        let hook: Weak<H> = Arc::downgrade(hook);
        self.shared().add_hook(hook);
    }

    /// Registers a listener that receives every push message, in order. It is held weakly, like a hook.
    pub fn listen<L: PushListener>(&self, listener: &Arc<L>) {
        let listener: Weak<dyn PushListener> = Arc::downgrade(&(Arc::clone(listener) as Arc<dyn PushListener>));
        self.shared().listeners.add(&listener);
    }

    /// The prefix of every key this link's user writes (`ns` in docs/keyspace.md).
    #[must_use]
    pub fn prefix(&self) -> &str {
        &self.shared().options.prefix
    }

    /// Host and port, for messages. Never a password.
    #[must_use]
    pub fn address(&self) -> String {
        self.shared().topology.address()
    }

    /// Rejects new commands, waits for those in flight for at most `deadline` and closes the connections, for all
    /// handles.
    pub async fn shutdown(&self, deadline: Duration) {
        supervisor::shut_down(self.shared(), deadline).await;
    }

    /// [`server_now_ms`](Self::server_now_ms) at a moment that the caller has already read.
    #[inline]
    pub fn server_ms_at(&self, moment: Moment) -> u64 {
        self.shared().server_ms_at(moment)
    }

    /// The policy by which the server removes keys when its memory is full (`maxmemory-policy`); `None` if it removes none.
    ///
    /// # Errors
    /// As [`command`](Self::command).
    pub async fn eviction_policy(&self) -> Result<Option<String>, LinkError> {
        let memory = self.command(b"", redis::cmd("INFO").arg("memory")).await?;
        Ok(identity::eviction_policy(&memory))
    }

    /// When each connection last proved that it receives its pushes.
    pub fn pulse(&self) -> Arc<Pulse> {
        Arc::clone(&self.shared().pulse)
    }

    /// How many commands may be in flight on each connection ([`LinkOptions::in_flight_max`](crate::LinkOptions)).
    pub fn in_flight_max(&self) -> usize {
        self.shared().options.in_flight_max
    }

    /// How many commands one batch of the library sends at once: no more than [`in_flight_max`](Self::in_flight_max) allows.
    pub fn together_max(&self) -> usize {
        together_max(self.in_flight_max())
    }

    /// The interval of the heartbeat on each connection.
    pub fn heartbeat(&self) -> Duration {
        self.shared().options.heartbeat
    }

    /// Whether both links write the same keys of the same server, according to their addresses.
    pub fn has_store_of(&self, other: &Self) -> bool {
        let (ours, theirs) = (&self.shared().options, &other.shared().options);
        let (here, there) = (&ours.target, &theirs.target);
        let is_one_server = here.address == there.address && here.database == there.database;
        Arc::ptr_eq(&self.handle, &other.handle) || (is_one_server && ours.prefix == theirs.prefix)
    }

    fn shared(&self) -> &Shared {
        &self.handle.shared
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        supervisor::close(&self.shared, EndReason::Shutdown);
    }
}
