//! The servers of one Redlock, and how they are asked.

use super::assembly;
use super::listener::RedlockListener;
use super::metrics::RedlockMetrics;
use super::quorum::{ask, majority};
use super::rounds::Rounds;
use evenkeel_link::clock::Clock;
use evenkeel_link::support::{Background, Backoff, guard};
use evenkeel_link::{LinkError, Token};
use evenkeel_protocol::lock::error::LockError;
use evenkeel_protocol::lock::name::LockName;
use evenkeel_protocol::lock::node::{Node, NodeListener};
use evenkeel_protocol::lock::steps::{Release, Released};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, mpsc, watch};

/// What a server's clock may run faster or slower than ours while a lease lasts: this share of it, and a little.
const DRIFT_SHARE: u64 = 100;
const DRIFT_MS: u64 = 2;
/// Between tries of a release that had no answer.
const RETRY: Backoff = Backoff { delay_min: Duration::from_millis(20), delay_max: Duration::from_secs(1) };

/// The servers of one Redlock, and what one process knows of its acquisitions on them.
pub(super) struct Servers {
    pub(super) nodes: Vec<Node>,
    pub(super) clock: Clock,
    pub(super) rounds: Rounds,
    /// No lease is longer; what has forgotten locks sits out so long.
    pub(super) ttl_max: Duration,
    pub(super) metrics: RedlockMetrics,
    /// Somebody met a server that does not take part.
    pub(super) outsider_seen: Arc<Notify>,
    node_timeout: Duration,
    /// Releases that are still tried on some server.
    clearing: watch::Sender<usize>,
    assembly: Mutex<Option<Background>>,
}

impl Servers {
    pub(super) fn new(nodes: Vec<Node>, clock: Clock, node_timeout: Duration, ttl_max: Duration) -> Arc<Self> {
        Arc::new(Self {
            rounds: Rounds::new(clock.clone(), ttl_max),
            nodes,
            clock,
            ttl_max,
            metrics: RedlockMetrics::register(),
            outsider_seen: Arc::default(),
            node_timeout,
            clearing: watch::Sender::new(0),
            assembly: Mutex::default(),
        })
    }

    /// Sees to it that servers that come back are let in. Needs the runtime that the locks are acquired on.
    pub(super) fn look_after(self: &Arc<Self>) {
        let mut assembly = self.assembly.lock();
        if assembly.as_ref().is_none_or(Background::is_over) {
            *assembly = Some(assembly::start(self));
        }
    }

    pub(super) fn majority(&self) -> usize {
        majority(self.nodes.len())
    }

    /// How long what may have forgotten locks sits out: the longest lease, by a clock that may be fast.
    pub(super) fn sit_out_ms(&self) -> u64 {
        let ttl_max_ms = milliseconds(self.ttl_max);
        ttl_max_ms + drift_ms(ttl_max_ms)
    }

    /// One server's answer, for which nobody waits longer than its time-out.
    pub(super) async fn within<T>(&self, asked: impl Future<Output = Result<T, LockError>>) -> Result<T, LockError> {
        match self.clock.timeout(self.node_timeout, asked).await {
            Ok(answer) => answer,
            Err(_) => Err(LockError::Link(LinkError::NoAnswer { reason: "the time-out of one server passed" })),
        }
    }

    /// Asks all servers at once, until `is_enough` is known.
    pub(super) async fn until<'a, T, F>(
        &'a self,
        ask_one: impl Fn(&'a Node) -> F,
        is_enough: impl Fn(&[Option<Result<T, LockError>>]) -> bool,
    ) -> Vec<Option<Result<T, LockError>>>
    where
        F: Future<Output = Result<T, LockError>>,
    {
        ask(self.nodes.iter().map(|node| self.within(ask_one(node))), is_enough).await
    }

