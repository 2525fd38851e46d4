//! A TCP proxy in the test process that injects faults.
//!
//! Between a client and a server, it can stall, lose or delay bytes, cut a connection after a number of bytes or before a certain command
//! or reply, refuse connections, leave a connection half open, and send commands twice. A test can inspect its events
//! ([`Proxy::counters`], [`Proxy::commands`]) and wait for them ([`Proxy::wait_until`]).
//!
//! The proxy forwards any protocol; functions for *commands* need plain-text RESP (Redis). It runs on a thread and runtime of its own, so
//! a busy or paused test runtime does not slow it down.
//!
//! The seed determines the random choices (delays, duplicates, [`Schedule`]), but not how the operating system schedules the processes.

mod connection;
mod flow;
mod hold;
mod pump;
mod record;
mod resp;
mod schedule;
mod server;
mod shadow;
mod shared;

pub use flow::{Direction, Flow};
pub use hold::Hold;
pub use record::{Command, Counters};
pub use schedule::{Act, Schedule, Step};

use crate::servers::Port;
use anyhow::{Context, Result, anyhow};
use shared::{Cut, Shared};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::watch;

/// Longer than anything in a passing test waits.
const DEADLINE: Duration = Duration::from_secs(60);

/// A proxy in front of one server port; dropping it closes its connections.
#[derive(Debug)]
pub struct Proxy {
    shared: Arc<Shared>,
    port: Port,
    target: u16,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Proxy {
    /// Listens on a free loopback port and forwards everything to `target`, a port on 127.0.0.1.
    pub async fn start(target: u16, seed: u64) -> Result<Proxy> {
        let port = Port::reserve()?;
        let shared = Arc::new(Shared::new(target, seed));
        let (stop, stopped) = watch::channel(false);
        let (ready, listening) = tokio::sync::oneshot::channel();
        let (for_thread, number) = (shared.clone(), port.number());
        let serve = move || server::run(&for_thread, number, stopped, ready);
        let thread = std::thread::Builder::new().name("testkit-proxy".into()).spawn(serve)?;
        listening.await.context("the proxy's thread ended")?.context("the proxy could not listen")?;
        Ok(Proxy { shared, port, target, stop, thread: Some(thread) })
    }

    /// The port for clients.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// A server's address with the proxy's port in place of the server's.
    #[must_use]
    pub fn url(&self, server: &str) -> String {
        server.replacen(&format!("127.0.0.1:{}", self.target), &format!("127.0.0.1:{}", self.port()), 1)
    }

    /// Sets the fault of one direction, for open and new connections.
    pub fn set(&self, direction: Direction, flow: Flow) {
        self.shared.rules.send_modify(|rules| *rules.flow_mut(direction) = flow);
    }

    /// Ends every lasting fault: both directions pass, connections are accepted, and no command is duplicated. Connections that were cut,
    /// are half open, or lost bytes stay so.
    pub fn heal(&self) {
        self.shared.rules.send_modify(shared::Rules::heal);
    }

    /// Cuts every open connection: each side sees the other one close it.
    pub fn cut(&self) {
        self.shared.rules.send_modify(|rules| rules.cuts += 1);
    }

    /// Closes every open connection to the server but not to the client, whose socket stays open and silent.
    pub fn half_open(&self) {
        self.shared.rules.send_modify(|rules| rules.half_opens += 1);
    }

    /// Refuses new connections, by closing the listener, or accepts them again. Returns once this is in effect.
    pub async fn refuse(&self, refuse: bool) -> Result<()> {
        self.shared.rules.send_modify(|rules| rules.refuse = refuse);
        self.wait_until("the listener follows", |counters| counters.listening != refuse).await.map(drop)
    }

    /// Cuts a connection once, after the `bytes`-th byte from now in this direction.
    pub fn cut_after_bytes(&self, direction: Direction, bytes: u64) {
        self.shared.arm(Cut::AfterBytes(direction, bytes));
    }

    /// Cuts a connection once, before the server receives the command of this number (see [`Proxy::commands`]).
    pub fn cut_before_command(&self, number: u64) {
        self.shared.arm(Cut::Before(Direction::ToServer, number));
    }

    /// Cuts a connection once, before the client receives the reply to the command of this number: the server has executed the command,
    /// and the client cannot know its outcome.
    pub fn cut_before_reply(&self, number: u64) {
        self.shared.arm(Cut::Before(Direction::ToClient, number));
    }

    /// Holds the next command of this name (or its reply) until the returned handle is released or dropped. Later commands on the same
    /// connection wait behind it.
    #[must_use]
    pub fn hold(&self, direction: Direction, name: &str) -> Hold {
        self.shared.holds.add(direction, name)
    }

    /// Loses each command that contains these bytes, and everything after it on its connection: it is never answered. Connections that are
    /// opened later pass other commands.
    pub fn lose_commands_with(&self, bytes: &[u8]) {
        self.shared.rules.send_modify(|rules| rules.lost_with = Some(bytes.to_vec()));
    }

    /// Sends a share of the commands (0.0 ..= 1.0) to the server a second time, `later` by that much, on another connection, and discards
    /// the second reply. This simulates a client that lost a reply and repeats the call.
    pub fn duplicate(&self, share: f64, later: RangeInclusive<Duration>) {
        self.shared.rules.send_modify(|rules| rules.duplicate = Some((share, later)));
    }

    /// The counters since the start.
    #[must_use]
    pub fn counters(&self) -> Counters {
        *self.shared.counters.borrow()
    }

    /// The commands of the clients so far, in the order of arrival, numbered from 1.
    #[must_use]
    pub fn commands(&self) -> Vec<Command> {
        self.shared.commands()
    }

    /// Clears the recorded commands and restarts their numbers from 1.
    pub fn forget_commands(&self) {
        self.shared.forget_commands();
    }

    /// Waits until the counters satisfy `condition`, and returns them.
    ///
    /// Errors: the condition did not hold within 60 s; the error contains `what` and the counters.
    pub async fn wait_until(&self, what: &str, mut condition: impl FnMut(&Counters) -> bool) -> Result<Counters> {
        let mut counters = self.shared.counters.subscribe();
        let reached = tokio::time::timeout(DEADLINE, counters.wait_for(|counters| condition(counters))).await;
        match reached {
            Ok(counters) => Ok(*counters?),
            Err(_) => Err(anyhow!("did not happen within {DEADLINE:?}: {what}; {:?}", self.counters())),
        }
    }

    /// Waits until this number of connections has been accepted since the start.
    pub async fn wait_for_connections(&self, accepted: u64) -> Result<Counters> {
        self.wait_until(&format!("{accepted} connections"), |counters| counters.accepted >= accepted).await
    }

    /// Runs a schedule of faults, then heals.
    pub async fn play(&self, schedule: &Schedule) -> Result<()> {
        schedule::play(self, schedule).await
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}
