//! The state of one pool, and the rules of each step.

use crate::lock::pool::steps::{
    Kind, PermitReply, PermitRequest, PoolHolder, PoolState, TURN_MS, WAITERS_MAX, WAITING_MS, WATCH_MS,
};
use crate::lock::steps::{Fence, Released, Renewed};
use bytes::Bytes;
use evenkeel_link::Token;
use evenkeel_link::support::guard;
use std::collections::HashMap;

/// How long a pool is stored after its last use.
const RETAINED_MS: u64 = 172_800_000;

/// The state of one pool.
#[derive(Clone)]
pub(super) struct State {
    /// The number of its permits; 0 until the first acquisition.
    pub(super) permits: u32,
    pub(super) fence: u64,
    signer: Token,
    /// The last place in the queue that was assigned.
    place: u64,
    holds: HashMap<Token, Hold>,
    places: HashMap<Token, Place>,
    /// When a waiter that polls must check the pool.
    watch_due: u64,
    pub(super) forgotten_at: u64,
}

/// The permits of one holder.
#[derive(Clone)]
struct Hold {
    permits: u32,
    ends: u64,
    lease: u64,
    since: u64,
    limit: Option<u64>,
    metadata: Bytes,
}

/// One place in the queue.
#[derive(Clone)]
struct Place {
    permits: u32,
    place: u64,
    asked: u64,
    until: u64,
}

impl Hold {
    /// The hold at `now`, if its lease is not over. A lease from the future was written before the clock was set back.
    fn live(&self, now: u64) -> Option<Self> {
        let mut hold = self.clone();
        if hold.ends > now + hold.lease && guard("model_pool_lease_from_future") {
            hold.ends = now + hold.lease;
        }
        (now < hold.ends || !guard("model_pool_lease_ends")).then_some(hold)
    }

    fn shown(self, now: u64, owner: Token) -> PoolHolder {
        let (permits, lease_left_ms, held_ms) = (self.permits, self.ends - now, now.saturating_sub(self.since));
        PoolHolder { owner, permits, lease_left_ms, held_ms, metadata: self.metadata }
    }
}

impl Place {
    /// The place at `now`, unless its owner has stopped renewing it.
    fn live(&self, now: u64) -> Option<Self> {
        let (until, asked) = (self.until.min(now + WAITING_MS), self.asked.min(now));
        (now < until).then_some(Self { until, asked, ..*self })
    }

    /// Waiters are served in the order in which they asked, which differs from the order of places: a process has one place at a time.
    fn order(&self) -> (u64, u64) {
        let asked = if guard("model_pool_asked_order") { self.asked } else { 0 };
        (asked, self.place)
    }

    /// Until when it has precedence over later requests; `None` while it lets them pass.
    fn keeps_until(&self, now: u64) -> Option<u64> {
        let turns = (now - self.asked) / TURN_MS;
        let keeps = turns.is_multiple_of(2) || !guard("model_pool_turns_end");
        keeps.then(|| self.until.min(self.asked + (turns + 1) * TURN_MS))
    }
}

impl State {
    pub(super) fn new(now: u64, fence: u64) -> Self {
        Self {
            permits: 0,
            fence,
            signer: Token::from([0; 16]),
            place: 0,
            holds: HashMap::new(),
            places: HashMap::new(),
            watch_due: 0,
            forgotten_at: now + RETAINED_MS,
        }
    }

    fn holds(&self, now: u64) -> HashMap<Token, Hold> {
        self.holds.iter().filter_map(|(owner, hold)| Some((*owner, hold.live(now)?))).collect()
    }

    fn places(&self, now: u64) -> HashMap<Token, Place> {
        self.places.iter().filter_map(|(owner, place)| Some((*owner, place.live(now)?))).collect()
    }

    pub(super) fn is_used(&self, now: u64) -> bool {
        !self.holds(now).is_empty() || !self.places(now).is_empty()
    }

    pub(super) fn used(&mut self, now: u64) {
        self.forgotten_at = now + RETAINED_MS;
    }

