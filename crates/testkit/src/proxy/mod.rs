//! A TCP proxy that makes faults, in this process and on command.
//!
//! Put it between a client and a server, then break the way: let nothing through, lose bytes, delay, cut after so many bytes or
//! before a certain command or reply, refuse connections, leave a connection half open, send commands twice. Everything can be
//! seen ([`Proxy::counters`], [`Proxy::commands`]) and waited for ([`Proxy::wait_until`]).
//!
//! Bytes of any protocol pass; what concerns *commands* needs plain-text RESP (Redis). The proxy runs on a thread and runtime of
//! its own, so a busy or paused test runtime does not slow it down.
//!
//! Random choices (delays, duplicates, [`Schedule`]) come from the seed. Not reproduced by a seed: how the operating system
//! interleaves the processes.

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

/// Nothing in a passing test waits this long.
const DEADLINE: Duration = Duration::from_secs(60);

/// A proxy in front of one server port; it ends, with its connections, when dropped.
#[derive(Debug)]
pub struct Proxy {
    shared: Arc<Shared>,
    port: Port,
    target: u16,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Proxy {
    /// Listens on a free loopback port and passes everything on to `target`, a port on 127.0.0.1.
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

    /// The port clients connect to.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// A server's address with the proxy's port in place of the server's.
    #[must_use]
    pub fn url(&self, server: &str) -> String {
        server.replacen(&format!("127.0.0.1:{}", self.target), &format!("127.0.0.1:{}", self.port()), 1)
    }

    /// Says what happens to bytes in one direction from now on, on open and new connections.
    pub fn set(&self, direction: Direction, flow: Flow) {
        self.shared.rules.send_modify(|rules| *rules.flow_mut(direction) = flow);
    }

    /// Takes back every lasting fault: both directions pass, connections are accepted, nothing is sent twice. What is cut or
    /// half open stays so, and so does a connection that lost bytes.
    pub fn heal(&self) {
        self.shared.rules.send_modify(shared::Rules::heal);
    }

    /// Cuts every open connection. Both sides see the other one closing.
    pub fn cut(&self) {
        self.shared.rules.send_modify(|rules| rules.cuts += 1);
    }

    /// Closes every open connection towards the server and tells the client nothing: its socket stays open and is silent for
    /// ever.
    pub fn half_open(&self) {
        self.shared.rules.send_modify(|rules| rules.half_opens += 1);
    }

    /// Whether new connections are refused (nobody listens on the port). Returns once that is so.
    pub async fn refuse(&self, refuse: bool) -> Result<()> {
        self.shared.rules.send_modify(|rules| rules.refuse = refuse);
        self.wait_until("the listener follows", |counters| counters.listening != refuse).await.map(drop)
    }

    /// Cuts the connection that carries the `bytes`-th byte from now in this direction, after that byte. Once.
    pub fn cut_after_bytes(&self, direction: Direction, bytes: u64) {
        self.shared.arm(Cut::AfterBytes(direction, bytes));
    }

    /// Cuts the connection that brings the command of this number (see [`Proxy::commands`]) before the server gets it. Once.
    pub fn cut_before_command(&self, number: u64) {
        self.shared.arm(Cut::Before(Direction::ToServer, number));
    }

    /// Cuts the connection when the server has answered the command of this number, before the client gets the answer: the
    /// command happened and the client cannot know. Once.
    pub fn cut_before_reply(&self, number: u64) {
        self.shared.arm(Cut::Before(Direction::ToClient, number));
    }

    /// Holds the next command of this name (or its reply) until the returned handle is released or dropped. What comes after it
    /// on the same connection waits behind it.
    #[must_use]
    pub fn hold(&self, direction: Direction, name: &str) -> Hold {
        self.shared.holds.add(direction, name)
    }

    /// Sends a share of the commands (0.0 ..= 1.0) to the server a second time, on a connection of its own and `later` by that
    /// much; nobody sees the second answer. This is what a client does that lost an answer and repeats the call.
    pub fn duplicate(&self, share: f64, later: RangeInclusive<Duration>) {
        self.shared.rules.send_modify(|rules| rules.duplicate = Some((share, later)));
    }

    /// What happened so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        *self.shared.counters.borrow()
    }

    /// The commands clients sent so far, in the order in which they came, numbered from 1.
    #[must_use]
    pub fn commands(&self) -> Vec<Command> {
        self.shared.commands()
    }

    /// Forgets the commands so far and numbers from 1 again.
    pub fn forget_commands(&self) {
        self.shared.forget_commands();
    }

    /// Waits until the counters satisfy `condition`, and returns them.
    ///
    /// Errors: that did not happen within 60 s; the text says `what` and the counters.
    pub async fn wait_until(&self, what: &str, mut condition: impl FnMut(&Counters) -> bool) -> Result<Counters> {
        let mut counters = self.shared.counters.subscribe();
        let reached = tokio::time::timeout(DEADLINE, counters.wait_for(|counters| condition(counters))).await;
        match reached {
            Ok(counters) => Ok(*counters?),
            Err(_) => Err(anyhow!("waited {DEADLINE:?} and it did not happen: {what}; {:?}", self.counters())),
        }
    }

    /// Waits until so many connections have been accepted since the start.
    pub async fn wait_for_connections(&self, accepted: u64) -> Result<Counters> {
        self.wait_until(&format!("{accepted} connections"), |counters| counters.accepted >= accepted).await
    }

    /// Plays a schedule of faults to its end and heals.
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
