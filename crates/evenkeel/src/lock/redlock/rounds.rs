//! What this process remembers of its acquisitions on several servers.
//!
//! Each round of an acquisition that may have left something behind has an owner of its own: the releases that clear up after it may
//! come late, and must not take back what a later round of the same acquisition was granted.

use evenkeel_link::Token;
use evenkeel_link::clock::{Clock, Moment};
use evenkeel_link::support::guard;
use evenkeel_protocol::lock::steps::Acquire;
use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// From here on what nobody has asked for in a long time is looked for and forgotten.
const MANY: usize = 4_096;

/// The acquisitions of one process, by the owner that the caller knows. Cheap to clone.
#[derive(Clone)]
pub(super) struct Rounds {
    all: Arc<Mutex<HashMap<Token, Round>>>,
    clock: Clock,
    forgotten_after: Duration,
}

/// The present round of one acquisition.
#[derive(Clone)]
pub(super) struct Round {
    /// The owner that the servers know.
    pub(super) owner: Token,
    /// What was asked for.
    pub(super) call: Acquire,
    /// The fence, once the lock is held.
    pub(super) fence: u64,
    /// A rejoin may be on its way.
    pub(super) has_rejoined: bool,
    /// When the lock was asked for first.
    pub(super) began: Moment,
    touched: Moment,
}

impl Rounds {
    /// Nothing is remembered for longer than a lease of `ttl_max` may last, and some.
    pub(super) fn new(clock: Clock, ttl_max: Duration) -> Self {
        Self { all: Arc::default(), clock, forgotten_after: ttl_max * 2 }
    }

    /// The owner to ask with.
    pub(super) fn begin(&self, call: &Acquire) -> Token {
        let now = self.clock.now();
        let mut all = self.all();
        if all.len() >= MANY {
            all.retain(|_, round| now.since(round.touched) < self.forgotten_after);
        }
        let new =
            Round { owner: call.owner, call: call.clone(), fence: 0, has_rejoined: false, began: now, touched: now };
        all.entry(call.owner).or_insert(new).owner
    }

    /// What is asked with from now on is told apart from what was asked before.
    pub(super) fn renew_owner(&self, caller: Token) {
        if let Some(round) = self.all().get_mut(&caller)
            && guard("redlock_round_owner")
        {
            round.owner = Token::random();
        }
    }

    /// Notes the fence of a lock that is held.
    pub(super) fn held(&self, caller: Token, fence: u64) {
        self.change(caller, |round| round.fence = round.fence.max(fence));
    }

    /// Notes that a rejoin is sent.
    pub(super) fn rejoins(&self, caller: Token) {
        self.change(caller, |round| round.has_rejoined = true);
    }

    /// What is remembered of an acquisition.
    pub(super) fn get(&self, caller: Token) -> Option<Round> {
        let now = self.clock.now();
        let mut all = self.all();
        let round = all.get_mut(&caller)?;
        round.touched = now;
        Some(round.clone())
    }

    /// The round got nothing, and left nothing: it need not be remembered, unless another one of this acquisition did.
    pub(super) fn got_nothing(&self, caller: Token) {
        let mut all = self.all();
        if all.get(&caller).is_some_and(|round| round.owner == caller && round.fence == 0) {
            all.remove(&caller);
        }
    }

    /// The acquisition is over.
    pub(super) fn end(&self, caller: Token) {
        self.all().remove(&caller);
    }

    fn change(&self, caller: Token, change: impl FnOnce(&mut Round)) {
        if let Some(round) = self.all().get_mut(&caller) {
            change(round);
        }
    }

    fn all(&self) -> MutexGuard<'_, HashMap<Token, Round>> {
        self.all.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    /// The release of a round that had failed came late, to a server that had granted the next round, and that server's vote had
    /// been counted: two holders.
    #[test]
    fn a_round_that_may_have_left_something_is_not_continued() {
        let rounds = Rounds::new(Clock::system(), Duration::from_secs(60));
        let (owner, process) = (Token::random(), Token::random());
        let (lease_ms, cooling_ms, hold_ms_max, fence_floor) = (1_000, 0, None, 0);
        let words = Bytes::new();
        let call = Acquire { owner, process, lease_ms, cooling_ms, hold_ms_max, fence_floor, waits: false, words };
        let first = rounds.begin(&call);
        assert_eq!((first, rounds.begin(&call)), (owner, owner), "a repeat is the same round");
        rounds.renew_owner(owner);
        let second = rounds.begin(&call);
        assert!(second != first && rounds.get(owner).is_some_and(|round| round.owner == second));
        rounds.end(owner);
        assert!(rounds.get(owner).is_none());
    }
}