    pub(super) fn acquire(&mut self, now: u64, kind: Kind, request: &PermitRequest) -> PermitReply {
        if request.polls && self.keep_place(now, request.owner) {
            return PermitReply::Queued;
        }
        if self.permits > 0 && self.permits != request.permits_in_all && guard("model_pool_permits_agree") {
            return PermitReply::Differs { permits_in_all: self.permits };
        }
        let holds = self.holds(now);
        if let Some(hold) = holds.get(&request.owner)
            && guard("model_pool_acquire_repeat")
        {
            let (fence, signer) = self.signature(kind, request);
            return PermitReply::Granted { lease_left_ms: hold.ends - now, fence, signer };
        }
        // Expired places are deleted, so that they do not return if the clock is set back.
        self.places.retain(|_, place| place.live(now).is_some());
        let free_in_ms = self.free_in_ms(now, request, &holds);
        self.holds = holds;
        if free_in_ms > 0 {
            if request.waits {
                self.join_queue(now, request);
            }
            self.watch(now, request);
            return PermitReply::Taken { free_in_ms };
        }
        self.places.remove(&request.owner);
        self.permits = request.permits_in_all;
        if kind == Kind::ReadWrite {
            self.issue_fence(now, request);
        }
        let lease = request.hold_ms_max.map_or(request.lease_ms, |hold| request.lease_ms.min(hold));
        let limit = request.hold_ms_max.map(|hold| now + hold);
        let hold = Hold {
            permits: request.permits,
            ends: now + lease,
            lease,
            since: now,
            limit,
            metadata: request.metadata.clone(),
        };
        self.holds.insert(request.owner, hold);
        self.used(now);
        self.watch(now, request);
        let (fence, signer) = self.signature(kind, request);
        PermitReply::Granted { lease_left_ms: lease, fence, signer }
    }

    /// The time until there is room for the caller at the earliest, given the holders and the earlier requests; 0 if there is room.
    fn free_in_ms(&self, now: u64, request: &PermitRequest, holds: &HashMap<Token, Hold>) -> u64 {
        let others = self.places(now).into_iter().filter(|(owner, _)| *owner != request.owner);
        // A caller that does not wait comes after the queue.
        let mine = self.place_of(now, request).map(|place| place.order());
        let ahead = others.filter_map(|(_, place)| mine.is_none_or(|mine| place.order() < mine).then_some(place));
        let ahead = ahead.filter_map(|place| Some((place.permits, place.keeps_until(now)?)));
        let ahead: Vec<(u32, u64)> = if guard("model_pool_order") { ahead.collect() } else { Vec::new() };
        let kept: u32 = ahead.iter().map(|(permits, _)| permits).sum();
        let mut used: u32 = holds.values().map(|hold| hold.permits).sum();
        if used + kept + request.permits <= request.permits_in_all || !guard("model_pool_room") {
            return 0;
        }
        let mut free_at = ahead.iter().map(|(_, until)| *until).min().unwrap_or(u64::MAX);
        let mut leases: Vec<&Hold> = holds.values().collect();
        leases.sort_by_key(|hold| hold.ends);
        for hold in leases {
            if used + request.permits > request.permits_in_all {
                (used, free_at) = (used - hold.permits, hold.ends);
            }
        }
        free_at - now
    }

    /// Assigns a place in the queue, or renews the caller's place.
    fn join_queue(&mut self, now: u64, request: &PermitRequest) {
        let Some(mut mine) = self.place_of(now, request) else { return };
        if !self.places.contains_key(&request.owner) {
            if self.places.len() >= WAITERS_MAX {
                return;
            }
            self.place += 1;
            mine.place = self.place;
        }
        let (permits, until) = (request.permits, now + WAITING_MS);
        self.places.insert(request.owner, Place { permits, until, ..mine });
        self.used(now);
    }

    /// The place of the caller, or the one that it takes if it waits, after waiting in the local queue of its process.
    fn place_of(&self, now: u64, request: &PermitRequest) -> Option<Place> {
        let asked = now.saturating_sub(request.waited_ms);
        let new = Place { permits: request.permits, place: u64::MAX, asked, until: now };
        self.places.get(&request.owner).and_then(|place| place.live(now)).or_else(|| request.waits.then_some(new))
    }

    /// Renews the place of a waiter that polls, until a check of the pool is due.
    fn keep_place(&mut self, now: u64, owner: Token) -> bool {
        let Some(mine) = self.places.get(&owner).and_then(|place| place.live(now)) else { return false };
        let is_due = now >= self.watch_due && guard("model_pool_watch_due");
        if self.watch_due == 0 || is_due || self.watch_due > now + WATCH_MS {
            return false;
        }
        self.places.insert(owner, Place { until: now + WAITING_MS, ..mine });
        self.used(now);
        true
    }

