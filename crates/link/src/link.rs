//! The one supervised way to reach Redis. Nothing outside this folder opens a connection, names a topology or knows a cluster.
//!
//! A [`Link`] is either up or down. Up, it has one [`Epoch`]: a few multiplexed connections made together, over which the
//! commands of all tasks travel without waiting for each other. When Redis closes a connection, goes silent, turns into a replica
//! or is found to be another server, the whole epoch is replaced. While there is none, calls fail at once: nothing is queued.
//! docs/spec/link.md has the states and the promises.
//!
//! **Cancellation and time-outs.** Dropping the future of a call, or its time-out, does not take the command back: it may
//! still be executed. Every write must therefore be safe to repeat or carry a token.

use crate::connection::{Blocking, Patience, blocking};
use crate::epoch::{EndReason, Epoch, LinkState, heartbeat, open, supervisor};
use crate::error::LinkError;
use crate::options::LinkOptions;
use crate::push::{Pulse, PushListener, Subscription, Tracked, subscribe};
use crate::script::Script;

use super::clock::{Clock, Moment};
use crate::epoch::shared::Shared;
use crate::support::background::Background;
use crate::support::guard::guard;
use bytes::Bytes;
use parking_lot::Mutex;
use redis::{Cmd, FromRedisValue, Pipeline, Value};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::watch;

/// What a capability does on a new epoch before anybody else may use it (for the cache: drive recent invalidations again).
pub trait EpochHook: Send + Sync + 'static {
    /// Runs after the scripts are loaded and before the epoch is published. An error makes the link try a new epoch.
    fn open<'a>(&'a self, epoch: &'a Epoch) -> Pin<Box<dyn Future<Output = Result<(), LinkError>> + Send + 'a>>;
}

/// A cheap handle on the supervised connections to one Redis. Its tasks run on the tokio runtime it was opened on, and end with that
/// runtime ([`LinkError::RuntimeEnded`]) or when the last handle is dropped.
#[derive(Clone)]
pub struct Link {
    handle: Arc<Handle>,
    /// How long the commands of this handle wait for their answers, if less than the link's others.
    patience: Option<Arc<Patience>>,
}

struct Handle {
    shared: Arc<Shared>,
    runtime: tokio::runtime::Handle,
    /// One for all handles of a time-out: each has a wheel and a task that turns it.
    patiences: Mutex<Vec<(Duration, Weak<Patience>)>>,
    _loops: [Background; 2],
}

impl Link {
    /// Opens the first epoch, or says why it cannot. From then on the link repairs itself.
    ///
    /// `clock` is the program's clock; response time-outs and reconnection always run on the machine's.
    ///
    /// # Errors
    /// [`LinkError::Options`] if the options cannot work, [`LinkError::Refused`] if the server will not have us (password,
    /// database number, permissions), [`LinkError::TooOld`] if it is older than Redis 7.0, [`LinkError::Down`] if it cannot be
    /// reached now.
    pub async fn connect(options: LinkOptions, clock: Clock) -> Result<Self, LinkError> {
        Self::begin(options, clock, false).await
    }

    /// As [`connect`](Self::connect), except that a server that cannot be reached now is no error: the link is down then, and
    /// keeps trying as it does after every failure. [`state`](Self::state) says when it is up.
    ///
    /// # Errors
    /// [`LinkError::Options`], [`LinkError::Refused`] and [`LinkError::TooOld`], as of [`connect`](Self::connect).
    pub async fn connect_lazy(options: LinkOptions, clock: Clock) -> Result<Self, LinkError> {
        Self::begin(options, clock, true).await
    }

    /// Asks the server once whether a link could be opened, and closes the connection: for a program that wants to know before it
    /// changes anything elsewhere. A server that is away is no error.
    ///
    /// # Errors
    /// [`LinkError::Options`], [`LinkError::Refused`] and [`LinkError::TooOld`], as of [`connect`](Self::connect).
    pub async fn check(options: LinkOptions) -> Result<(), LinkError> {
        let shared = Shared::new(options, Clock::system())?;
        match Box::pin(open::open(&shared)).await.err().and_then(|error| error.lasting) {
            Some(lasting) => Err(lasting),
            None => Ok(()),
        }
    }