    /// Asks all servers at once and waits for each as long as it may take.
    pub(super) async fn all<'a, T, F>(&'a self, ask_one: impl Fn(&'a Node) -> F) -> Vec<Result<T, LockError>>
    where
        F: Future<Output = Result<T, LockError>>,
    {
        self.until(ask_one, |_| false).await.into_iter().flatten().collect()
    }

    /// Sends a release to every server, and goes on sending it to those that do not answer, until the lease has ended by itself.
    /// Needs no further help: dropping what is returned changes nothing. First answers only, in the order in which they come.
    pub(super) fn release_everywhere(
        self: &Arc<Self>,
        name: &LockName,
        call: Release,
        buries: bool,
        skipped: &[bool],
    ) -> mpsc::UnboundedReceiver<Result<Released, LockError>> {
        let (told, answers) = mpsc::unbounded_channel();
        let until = self.clock.now() + self.ttl_max;
        let buries = buries.then(|| milliseconds(self.ttl_max));
        for (at, node) in self.nodes.iter().enumerate() {
            if skipped.get(at).copied().unwrap_or(false) && !guard("redlock_release_everywhere") {
                continue;
            }
            let (servers, node, name, told) = (Arc::clone(self), node.clone(), name.clone(), told.clone());
            let clearing = Clearing::new(&self.clearing);
            tokio::spawn(async move {
                let _clearing = clearing;
                let mut told = Some(told);
                for attempt in 0.. {
                    let answer = servers.within(node.release(&name, call, buries)).await;
                    let is_over = match &answer {
                        Ok(_) => true,
                        Err(error) => !error.is_retryable() || servers.clock.now() >= until,
                    };
                    if let Some(told) = told.take() {
                        // Whoever asked may have heard enough.
                        told.send(answer).ok();
                    }
                    if is_over {
                        return;
                    }
                    servers.clock.sleep(RETRY.delay(attempt)).await;
                }
            });
        }
        answers
    }

    /// Ready when no release is tried any more.
    pub(super) async fn cleared(&self) {
        // The sender lives in `self`, so waiting cannot fail.
        let _ = self.clearing.subscribe().wait_for(|clearing| *clearing == 0).await;
    }

    /// Subscribes to a lock on as many servers as answer.
    pub(super) async fn listen(&self, name: &LockName) -> Result<RedlockListener, LockError> {
        let listeners: Vec<Result<NodeListener, LockError>> = self.all(|node| node.listen(name)).await;
        let listeners: Vec<NodeListener> = listeners.into_iter().filter_map(Result::ok).collect();
        match listeners.len() {
            0 => Err(self.too_few(0)),
            _ => Ok(RedlockListener::new(listeners, self.nodes.len())),
        }
    }

    /// The names that a majority holds, sorted.
    pub(super) async fn held(&self) -> Result<Vec<LockName>, LockError> {
        let lists = ask(self.nodes.iter().map(Node::held), |_| false).await;
        let lists: Vec<Vec<LockName>> = lists.into_iter().flatten().filter_map(Result::ok).collect();
        if lists.len() < self.majority() {
            return Err(self.too_few(lists.len()));
        }
        let mut counts: BTreeMap<LockName, usize> = BTreeMap::new();
        lists.into_iter().flatten().for_each(|name| *counts.entry(name).or_default() += 1);
        Ok(counts.into_iter().filter(|(_, count)| *count >= self.majority()).map(|(name, _)| name).collect())
    }

    pub(super) async fn shutdown(&self, deadline: Duration) {
        let links = self.nodes.iter().filter_map(|node| match node {
            Node::Redis(node) => Some(node.shutdown(deadline)),
            Node::Memory(_) => None,
        });
        ask(links, |_| false).await;
    }

    /// How many servers have been reached.
    pub(super) fn reached(&self) -> usize {
        self.nodes.iter().filter(|node| matches!(node, Node::Redis(node) if node.is_connected())).count()
    }

    /// Too few servers take part.
    pub(super) fn too_few(&self, taking_part: usize) -> LockError {
        let has_ended = |node: &Node| matches!(node, Node::Redis(node) if node.has_runtime_ended());
        if self.nodes.iter().any(has_ended) {
            return LockError::Link(LinkError::RuntimeEnded);
        }
        let unreached = self.nodes.iter().filter_map(|node| match node {
            Node::Redis(node) => node.unreached().filter(|_| guard("redlock_names_unreached")),
            Node::Memory(_) => None,
        });
        LockError::NoQuorum {
            taking_part,
            needed: self.majority(),
            servers: self.nodes.len(),
            unreached: unreached.collect(),
        }
    }
}

/// What a lease of so many ms is shorter by.
pub(super) fn drift_ms(lease_ms: u64) -> u64 {
    if guard("redlock_drift") { lease_ms / DRIFT_SHARE + DRIFT_MS } else { 0 }
}

pub(super) fn milliseconds(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// A release is tried on some server while this lives.
struct Clearing(watch::Sender<usize>);

impl Clearing {
    fn new(count: &watch::Sender<usize>) -> Self {
        count.send_modify(|count| *count += 1);
        Self(count.clone())
    }
}

impl Drop for Clearing {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}

/// Names what a release is sent for.
pub(super) fn release_of(owner: Token, process: Token, waits: bool) -> Release {
    Release { owner, process, waits }
}
