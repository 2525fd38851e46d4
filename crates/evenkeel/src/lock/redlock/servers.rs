//! The servers of one Redlock, and the calls to them.

use super::assembly;
use super::listener::RedlockListener;
use super::metrics::RedlockMetrics;
use super::quorum::{ask, majority};
use super::rounds::Rounds;
use evenkeel_link::LinkError;
use evenkeel_link::clock::Clock;
use evenkeel_link::support::{Background, Backoff, InProgress, guard, ms};
use evenkeel_protocol::lock::error::LockError;
use evenkeel_protocol::lock::name::LockName;
use evenkeel_protocol::lock::node::Node;
use evenkeel_protocol::lock::steps::{Release, Released};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, mpsc, watch};

/// The tolerated drift of a server's clock during a lease: this share of the lease, plus `DRIFT_MS`.
const DRIFT_SHARE: u64 = 100;
const DRIFT_MS: u64 = 2;
/// The backoff between attempts of an unanswered release.
const RETRY: Backoff = Backoff { delay_min: Duration::from_millis(20), delay_max: Duration::from_secs(1) };

/// The servers of one Redlock, and the state of one process's acquisitions on them.
pub(super) struct Servers {
    pub(super) nodes: Vec<Arc<dyn Node>>,
    pub(super) clock: Clock,
    pub(super) rounds: Rounds,
    /// The longest lease, for which a server without its data is excluded.
    pub(super) ttl_max: Duration,
    pub(super) metrics: RedlockMetrics,
    /// Notified when a call meets a server that does not take part.
    pub(super) outsider_seen: Arc<Notify>,
    node_timeout: Duration,
    /// The number of releases in progress on servers.
    clearing: watch::Sender<usize>,
    assembly: Mutex<Option<Background>>,
}

