//! [`QuorumLock`]: the steps of a lock that is held on a majority of several servers.

use super::assembly;
use super::quorum::{ask, reached_by};
use super::round::{self, Ended};
use super::rounds::Round;
use super::servers::{Servers, drift_ms};
use async_trait::async_trait;
use evenkeel_link::Token;
use evenkeel_link::support::{guard, ms};
use evenkeel_protocol::lock::error::LockError;
use evenkeel_protocol::lock::name::LockName;
use evenkeel_protocol::lock::steps::{
    Acquire, Acquired, Fence, Holder, LockSteps, Release, Released, Renewed, WakeListener, check,
};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// The steps on several servers. Cheap to clone; clones share their state.
#[derive(Clone)]
pub(crate) struct QuorumLock {
    pub(super) servers: Arc<Servers>,
}

impl QuorumLock {
    pub(super) fn new(servers: Arc<Servers>) -> Self {
        Self { servers }
    }

    /// The owner on the servers and the state of an acquisition; an acquisition of another process has the caller's owner.
    fn round(&self, owner: Token) -> (Token, Option<Round>) {
        let round = self.servers.rounds.get(owner);
        (round.as_ref().map_or(owner, |round| round.owner), round)
    }

    /// Acquires the lock again on servers that do not have it, because they were unreachable or were admitted since. They are not counted
    /// in this renewal; later ones may need them.
    async fn rejoin(&self, name: &LockName, owner: Token, round: &Round, lease_ms: u64, lost: &[usize]) {
        let servers = &self.servers;
        let held = servers.clock.now().since(round.began);
        let limit = round.call.hold_ms_max.map(|limit| limit.saturating_sub(ms(held)));
        if limit == Some(0) {
            return;
        }
        let call = Acquire {
            owner: round.owner,
            lease_ms,
            hold_ms_max: limit,
            fence_floor: round.call.fence_floor.max(round.fence.saturating_sub(1)),
            waits: false,
            ..round.call.clone()
        };
        // Recorded before the calls, because the release must reject calls that arrive after it.
        servers.rounds.rejoins(owner);
        servers.metrics.rejoins.increment(lost.len() as u64);
        let asked = lost.iter().map(|at| servers.within(servers.nodes[*at].acquire(name, &call, true)));
        let votes = ask(asked, |_| false).await;
        if votes.iter().any(|vote| matches!(vote, Some(Ok(evenkeel_protocol::lock::node::Vote::Outsider)))) {
            servers.outsider_seen.notify_one();
        }
    }

    /// The holder of the lock on each server.
    async fn looked_at(&self, name: &LockName) -> Result<Vec<Option<Holder>>, LockError> {
        let seen = self.servers.all(|node| node.inspect(name)).await;
        let answered = seen.iter().filter(|seen| seen.is_ok()).count();
        if answered < self.servers.majority() {
            return Err(self.servers.too_few(answered));
        }
        Ok(seen.into_iter().map(|seen| seen.ok().flatten()).collect())
    }

    /// The holder on a majority of the servers.
    fn holder(&self, seen: &[Option<Holder>]) -> Option<Holder> {
        let mut by_owner: HashMap<Token, Vec<&Holder>> = HashMap::new();
        seen.iter().flatten().for_each(|holder| by_owner.entry(holder.owner).or_default().push(holder));
        let needed = self.servers.majority();
        let held = by_owner.into_values().find(|held| held.len() >= needed)?;
        let most = |value: fn(&Holder) -> u64| held.iter().map(|holder| value(holder)).max().unwrap_or(0);
        let reached = |value: fn(&Holder) -> u64| reached_by(needed, held.iter().map(|holder| value(holder)));
        Some(Holder {
            fence: Fence(most(|holder| holder.fence.0)),
            lease_left_ms: reached(|holder| holder.lease_left_ms),
            free_in_ms: reached(|holder| holder.free_in_ms),
            held_ms: most(|holder| holder.held_ms),
            waiting: most(|holder| holder.waiting),
            ..(*held.first()?).clone()
        })
    }
}

#[async_trait]
impl LockSteps for QuorumLock {
    async fn acquire(&self, name: &LockName, call: &Acquire) -> Result<Acquired, LockError> {
        self.check(call)?;
        self.servers.start_admission();
        let mut ended = round::play(&self.servers, name, call).await?;
        if matches!(ended, Ended::TooFew { .. }) {
            // Excluded servers may be ready to be admitted.
            assembly::run_once(&self.servers).await;
            ended = round::play(&self.servers, name, call).await?;
        }
        match ended {
            Ended::Granted { fence, lease_left_ms } => Ok(Acquired::Granted { fence, lease_left_ms }),
            Ended::Taken { free_in_ms } => Ok(Acquired::Taken { free_in_ms }),
            Ended::TooFew { taking_part } => Err(self.servers.too_few(taking_part)),
        }
    }

    async fn renew(&self, name: &LockName, owner: Token, lease_ms: u64) -> Result<Renewed, LockError> {
        let (known, round) = self.round(owner);
        let answers = self.servers.all(|node| node.renew(name, known, lease_ms)).await;
        let (mut left, mut lost, mut renewed) = (Vec::new(), Vec::new(), 0);
        for (at, answer) in answers.iter().enumerate() {
            match answer {
                Ok(Renewed::Renewed { lease_left_ms }) => {
                    renewed += 1;
                    left.push(*lease_left_ms);
                }
                Ok(Renewed::Held { lease_left_ms }) => left.push(*lease_left_ms),
                Ok(Renewed::Lost) => lost.push(at),
                Err(_) => {}
            }
        }
        let needed = self.servers.majority();
        if left.len() < needed {
            // Lost if the servers that did not report a loss are fewer than a majority; otherwise the outcome is unknown.
            let is_lost = self.servers.nodes.len() - lost.len() < needed;
            return if is_lost { Ok(Renewed::Lost) } else { Err(self.servers.too_few(left.len())) };
        }
        if let Some(round) = round.filter(|_| !lost.is_empty() && guard("redlock_rejoin")) {
            self.rejoin(name, owner, &round, lease_ms, &lost).await;
        }
        let left_ms = reached_by(needed, left.into_iter());
        let lease_left_ms = left_ms.saturating_sub(drift_ms(left_ms));
        Ok(if renewed >= needed { Renewed::Renewed { lease_left_ms } } else { Renewed::Held { lease_left_ms } })
    }