    async fn begin(options: LinkOptions, clock: Clock, may_be_away: bool) -> Result<Self, LinkError> {
        let shared = Arc::new(Shared::new(options, clock)?);
        match Box::pin(open::open(&shared)).await {
            Ok(epoch) => shared.publish(&epoch),
            Err(error) => {
                shared.report(&error.reason);
                match error.lasting {
                    Some(lasting) => return Err(lasting),
                    None if !may_be_away => return Err(shared.down()),
                    None => {
                        let address = shared.topology.address();
                        tracing::warn!(%address, reason = error.reason, "Redis is away; the link keeps trying");
                    }
                }
            }
        }
        let (on_runtime, beaten) = (supervisor::OnRuntime(Arc::clone(&shared)), Arc::clone(&shared));
        let supervisor = Background::spawn("link supervisor", shared.clock.clone(), move || {
            let on_runtime = &on_runtime;
            supervisor::supervise(Arc::clone(&on_runtime.0))
        });
        let heartbeat = Background::spawn("link heartbeat", shared.clock.clone(), move || {
            heartbeat::keep_beating(Arc::clone(&beaten))
        });
        let handle = Arc::new(Handle {
            shared,
            runtime: tokio::runtime::Handle::current(),
            patiences: Mutex::default(),
            _loops: [supervisor, heartbeat],
        });
        Ok(Self { handle, patience: None })
    }

    /// A handle on the same link whose commands are given up after `timeout`, if that is less than the link's own time-out.
    /// What is given up may still be executed, and does not count as silence of the server.
    pub fn impatient(&self, timeout: Duration) -> Self {
        let shared = self.shared();
        let is_shorter = timeout < shared.options.response_timeout && guard("store_timeout");
        let patience = is_shorter.then(|| self.handle.patience(timeout));
        Self { handle: Arc::clone(&self.handle), patience }
    }

    /// How long the commands of this handle wait, if less than the link's others.
    pub fn patience(&self) -> Option<&Patience> {
        self.patience.as_deref()
    }

    /// The error of a call that finds the link without an epoch.
    pub fn why_down(&self) -> LinkError {
        self.shared().down()
    }

    /// The epoch commands run on now; `None` while the link is down.
    #[must_use]
    pub fn epoch(&self) -> Option<Arc<Epoch>> {
        self.shared().current.load_full()
    }

    /// Whether the link is up, and a way to wait until it is, or is not.
    #[must_use]
    pub fn state(&self) -> watch::Receiver<LinkState> {
        self.shared().state.subscribe()
    }

    /// Redis's own time in ms, estimated from the last answer that had it. Good for deciding what is due, never for safety.
    /// If the program's clock is a test's, that clock's time is what Redis is taken to have.
    #[must_use]
    pub fn server_now_ms(&self) -> u64 {
        self.shared().server_now_ms()
    }

    /// `GET key`, the hot path: one command, no script.
    ///
    /// # Errors
    /// As [`command`](Self::command); `WRONGTYPE` if the key holds something else than a string.
    pub async fn get(&self, key: &[u8]) -> Result<Option<Bytes>, LinkError> {
        let epoch = self.shared().epoch()?;
        let mut cmd = Cmd::with_capacity(2, 3 + key.len());
        cmd.arg("GET").arg(key);
        let answer = epoch.command_within(key, &cmd, self.patience()).await;
        epoch.server_errors.watch_rights("GET", answer.as_ref().err());
        match answer? {
            Value::BulkString(bytes) => Ok(Some(bytes.into())),
            Value::Nil => Ok(None),
            other => Err(LinkError::Unexpected(format!("GET: {other:?}"))),
        }
    }