impl Servers {
    pub(super) fn new(nodes: Vec<Arc<dyn Node>>, clock: Clock, node_timeout: Duration, ttl_max: Duration) -> Arc<Self> {
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

    /// Starts the loop that admits servers, unless it runs. Needs the runtime on which the locks are acquired.
    pub(super) fn start_admission(self: &Arc<Self>) {
        let mut assembly = self.assembly.lock();
        if assembly.as_ref().is_none_or(Background::is_over) {
            *assembly = Some(assembly::start(self));
        }
    }

    pub(super) fn majority(&self) -> usize {
        majority(self.nodes.len())
    }

    /// How long a server without its data is excluded: the longest lease, by a clock that may be fast.
    pub(super) fn sit_out_ms(&self) -> u64 {
        let ttl_max_ms = ms(self.ttl_max);
        ttl_max_ms + drift_ms(ttl_max_ms)
    }

    /// Awaits the reply of one server, with a deadline.
    pub(super) async fn within<T>(&self, asked: impl Future<Output = Result<T, LockError>>) -> Result<T, LockError> {
        let silent = LinkError::NoAnswer { reason: "one server did not answer within its timeout" };
        self.clock.timeout(self.node_timeout, asked).await.unwrap_or(Err(LockError::Link(silent)))
    }

    /// Calls all servers concurrently, until `is_enough` is true.
    pub(super) async fn until<'a, T, F>(
        &'a self,
        ask_one: impl Fn(&'a dyn Node) -> F,
        is_enough: impl Fn(&[Option<Result<T, LockError>>]) -> bool,
    ) -> Vec<Option<Result<T, LockError>>>
    where
        F: Future<Output = Result<T, LockError>>,
    {
        ask(self.nodes.iter().map(|node| self.within(ask_one(&**node))), is_enough).await
    }

    /// Calls all servers concurrently and waits for all replies.
    pub(super) async fn all<'a, T, F>(&'a self, ask_one: impl Fn(&'a dyn Node) -> F) -> Vec<Result<T, LockError>>
    where
        F: Future<Output = Result<T, LockError>>,
    {
        self.until(ask_one, |_| false).await.into_iter().flatten().collect()
    }

    /// Sends a release to every server in the background, and repeats it on servers that do not answer until the lease has expired.
    /// Dropping the receiver does not stop it. The receiver gets the first reply of each server, in the order of arrival.
    pub(super) fn release_everywhere(
        self: &Arc<Self>,
        name: &LockName,
        call: Release,
        leaves_tombstone: bool,
        skipped: &[bool],
    ) -> mpsc::UnboundedReceiver<Result<Released, LockError>> {
        let (replies, answers) = mpsc::unbounded_channel();
        let until = self.clock.now() + self.ttl_max;
        let leaves_tombstone = leaves_tombstone.then(|| ms(self.ttl_max));
        for (at, node) in self.nodes.iter().enumerate() {
            if skipped.get(at).copied().unwrap_or(false) && !guard("redlock_release_everywhere") {
                continue;
            }
            let (servers, node, name, replies) = (Arc::clone(self), Arc::clone(node), name.clone(), replies.clone());
            let clearing = InProgress::begin(&self.clearing);
            evenkeel_link::support::spawn(async move {
                let _clearing = clearing;
                let mut replies = Some(replies);
                for attempt in 0.. {
                    let answer = servers.within(node.release(&name, call, leaves_tombstone)).await;
                    let is_over = match &answer {
                        Ok(_) => true,
                        Err(error) => !error.is_retryable() || servers.clock.now() >= until,
                    };
                    if let Some(replies) = replies.take() {
                        // Fails only if the caller has dropped the receiver.
                        replies.send(answer).ok();
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

    /// Completes when no release is in progress.
    pub(super) async fn cleared(&self) {
        InProgress::until_none(&self.clearing).await;
    }

    /// Subscribes to the notifications of a lock on all servers that answer.
    pub(super) async fn listen(&self, name: &LockName) -> Result<RedlockListener, LockError> {
        let listeners = self.all(|node| node.listen(name)).await;
        let listeners: Vec<_> = listeners.into_iter().filter_map(Result::ok).collect();
        match listeners.len() {
            0 => Err(self.too_few(0)),
            _ => Ok(RedlockListener::new(listeners, self.nodes.len())),
        }
    }

    /// The names of locks that are held on a majority, sorted.
    pub(super) async fn held(&self) -> Result<Vec<LockName>, LockError> {
        let lists = ask(self.nodes.iter().map(|node| node.held()), |_| false).await;
        let lists: Vec<Vec<LockName>> = lists.into_iter().flatten().filter_map(Result::ok).collect();
        if lists.len() < self.majority() {
            return Err(self.too_few(lists.len()));
        }
        let mut counts: BTreeMap<LockName, usize> = BTreeMap::new();
        lists.into_iter().flatten().for_each(|name| *counts.entry(name).or_default() += 1);
        Ok(counts.into_iter().filter(|(_, count)| *count >= self.majority()).map(|(name, _)| name).collect())
    }

    pub(super) async fn shutdown(&self, deadline: Duration) {
        ask(self.nodes.iter().map(|node| node.shutdown(deadline)), |_| false).await;
    }

    /// The number of connected servers.
    pub(super) fn connected_count(&self) -> usize {
        self.nodes.iter().filter(|node| node.is_connected()).count()
    }

    /// The error for too few servers that take part.
    pub(super) fn too_few(&self, taking_part: usize) -> LockError {
        if self.nodes.iter().any(|node| node.has_runtime_ended()) {
            return LockError::Link(LinkError::RuntimeEnded);
        }
        let unreached = self.nodes.iter().filter_map(|node| node.unreached());
        let unreached = unreached.filter(|_| guard("redlock_names_unreached"));
        LockError::NoQuorum {
            taking_part,
            needed: self.majority(),
            servers: self.nodes.len(),
            unreached: unreached.collect(),
        }
    }
}

/// The tolerated drift of a lease in ms, by which it is shortened.
pub(super) fn drift_ms(lease_ms: u64) -> u64 {
    if guard("redlock_drift") { lease_ms / DRIFT_SHARE + DRIFT_MS } else { 0 }
}
