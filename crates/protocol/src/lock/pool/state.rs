//! The state of a pool in the model, and the operations of which the steps consist.

use crate::lock::pool::steps::{Kind, PoolHolder, TURN_MS, WAITING_MS};
use bytes::Bytes;
use evenkeel_link::Token;
use evenkeel_link::support::guard;
use std::collections::HashMap;

/// How long a pool is stored after its last use.
const RETAINED_MS: u64 = 172_800_000;

/// The state of one pool.
#[derive(Clone)]
pub struct State {
    pub(crate) kind: Kind,
    /// The number of its permits; 0 until the first acquisition.
    pub(crate) permits: u32,
    pub(crate) fence: u64,
    pub(crate) signer: Token,
    /// The last place in the queue that was assigned.
    pub(crate) place: u64,
    pub(crate) holds: HashMap<Token, Hold>,
    pub(crate) places: HashMap<Token, Place>,
    /// When a waiter that polls must check the pool.
    pub(crate) watch_due: u64,
    pub(crate) forgotten_at: u64,
    /// Whether the present step changes what waiters wait for.
    pub(crate) wakes: bool,
}

/// The permits of one holder.
#[derive(Clone)]
pub(crate) struct Hold {
    pub(crate) permits: u32,
    pub(crate) ends: u64,
    pub(crate) lease: u64,
    pub(crate) since: u64,
    pub(crate) limit: Option<u64>,
    pub(crate) metadata: Bytes,
}

/// One place in the queue.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) permits: u32,
    pub(crate) place: u64,
    pub(crate) asked: u64,
    pub(crate) until: u64,
}

impl Hold {
    /// The hold at `now`, if its lease is not over. A lease from the future was written before the clock was set back.
    pub(crate) fn live(&self, now: u64) -> Option<Self> {
        let mut hold = self.clone();
        if hold.ends > now + hold.lease && guard("model_pool_lease_from_future") {
            hold.ends = now + hold.lease;
        }
        (now < hold.ends || !guard("model_pool_lease_ends")).then_some(hold)
    }

    pub(crate) fn shown(self, now: u64, owner: Token) -> PoolHolder {
        let (permits, lease_left_ms, held_ms) = (self.permits, self.ends - now, now.saturating_sub(self.since));
        PoolHolder { owner, permits, lease_left_ms, held_ms, metadata: self.metadata }
    }
}

impl Place {
    /// The place at `now`, unless its owner has stopped renewing it.
    pub(crate) fn live(&self, now: u64) -> Option<Self> {
        let (until, asked) = (self.until.min(now + WAITING_MS), self.asked.min(now));
        (now < until).then_some(Self { until, asked, ..*self })
    }

    /// Waiters are served in the order in which they asked, which differs from the order of places: a process has one place at a time.
    pub(crate) fn order(&self) -> (u64, u64) {
        let asked = if guard("model_pool_asked_order") { self.asked } else { 0 };
        (asked, self.place)
    }

    /// Until when it has precedence over later requests; `None` while it lets them pass.
    pub(crate) fn keeps_until(&self, now: u64) -> Option<u64> {
        let turns = (now - self.asked) / TURN_MS;
        let keeps = turns.is_multiple_of(2) || !guard("model_pool_turns_end");
        keeps.then(|| self.until.min(self.asked + (turns + 1) * TURN_MS))
    }
}

impl State {
    pub(crate) fn new(kind: Kind, now: u64, fence: u64) -> Self {
        Self {
            kind,
            permits: 0,
            fence,
            signer: Token::from([0; 16]),
            place: 0,
            holds: HashMap::new(),
            places: HashMap::new(),
            watch_due: 0,
            forgotten_at: now + RETAINED_MS,
            wakes: false,
        }
    }

    pub(crate) fn holds(&self, now: u64) -> HashMap<Token, Hold> {
        self.holds.iter().filter_map(|(owner, hold)| Some((*owner, hold.live(now)?))).collect()
    }

    pub(crate) fn places(&self, now: u64) -> HashMap<Token, Place> {
        self.places.iter().filter_map(|(owner, place)| Some((*owner, place.live(now)?))).collect()
    }

    pub(crate) fn is_used(&self, now: u64) -> bool {
        !self.holds(now).is_empty() || !self.places(now).is_empty()
    }

    pub(crate) fn used(&mut self, now: u64) {
        self.forgotten_at = now + RETAINED_MS;
    }
}

/// Sorts by the time of acquisition.
pub(crate) fn sort(holders: &mut [PoolHolder]) {
    holders.sort_by_key(|holder| (std::cmp::Reverse(holder.held_ms), *holder.owner.as_bytes()));
}