    /// `GET key`, and [listeners](Self::listen) are notified when the key changes after it, expires, or is evicted: once, then the
    /// key must be read anew to be notified again. Costs one write of two commands (one, with [`Tracking::Broadcast`](crate::Tracking::Broadcast)).
    ///
    /// Not guaranteed: a notification if the connection ends before; then [`PushListener::ended`] is called.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn get_tracked(&self, key: &[u8]) -> Result<Tracked, LinkError> {
        let mut found = self.get_tracked_many(&[key]).await?;
        found.pop().unwrap_or_else(|| Err(LinkError::Unexpected("GET: no answer".to_owned())))
    }

    /// The same for several keys in one write, all on the connection of the first.
    ///
    /// # Errors
    /// As [`pipeline`](Self::pipeline) for the whole; what Redis refuses for one key is that key's answer.
    pub async fn get_tracked_many(&self, keys: &[&[u8]]) -> Result<Vec<Result<Tracked, LinkError>>, LinkError> {
        self.shared().epoch()?.get_tracked_many(keys, self.patience()).await
    }

    /// Any one command; `route` is the key that decides the connection, so commands on one key stay in order.
    ///
    /// Not for commands that block (use [`blocking`](Self::blocking)) nor for those that change the connection (`SELECT`,
    /// `SUBSCRIBE`, `MULTI`, ...): it is shared.
    ///
    /// # Errors
    /// [`LinkError::Down`], [`LinkError::EpochOver`], [`LinkError::RuntimeEnded`] and [`LinkError::Busy`]: nothing was sent.
    /// [`LinkError::NoAnswer`]: it may have happened. [`LinkError::Refused`]: the server's own words.
    pub async fn command(&self, route: &[u8], cmd: &Cmd) -> Result<Value, LinkError> {
        self.shared().epoch()?.command_within(route, cmd, self.patience()).await
    }

    /// Several commands in one write, all on the connection of `route`. One answer each, in order; a refusal is an answer
    /// (`Value::ServerError`) and does not stop the others. Not atomic.
    ///
    /// # Errors
    /// As [`command`](Self::command), for the whole; after [`LinkError::NoAnswer`] any part may have happened.
    pub async fn pipeline(&self, route: &[u8], pipeline: &Pipeline) -> Result<Vec<Value>, LinkError> {
        self.shared().epoch()?.pipeline_within(route, pipeline, self.patience()).await
    }

    /// Runs a script by its hash (loaded on every epoch; `NOSCRIPT` handled). The first key decides the connection.
    ///
    /// # Errors
    /// As [`command`](Self::command); [`LinkError::Unexpected`] if the answer is not a `T`.
    pub async fn run<T: FromRedisValue>(
        &self,
        script: &'static Script,
        keys: &[&[u8]],
        args: &[&[u8]],
    ) -> Result<T, LinkError> {
        self.shared().epoch()?.run_within(script, keys, args, self.patience()).await
    }

    /// Opens a connection of its own for commands that block, such as `BLPOP` or `XREAD BLOCK`.
    ///
    /// # Errors
    /// [`LinkError::Down`] if there is no epoch, or no connection can be made.
    pub async fn blocking(&self) -> Result<Blocking, LinkError> {
        blocking::open(self.shared()).await
    }

    /// Receives what is published on a channel (`SPUBLISH`), over all epochs to come.
    ///
    /// Guaranteed: after a message was lost that the link could know of, a [`Heard::Reset`](crate::Heard::Reset) follows.
    /// Not guaranteed: that a message arrives at all; check by a timer, too.
    ///
    /// # Errors
    /// As [`command`](Self::command); nothing is subscribed then.
    pub async fn subscribe(&self, channel: &[u8]) -> Result<Subscription, LinkError> {
        subscribe::subscribe(self.shared(), channel).await
    }

    /// Registers what must happen on every new epoch before it is published. It does not run for the present one.
    ///
    /// The link does not keep the hook alive (it would keep itself alive through it): **hold on to the `Arc`** for as long as
    /// the hook shall run.
    pub fn before_open<H: EpochHook>(&self, hook: &Arc<H>) {
        let hook: Weak<H> = Arc::downgrade(hook);
        self.shared().add_hook(hook);
    }

    /// Registers a listener that receives every push message, in order. Held weakly, like a hook.
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

    /// Lets the commands in flight finish, for at most `deadline`, turns new ones away and closes the connections, for all
    /// handles.
    pub async fn shutdown(&self, deadline: Duration) {
        supervisor::shut_down(self.shared(), deadline).await;
    }

    /// [`server_now_ms`](Self::server_now_ms) at a moment that was read already.
    #[inline]
    pub fn server_ms_at(&self, moment: Moment) -> u64 {
        self.shared().server_ms_at(moment)
    }

    /// When each connection last showed that it receives its pushes.
    pub fn pulse(&self) -> Arc<Pulse> {
        Arc::clone(&self.shared().pulse)
    }

    /// How often connections are asked for a sign of life.
    pub fn heartbeat(&self) -> Duration {
        self.shared().options.heartbeat
    }

    /// Whether both write the same keys of the same server, as far as their addresses say.
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

impl Handle {
    fn patience(&self, timeout: Duration) -> Arc<Patience> {
        let mut patiences = self.patiences.lock();
        let known = patiences.iter().find(|(known, _)| *known == timeout);
        if let Some(patience) = known.and_then(|(_, patience)| patience.upgrade()) {
            return patience;
        }
        patiences.retain(|(_, patience)| patience.strong_count() > 0);
        let patience = Arc::new(Patience::new(timeout, self.shared.clock.clone(), &self.runtime));
        patiences.push((timeout, Arc::downgrade(&patience)));
        patience
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        supervisor::close(&self.shared, EndReason::Shutdown);
    }
}
