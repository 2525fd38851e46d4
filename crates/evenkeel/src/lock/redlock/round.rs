//! One round of an acquisition: asks all servers, agrees on the fence, and releases what a failed round was granted.

use super::quorum::reached_by;
use super::servers::{Servers, drift_ms};
use evenkeel_link::Token;
use evenkeel_link::support::{Backoff, guard};
use evenkeel_protocol::lock::error::LockError;
use evenkeel_protocol::lock::name::LockName;
use evenkeel_protocol::lock::node::Vote;
use evenkeel_protocol::lock::steps::{Acquire, Acquired, Fence, Release};
use std::sync::Arc;
use std::time::Duration;

/// The backoff after a split round, in which several contenders were granted some servers each; with jitter, so that they do not collide
/// again.
const SPLIT: Backoff = Backoff { delay_min: Duration::from_millis(40), delay_max: Duration::from_millis(40) };

/// How a round ended.
pub(super) enum Ended {
    /// A majority granted the lock.
    Granted { fence: Fence, lease_left_ms: u64 },
    /// Other owners have the lock, or some of the servers.
    Taken { free_in_ms: u64 },
    /// Fewer than a majority of servers take part.
    TooFew { taking_part: usize },
}

/// A server that granted the lock in this round.
#[derive(Clone, Copy)]
struct Grant {
    at: usize,
    fence: u64,
    lease_left_ms: u64,
}

/// The votes of the servers, in their order; `None` without a reply.
struct Votes(Vec<Option<Result<Vote, LockError>>>);

impl Votes {
    fn grants(&self) -> Vec<Grant> {
        let votes = self.0.iter().enumerate();
        let grant = |(at, vote): (usize, &Option<_>)| match vote {
            Some(Ok(Vote::Counts(Acquired::Granted { fence: Fence(fence), lease_left_ms }))) => {
                Some(Grant { at, fence: *fence, lease_left_ms: *lease_left_ms })
            }
            _ => None,
        };
        votes.filter_map(grant).collect()
    }

    /// The times until the lock is free on servers where another owner has it, sorted.
    fn taken(&self) -> Vec<u64> {
        let taken = |vote: &Option<_>| match vote {
            Some(Ok(Vote::Counts(Acquired::Taken { free_in_ms }))) => Some(*free_in_ms),
            _ => None,
        };
        let mut taken: Vec<u64> = self.0.iter().filter_map(taken).collect();
        taken.sort_unstable();
        taken
    }

    fn has_outsider(&self) -> bool {
        self.0.iter().any(|vote| matches!(vote, Some(Ok(Vote::Outsider))))
    }

    /// Whether a server may have granted the lock to this round.
    fn may_have_left_something(&self) -> bool {
        self.0.iter().any(|vote| match vote {
            None | Some(Ok(Vote::Counts(Acquired::Granted { .. }))) => true,
            Some(Ok(_)) => false,
            Some(Err(error)) => error.outcome_unknown(),
        })
    }
}

/// Asks all servers for the lock, once.
pub(super) async fn play(servers: &Arc<Servers>, name: &LockName, call: &Acquire) -> Result<Ended, LockError> {
    let owner = servers.rounds.begin(call);
    let placed = Acquire { owner, ..call.clone() };
    let needed = servers.majority();
    let is_granted =
        |vote: &Option<Result<Vote, LockError>>| matches!(vote, Some(Ok(Vote::Counts(Acquired::Granted { .. }))));
    let votes = servers
        .until(
            |node| node.acquire(name, &placed, false),
            |votes| {
                let granted = votes.iter().filter(|vote| is_granted(vote)).count();
                let open = votes.iter().filter(|vote| vote.is_none()).count();
                granted >= needed || granted + open < needed
            },
        )
        .await;
    let votes = Votes(votes);
    if votes.has_outsider() {
        servers.outsider_seen.notify_one();
    }
    let grants = votes.grants();
    if grants.len() >= needed {
        let fence = grants.iter().map(|grant| grant.fence).max().unwrap_or(0);
        if agree(servers, name, owner, fence, &grants).await {
            servers.rounds.held(call.owner, fence);
            // A majority still has the lock at the end of this lease, also with drifting clocks.
            let left_ms = reached_by(needed, grants.iter().map(|grant| grant.lease_left_ms));
            return Ok(Ended::Granted {
                fence: Fence(fence),
                lease_left_ms: left_ms.saturating_sub(drift_ms(left_ms)),
            });
        }
    }
    if votes.may_have_left_something() {
        clear_up(servers, name, call, owner, &grants, &votes).await;
    } else {
        servers.rounds.got_nothing(call.owner);
    }
    Ok(failed(&votes, &grants, needed))
}

/// Writes the fence back to the servers that granted a lower one, so that a majority has it, which shares a server with any later majority.
/// The greatest granted fence alone is not enough: a holder that was granted 5 and 9 has 9, and the next one, with 6 and 2, has 6. Only
/// servers of this round count: a server that was admitted later has not taken part in choosing the fence.
async fn agree(servers: &Servers, name: &LockName, owner: Token, fence: u64, grants: &[Grant]) -> bool {
    let needed = servers.majority();
    let mut agreed = grants.iter().filter(|grant| grant.fence == fence).count();
    if agreed >= needed || !guard("redlock_write_back") {
        return true;
    }
    let below = grants.iter().filter(|grant| grant.fence < fence);
    let raises = below.map(|grant| servers.within(servers.nodes[grant.at].raise(name, owner, Fence(fence - 1))));
    let missing = needed - agreed;
    let is_raised = |raised: &Option<Result<Option<Fence>, LockError>>| matches!(raised, Some(Ok(Some(raised))) if raised.0 >= fence);
    let raised = super::quorum::ask(raises, |raised| {
        let good = raised.iter().filter(|raised| is_raised(raised)).count();
        let open = raised.iter().filter(|raised| raised.is_none()).count();
        good >= missing || good + open < missing
    })
    .await;
    agreed += raised.iter().filter(|raised| is_raised(raised)).count();
    agreed >= needed
}

/// Releases what this round was granted, and what it may have been granted by servers without a reply.
async fn clear_up(
    servers: &Arc<Servers>,
    name: &LockName,
    call: &Acquire,
    owner: Token,
    grants: &[Grant],
    votes: &Votes,
) {
    // A new owner before the releases, so that a late release does not affect a later round.
    servers.rounds.renew_owner(call.owner);
    servers.metrics.cleared.increment(1);
    let skipped: Vec<bool> = votes.0.iter().map(|vote| !matches!(vote, Some(Ok(_)))).collect();
    let release = Release { owner, process: call.process, waits: call.waits };
    let mut answers = servers.release_everywhere(name, release, false, &skipped);
    // Waits for the releases of known grants only.
    let mut answered = 0;
    while answered < grants.len()
        && let Some(answer) = answers.recv().await
    {
        answered += usize::from(answer.is_ok());
    }
}

fn failed(votes: &Votes, grants: &[Grant], needed: usize) -> Ended {
    let taken = votes.taken();
    let taking_part = grants.len() + taken.len();
    // Some servers have no vote because the round ended without them.
    let unanswered = votes.0.iter().filter(|vote| vote.is_none()).count();
    if taking_part + unanswered < needed {
        return Ended::TooFew { taking_part };
    }
    let split_ms = u64::try_from(SPLIT.delay(0).as_millis()).unwrap_or(1).max(1);
    let free_in_ms = match taken.get(needed - 1) {
        // No owner can have a majority before this many servers are free.
        Some(free_in_ms) if grants.is_empty() => *free_in_ms,
        _ => split_ms,
    };
    Ended::Taken { free_in_ms }
}