    /// Stores when the next check is due, if this one was made for all that poll: after a second, or when a lease or a turn ends.
    fn watch(&mut self, now: u64, request: &PermitRequest) {
        if !request.polls {
            return;
        }
        let leases = self.holds(now).into_values().map(|hold| hold.ends);
        let turns = self.places(now).into_values().filter_map(|place| place.keeps_until(now));
        self.watch_due = leases.chain(turns).min().unwrap_or(u64::MAX).min(now + WATCH_MS);
    }

    /// Issues a fencing token above all earlier ones; concurrent readers share one.
    fn issue_fence(&mut self, now: u64, request: &PermitRequest) {
        if !self.holds.is_empty() && guard("model_pool_readers_share") {
            self.fence = self.fence.max(request.fence_floor + 1);
            return;
        }
        let mut fence = 1;
        if guard("model_pool_fence_previous") {
            fence = fence.max(self.fence + 1);
        }
        if guard("model_pool_fence_time") {
            fence = fence.max(now * 1000);
        }
        if guard("model_pool_fence_floor") {
            fence = fence.max(request.fence_floor + 1);
        }
        (self.fence, self.signer) = (fence, request.owner);
    }

    fn signature(&self, kind: Kind, request: &PermitRequest) -> (Fence, Token) {
        match kind {
            Kind::ReadWrite => (Fence(self.fence), self.signer),
            Kind::Semaphore => (Fence(0), request.owner),
        }
    }

    pub(super) fn renew(&mut self, now: u64, owner: Token, lease_ms: u64) -> Renewed {
        let Some(mut hold) = self.holds.get(&owner).and_then(|hold| hold.live(now)) else { return Renewed::Lost };
        let mut ends = now + lease_ms;
        if let Some(limit) = hold.limit
            && guard("model_pool_max_hold")
        {
            ends = ends.min(limit);
        }
        if ends <= hold.ends {
            return Renewed::Held { lease_left_ms: hold.ends - now };
        }
        (hold.ends, hold.lease) = (ends, lease_ms);
        self.holds.insert(owner, hold);
        self.used(now);
        Renewed::Renewed { lease_left_ms: ends - now }
    }

    /// The reply, and the number of waiters to be notified.
    pub(super) fn release(&mut self, now: u64, owner: Token) -> (Released, u64) {
        let held = self.holds(now).contains_key(&owner);
        let waited = self.places(now).contains_key(&owner);
        if !held && !waited {
            return (Released::Nothing, 0);
        }
        self.holds.remove(&owner);
        self.places.remove(&owner);
        self.used(now);
        let waiting = self.places(now).len() as u64;
        let released = if held { Released::Released { others_waiting: waiting } } else { Released::Nothing };
        (released, waiting)
    }

    pub(super) fn raise(&mut self, now: u64, owner: Token, mine: Fence, seen: Fence) -> Option<Fence> {
        if !self.holds(now).contains_key(&owner) && guard("model_pool_raise_owner") {
            return None;
        }
        // Another reader has already raised the shared fencing token.
        let was_lifted = self.fence == seen.0 && mine < seen && guard("model_pool_raise_shared");
        if self.fence <= seen.0 && !was_lifted {
            self.fence = seen.0 + 1;
            self.used(now);
        }
        Some(Fence(self.fence))
    }

    pub(super) fn inspect(&self, now: u64) -> Option<PoolState> {
        if self.permits == 0 {
            return None;
        }
        let mut holders: Vec<PoolHolder> =
            self.holds(now).into_iter().map(|(owner, hold)| hold.shown(now, owner)).collect();
        sort(&mut holders);
        let (permits_in_all, fence, waiting) = (self.permits, Fence(self.fence), self.places(now).len() as u64);
        Some(PoolState { permits_in_all, fence, holders, waiting })
    }

    pub(super) fn break_holds(&mut self, now: u64, owner: Option<Token>) -> Vec<PoolHolder> {
        let mut broken: Vec<PoolHolder> = Vec::new();
        for (holder, hold) in self.holds(now) {
            if owner.is_none_or(|owner| owner == holder) || !guard("model_pool_break_owner") {
                self.holds.remove(&holder);
                broken.push(hold.shown(now, holder));
            }
        }
        sort(&mut broken);
        broken
    }
}

/// Sorts by the time of acquisition.
pub(crate) fn sort(holders: &mut [PoolHolder]) {
    holders.sort_by_key(|holder| (std::cmp::Reverse(holder.held_ms), *holder.owner.as_bytes()));
}