    async fn release(&self, name: &LockName, call: Release) -> Result<Released, LockError> {
        let (owner, round) = self.round(call.owner);
        let has_rejoined = round.is_some_and(|round| round.has_rejoined);
        let release = Release { owner, process: call.process, waits: call.waits };
        let mut answers = self.servers.release_everywhere(name, release, has_rejoined, &[]);
        let needed = self.servers.majority();
        let (mut released, mut waiting, mut nothing, mut lost) = (0, 0, 0, 0);
        while released < needed
            && let Some(answer) = answers.recv().await
        {
            match answer {
                Ok(Released::Released { others_waiting }) => {
                    released += 1;
                    waiting = waiting.max(others_waiting);
                }
                Ok(Released::Nothing) => nothing += 1,
                Ok(Released::Lost) => lost += 1,
                Err(_) => {}
            }
        }
        let answered = released + nothing + lost;
        if answered < needed {
            return Err(self.servers.too_few(answered));
        }
        self.servers.rounds.end(call.owner);
        Ok(match released {
            _ if released >= needed => Released::Released { others_waiting: waiting },
            0 if lost == 0 => Released::Nothing,
            _ => Released::Lost,
        })
    }

    async fn raise(&self, name: &LockName, owner: Token, seen: Fence) -> Result<Option<Fence>, LockError> {
        let (known, _) = self.round(owner);
        let mut above = seen;
        // Twice, because the other servers must reach the highest fence of the first call.
        for _ in 0..2 {
            let answers = self.servers.all(|node| node.raise(name, known, above)).await;
            let fences: Vec<u64> = answers
                .iter()
                .filter_map(|answer| answer.as_ref().ok().copied().flatten())
                .map(|fence| fence.0)
                .collect();
            let lost = answers.iter().filter(|answer| matches!(answer, Ok(None))).count();
            let needed = self.servers.majority();
            if fences.len() < needed {
                let is_lost = self.servers.nodes.len() - lost < needed;
                return if is_lost { Ok(None) } else { Err(self.servers.too_few(fences.len())) };
            }
            let fence = fences.iter().copied().max().unwrap_or(0);
            if reached_by(needed, fences.into_iter()) == fence {
                self.servers.rounds.held(owner, fence);
                return Ok(Some(Fence(fence)));
            }
            above = Fence(fence - 1);
        }
        Err(self.servers.too_few(0))
    }

    async fn inspect(&self, name: &LockName) -> Result<Option<Holder>, LockError> {
        Ok(self.holder(&self.looked_at(name).await?))
    }

    async fn break_lock(&self, name: &LockName, seen: Option<Fence>) -> Result<Option<Holder>, LockError> {
        let on_each = self.looked_at(name).await?;
        let Some(holder) = self.holder(&on_each) else { return Ok(None) };
        if seen.is_some_and(|seen| seen != holder.fence) {
            return Ok(None);
        }
        // With each server's own fence, so that a later holder is not affected.
        let its = on_each.iter().zip(&self.servers.nodes).filter_map(|(found, node)| {
            let found = found.as_ref().filter(|found| found.owner == holder.owner)?;
            Some(self.servers.within(node.break_lock(name, found.fence)))
        });
        let broken =
            ask(its, |_| false).await.into_iter().flatten().filter(|broken| matches!(broken, Ok(Some(_)))).count();
        if broken == 0 { Ok(None) } else { Ok(Some(holder)) }
    }

    async fn held(&self) -> Result<Vec<LockName>, LockError> {
        self.servers.held().await
    }

    async fn eviction(&self) -> Result<Option<(String, String)>, LockError> {
        let replies = self.servers.all(|node| node.eviction()).await;
        Ok(replies.into_iter().flatten().flatten().next())
    }

    async fn listen(&self, name: &LockName) -> Result<Box<dyn WakeListener>, LockError> {
        Ok(Box::new(self.servers.listen(name).await?))
    }

    fn check(&self, call: &Acquire) -> Result<(), LockError> {
        check(call)?;
        if call.lease_ms > ms(self.servers.ttl_max) {
            return Err(LockError::Invalid(format!(
                "a ttl of {} ms; the maximum of this Redlock is {:?}, see `RedlockBuilder::ttl_max`",
                call.lease_ms, self.servers.ttl_max
            )));
        }
        Ok(())
    }
}

impl QuorumLock {
    /// Connects to the servers, and admits those that may take part.
    pub(super) async fn open(&self) {
        assembly::run_once(&self.servers).await;
        self.servers.start_admission();
    }

    /// Waits until releases have completed on every reachable server, then closes the connections.
    pub(super) async fn shutdown(&self, deadline: Duration) {
        let began = self.servers.clock.now();
        if self.servers.clock.timeout(deadline, self.servers.cleared()).await.is_err() {
            tracing::warn!(
                "some servers of a Redlock did not answer releases in time; the locks end there with their leases"
            );
        }
        self.servers.shutdown(deadline.saturating_sub(self.servers.clock.now().since(began))).await;
    }
}
