//! A server of a Redlock as a model in this process: the model of the exclusive lock, and its membership.

use super::{Mark, Standing, Vote};
use crate::lock::error::LockError;
use crate::lock::memory::MemoryLock;
use crate::lock::name::LockName;
use crate::lock::steps::{Acquire, LockSteps};
use evenkeel_link::Token;
use evenkeel_link::clock::Clock;
use evenkeel_link::support::guard;
use parking_lot::{Mutex, MutexGuard};
use std::collections::HashSet;
use std::sync::Arc;

/// One server. Cheap to clone; clones are the same server.
#[derive(Clone)]
pub struct MemoryNode(Arc<Inner>);

struct Inner {
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
        Self(Arc::new(Inner { state: Mutex::new(state), clock }))
    }

    /// Loses all state, like a server that was restarted without its data.
    #[cfg(feature = "testing")]
    pub fn forget(&self) {
        let mut state = self.state();
        state.locks = MemoryLock::new(self.0.clock.clone());
        (state.is_member, state.since, state.floor) = (false, None, 0);
        state.gone.clear();
    }

    pub(crate) fn locks(&self) -> MemoryLock {
        self.state().locks.clone()
    }

    /// Acquires the lock here, if this server is a member.
    pub(crate) async fn acquire(&self, name: &LockName, call: &Acquire, rejoins: bool) -> Result<Vote, LockError> {
        let (locks, floor) = {
            let state = self.state();
            let is_buried = rejoins && state.gone.contains(&call.owner) && guard("model_redlock_tombstone");
            if is_buried || (!state.is_member && guard("model_redlock_outsider")) {
                return Ok(Vote::Outsider);
            }
            (state.locks.clone(), if guard("model_redlock_floor") { state.floor } else { 0 })
        };
        let call = Acquire { fence_floor: call.fence_floor.max(floor), ..call.clone() };
        Ok(Vote::Counts(locks.acquire(name, &call).await?))
    }

    /// Rejects a later rejoin of this owner.
    pub(crate) fn add_tombstone(&self, owner: Token) {
        self.state().gone.insert(owner);
    }

    pub(crate) fn stand(&self, sit_out_ms: u64) -> Standing {
        let now = self.0.clock.unix_ms();
        let mut state = self.state();
        let since = state.since.filter(|since| *since <= now).unwrap_or(now);
        state.since = Some(since);
        if state.is_member {
            return Standing::Member;
        }
        Standing::Out { left_ms: (since + sit_out_ms).saturating_sub(now), mark: Mark(since) }
    }

    pub(crate) fn admit(&self, mark: Mark, floor: u64) -> bool {
        let mut state = self.state();
        if state.since != Some(mark.0) {
            return false;
        }
        if !state.is_member {
            (state.is_member, state.floor) = (true, floor);
        }
        true
    }

    pub(crate) fn fence_max(&self) -> u64 {
        let state = self.state();
        state.locks.fence_max().max(state.floor)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::node::Node;
    use crate::lock::steps::{Acquired, Release};
    use bytes::Bytes;

    fn call(owner: Token) -> Acquire {
        let process = Token::from([9; 16]);
        let (lease_ms, cooling_ms, hold_ms_max, fence_floor) = (30_000, 0, None, 0);
        Acquire { owner, process, lease_ms, cooling_ms, hold_ms_max, fence_floor, waits: false, words: Bytes::new() }
    }

    /// Without the tombstone, a rejoin that was delayed in the network would hold the lock for a whole lease after its release.
    #[tokio::test]
    async fn rejoin_after_the_release_is_rejected() -> Result<(), LockError> {
        let (name, owner) = (LockName::new("stock/42")?, Token::random());
        let node = Node::Memory(MemoryNode::member(Clock::system()));
        let came_in = node.acquire(&name, &call(owner), true).await?;
        assert!(matches!(came_in, Vote::Counts(Acquired::Granted { .. })));
        let release = Release { owner, process: Token::from([9; 16]), waits: false };
        node.release(&name, release, Some(60_000)).await?;
        assert_eq!(node.acquire(&name, &call(owner), true).await?, Vote::Outsider);
        assert_eq!(node.inspect(&name).await?, None);
        Ok(())
    }
}
