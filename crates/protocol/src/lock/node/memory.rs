//! A server of a Redlock as a model in this process: the model of the exclusive lock, and its membership.

use super::{Mark, Membership, Node, NodeListener, Vote};
use crate::lock::error::LockError;
use crate::lock::memory::MemoryLock;
use crate::lock::name::LockName;
use crate::lock::steps::{Acquire, LockSteps, Release, Released};
use async_trait::async_trait;
use evenkeel_link::Token;
use evenkeel_link::clock::Clock;
use evenkeel_link::support::guard;
use parking_lot::Mutex;
use std::collections::HashSet;

/// One server.
pub struct MemoryNode {
    state: Mutex<State>,
    clock: Clock,
}

struct State {
    locks: MemoryLock,
    is_member: bool,
    /// When its mark was created.
    since: Option<u64>,
    floor: u64,
    /// Owners that have released their locks. (Redis removes them after the longest ttl.)
    gone: HashSet<Token>,
}

impl MemoryNode {
    /// A member from the beginning: a server of a new Redlock.
    pub fn member(clock: Clock) -> Self {
        let locks = MemoryLock::new(clock.clone());
        let state = State { locks, is_member: true, since: None, floor: 0, gone: HashSet::new() };
        Self { state: Mutex::new(state), clock }
    }
}

#[async_trait]
impl Node for MemoryNode {
    async fn acquire(&self, name: &LockName, call: &Acquire, rejoins: bool) -> Result<Vote, LockError> {
        let (locks, floor) = {
            let state = self.state.lock();
            let has_tombstone = rejoins && state.gone.contains(&call.owner) && guard("model_redlock_tombstone");
            if has_tombstone || (!state.is_member && guard("model_redlock_outsider")) {
                return Ok(Vote::Outsider);
            }
            (state.locks.clone(), if guard("model_redlock_floor") { state.floor } else { 0 })
        };
        let call = Acquire { fence_floor: call.fence_floor.max(floor), ..call.clone() };
        Ok(Vote::Counts(locks.acquire(name, &call).await?))
    }

    async fn release(&self, name: &LockName, call: Release, tombstone_ms: Option<u64>) -> Result<Released, LockError> {
        let locks = {
            let mut state = self.state.lock();
            if tombstone_ms.is_some() {
                state.gone.insert(call.owner);
            }
            state.locks.clone()
        };
        locks.release(name, call).await
    }

    async fn membership(&self, sit_out_ms: u64) -> Result<Membership, LockError> {
        let now = self.clock.unix_ms();
        let mut state = self.state.lock();
        let since = state.since.filter(|since| *since <= now).unwrap_or(now);
        state.since = Some(since);
        if state.is_member {
            return Ok(Membership::Member);
        }
        Ok(Membership::Out { left_ms: (since + sit_out_ms).saturating_sub(now), mark: Mark(since) })
    }

    async fn admit(&self, mark: Mark, floor: u64) -> Result<bool, LockError> {
        let mut state = self.state.lock();
        if state.since != Some(mark.0) {
            return Ok(false);
        }
        if !state.is_member {
            (state.is_member, state.floor) = (true, floor);
        }
        Ok(true)
    }

    async fn fence_max(&self) -> Result<u64, LockError> {
        let state = self.state.lock();
        Ok(state.locks.fence_max().max(state.floor))
    }

    async fn listen(&self, _name: &LockName) -> Result<Box<dyn NodeListener>, LockError> {
        Ok(Box::new(self.state.lock().locks.listen()))
    }

    fn locks(&self) -> Result<Box<dyn LockSteps>, LockError> {
        Ok(Box::new(self.state.lock().locks.clone()))
    }

    /// Like a server that was restarted without its data.
    #[cfg(feature = "testing")]
    fn forget(&self) {
        let mut state = self.state.lock();
        state.locks = MemoryLock::new(self.clock.clone());
        (state.is_member, state.since, state.floor) = (false, None, 0);
        state.gone.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::steps::Acquired;
    use bytes::Bytes;

    fn call(owner: Token) -> Acquire {
        let process = Token::from([9; 16]);
        let (lease_ms, cooling_ms, hold_ms_max, fence_floor) = (30_000, 0, None, 0);
        Acquire { owner, process, lease_ms, cooling_ms, hold_ms_max, fence_floor, waits: false, metadata: Bytes::new() }
    }

    /// Without the tombstone, a rejoin that was delayed in the network would hold the lock for a whole lease after its release.
    // shows: spec/lock.md
    #[tokio::test]
    async fn rejoin_after_the_release_is_rejected() -> Result<(), LockError> {
        let (name, owner) = (LockName::new("stock/42")?, Token::random());
        let node = MemoryNode::member(Clock::system());
        let came_in = node.acquire(&name, &call(owner), true).await?;
        assert!(matches!(came_in, Vote::Counts(Acquired::Granted { .. })));
        let release = Release { owner, process: Token::from([9; 16]), waits: false };
        node.release(&name, release, Some(60_000)).await?;
        assert_eq!(node.acquire(&name, &call(owner), true).await?, Vote::Outsider);
        assert_eq!(node.inspect(&name).await?, None);
        Ok(())
    }
}
