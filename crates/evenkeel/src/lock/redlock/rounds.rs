//! The state of this process's acquisitions on several servers.
//!
//! A round of an acquisition that may have been granted servers gets an owner of its own: its releases may arrive late, and must not
//! release what a later round of the same acquisition was granted.

use evenkeel_link::Token;
use evenkeel_link::clock::{Clock, Moment};
use evenkeel_link::support::guard;
use evenkeel_protocol::lock::steps::Acquire;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// From this number on, entries that were not used for a long time are removed.
const MANY: usize = 4_096;

/// The acquisitions of one process, by the caller's owner. Cheap to clone.
#[derive(Clone)]
pub(super) struct Rounds {
    all: Arc<Mutex<HashMap<Token, Round>>>,
    clock: Clock,
    forgotten_after: Duration,
}

/// The current round of one acquisition.
#[derive(Clone)]
pub(super) struct Round {
    /// The owner on the servers.
    pub(super) owner: Token,
    /// The call of the acquisition.
    pub(super) call: Acquire,
    /// The fence, once the lock is held.
    pub(super) fence: u64,
    /// A rejoin may be in progress.
    pub(super) has_rejoined: bool,
    /// The start of the first round.
    pub(super) began: Moment,
    touched: Moment,
}

impl Rounds {
    /// Entries are kept for twice the longest lease.
    pub(super) fn new(clock: Clock, ttl_max: Duration) -> Self {
        Self { all: Arc::default(), clock, forgotten_after: ttl_max * 2 }
    }

    /// Begins or repeats a round; returns its owner.
    pub(super) fn begin(&self, call: &Acquire) -> Token {
        let now = self.clock.now();
        let mut all = self.all.lock();
        if all.len() >= MANY {
            all.retain(|_, round| now.since(round.touched) < self.forgotten_after);
        }
        let new =
            Round { owner: call.owner, call: call.clone(), fence: 0, has_rejoined: false, began: now, touched: now };
        all.entry(call.owner).or_insert(new).owner
    }

    /// Gives later rounds another owner than the rounds so far.
    pub(super) fn renew_owner(&self, caller: Token) {
        if let Some(round) = self.all.lock().get_mut(&caller)
            && guard("redlock_round_owner")
        {
            round.owner = Token::random();
        }
    }

    /// Records the fence of a held lock.
    pub(super) fn held(&self, caller: Token, fence: u64) {
        self.change(caller, |round| round.fence = round.fence.max(fence));
    }

    /// Records that a rejoin is sent.
    pub(super) fn rejoins(&self, caller: Token) {
        self.change(caller, |round| round.has_rejoined = true);
    }

    /// The state of an acquisition.
    pub(super) fn get(&self, caller: Token) -> Option<Round> {
        let now = self.clock.now();
        let mut all = self.all.lock();
        let round = all.get_mut(&caller)?;
        round.touched = now;
        Some(round.clone())
    }

    /// Removes an acquisition whose round was granted nothing, unless an earlier round may have been.
    pub(super) fn got_nothing(&self, caller: Token) {
        let mut all = self.all.lock();
        if all.get(&caller).is_some_and(|round| round.owner == caller && round.fence == 0) {
            all.remove(&caller);
        }
    }

    /// Removes a completed acquisition.
    pub(super) fn end(&self, caller: Token) {
        self.all.lock().remove(&caller);
    }

    fn change(&self, caller: Token, change: impl FnOnce(&mut Round)) {
        if let Some(round) = self.all.lock().get_mut(&caller) {
            change(round);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    /// The late release of a failed round reached a server that had granted the next round and whose vote was counted, so there were two
    /// holders.
    #[test]
    fn uncertain_round_is_not_continued() {
        let rounds = Rounds::new(Clock::system(), Duration::from_secs(60));
        let (owner, process) = (Token::random(), Token::random());
        let (lease_ms, cooling_ms, hold_ms_max, fence_floor) = (1_000, 0, None, 0);
        let metadata = Bytes::new();
        let call = Acquire { owner, process, lease_ms, cooling_ms, hold_ms_max, fence_floor, waits: false, metadata };
        let first = rounds.begin(&call);
        assert_eq!((first, rounds.begin(&call)), (owner, owner), "a repeat is the same round");
        rounds.renew_owner(owner);
        let second = rounds.begin(&call);
        assert!(second != first && rounds.get(owner).is_some_and(|round| round.owner == second));
        rounds.end(owner);
        assert!(rounds.get(owner).is_none());
    }
}
