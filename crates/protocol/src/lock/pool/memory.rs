//! The model: the steps of a pool as a state machine behind a mutex. It is the embedded backend, an executable specification,
//! and the oracle with which the scripts are compared.

use super::steps::{
    Ask, Asked, Kind, Pool, PoolHolder, PoolState, PoolSteps, TURN_MS, WAITERS_MAX, WAITING_MS, check, check_size,
};
use crate::lock::error::LockError;
use crate::lock::name::LockName;
use crate::lock::steps::{Fence, Released, Renewed, WakeListener};
use async_trait::async_trait;
use bytes::Bytes;
use evenkeel_link::Token;
use evenkeel_link::clock::Clock;
use evenkeel_link::support::guard;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::watch;

/// How long a pool is stored after its last use.
const KEPT_MS: u64 = 172_800_000;
/// The number of pools that are stored as in Redis; above it, unused pools are removed.
const POOLS_MAX: usize = 1_024;

/// The embedded backend: pools within this process only. Cheap to clone; clones share the pools.
///
/// Guarantee: the same replies as Redis. Not guaranteed: anything after the process ends.
#[derive(Clone)]
pub struct MemoryPool(Arc<Inner>);

struct Inner {
    pools: Mutex<Pools>,
    clock: Clock,
    /// Counts releases of permits that had waiters.
    releases: watch::Sender<u64>,
}

/// The state of all pools.
#[derive(Default)]
struct Pools {
    all: HashMap<Pool, State>,
    /// The highest fencing token of the removed pools: new tokens are above it.
    fence_floor: u64,
    /// Steps since pools were last removed.
    steps: usize,
}

/// The state of one pool.
#[derive(Clone)]
struct State {
    /// The number of its permits; 0 until the first acquisition.
    permits: u32,
    fence: u64,
    signer: Token,
    /// The last place in the queue that was assigned.
    place: u64,
    holds: HashMap<Token, Hold>,
    places: HashMap<Token, Place>,
    forgotten_at: u64,
}

/// The permits of one holder.
#[derive(Clone)]
struct Hold {
    permits: u32,
    ends: u64,
    lease: u64,
    since: u64,
    limit: Option<u64>,
    words: Bytes,
}

/// One place in the queue.
#[derive(Clone)]
struct Place {
    permits: u32,
    place: u64,
    asked: u64,
    until: u64,
}

impl MemoryPool {
    /// An empty backend. Its server time is the clock's wall clock.
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        Self(Arc::new(Inner { pools: Mutex::default(), clock, releases: watch::Sender::new(0) }))
    }

    /// Notifies of releases of permits that have waiters.
    pub fn listen(&self) -> watch::Receiver<u64> {
        self.0.releases.subscribe()
    }

    /// [`PoolSteps::release`] without `async`.
    pub(crate) fn release_now(&self, pool: &Pool, owner: Token) -> Released {
        let (released, waiting) = self.step(pool, |state, now| state.release(now, owner));
        if waiting > 0 && guard("model_pool_release_tells") {
            self.notify();
        }
        released
    }

    /// The names of this kind with holders or waiters, sorted.
    pub fn used(&self, kind: Kind) -> Vec<LockName> {
        let now = self.0.clock.unix_ms();
        let pools = self.0.pools.lock();
        let used = pools.all.iter().filter(|(pool, state)| pool.kind == kind && state.is_used(now));
        let mut names: Vec<LockName> = used.map(|(pool, _)| pool.name.clone()).collect();
        names.sort();
        names
    }

    /// Runs one step on one pool. A step calls no foreign code, so the mutex is held for the step only.
    fn step<T>(&self, pool: &Pool, step: impl FnOnce(&mut State, u64) -> T) -> T {
        let now = self.0.clock.unix_ms();
        let mut pools = self.0.pools.lock();
        pools.forget(now);
        let floor = if pool.kind == Kind::ReadWrite { pools.fence_floor } else { 0 };
        let state = pools.all.entry(pool.clone()).or_insert_with(|| State::new(now, floor));
        if now >= state.forgotten_at {
            *state = State::new(now, floor);
        }
        let answer = step(state, now);
        if state.permits == 0 {
            pools.all.remove(pool);
        }
        answer
    }

    fn notify(&self) {
        self.0.releases.send_modify(|count| *count += 1);
    }
}

impl Pools {
    /// Removes unused pools if there are many. Visits all of them once in as many steps.
    fn forget(&mut self, now: u64) {
        self.steps += 1;
        if self.all.len() <= POOLS_MAX || self.steps < self.all.len() {
            return;
        }
        self.steps = 0;
        let floor = &mut self.fence_floor;
        self.all.retain(|_, state| {
            let keeps = state.is_used(now);
            if !keeps && guard("model_pool_forgotten_fence") {
                *floor = state.fence.max(*floor);
            }
            keeps
        });
        self.all.shrink_to(self.all.len() * 2);
    }
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
}

impl Place {
    /// The place at `now`, unless its owner has stopped renewing it.
    fn live(&self, now: u64) -> Option<Self> {
        let (until, asked) = (self.until.min(now + WAITING_MS), self.asked.min(now));
        (now < until).then_some(Self { until, asked, ..*self })
    }

    /// Until when it has precedence over later requests; `None` while it lets them pass.
    fn keeps_until(&self, now: u64) -> Option<u64> {
        let turns = (now - self.asked) / TURN_MS;
        let keeps = turns.is_multiple_of(2) || !guard("model_pool_turns_end");
        keeps.then(|| self.until.min(self.asked + (turns + 1) * TURN_MS))
    }
}

impl State {
    fn new(now: u64, fence: u64) -> Self {
        Self {
            permits: 0,
            fence,
            signer: Token::from([0; 16]),
            place: 0,
            holds: HashMap::new(),
            places: HashMap::new(),
            forgotten_at: now + KEPT_MS,
        }
    }

    fn holds(&self, now: u64) -> HashMap<Token, Hold> {
        self.holds.iter().filter_map(|(owner, hold)| Some((*owner, hold.live(now)?))).collect()
    }

    fn places(&self, now: u64) -> HashMap<Token, Place> {
        self.places.iter().filter_map(|(owner, place)| Some((*owner, place.live(now)?))).collect()
    }

    fn is_used(&self, now: u64) -> bool {
        !self.holds(now).is_empty() || !self.places(now).is_empty()
    }

    fn used(&mut self, now: u64) {
        self.forgotten_at = now + KEPT_MS;
    }

    fn acquire(&mut self, now: u64, kind: Kind, ask: &Ask) -> Asked {
        if self.permits > 0 && self.permits != ask.permits_in_all && guard("model_pool_permits_agree") {
            return Asked::Differs { permits_in_all: self.permits };
        }
        let holds = self.holds(now);
        if let Some(hold) = holds.get(&ask.owner)
            && guard("model_pool_acquire_repeat")
        {
            let (fence, signer) = self.signature(kind, ask);
            return Asked::Granted { lease_left_ms: hold.ends - now, fence, signer };
        }
        // Expired places are removed for good, so that they do not return if the clock is set back.
        self.places.retain(|_, place| place.live(now).is_some());
        let free_in_ms = self.free_in_ms(now, ask, &holds);
        self.holds = holds;
        if free_in_ms > 0 {
            if ask.waits {
                self.join_queue(now, ask);
            }
            return Asked::Taken { free_in_ms };
        }
        self.places.remove(&ask.owner);
        self.permits = ask.permits_in_all;
        if kind == Kind::ReadWrite {
            self.issue_fence(now, ask);
        }
        let lease = ask.hold_ms_max.map_or(ask.lease_ms, |hold| ask.lease_ms.min(hold));
        let limit = ask.hold_ms_max.map(|hold| now + hold);
        let hold = Hold { permits: ask.permits, ends: now + lease, lease, since: now, limit, words: ask.words.clone() };
        self.holds.insert(ask.owner, hold);
        self.used(now);
        let (fence, signer) = self.signature(kind, ask);
        Asked::Granted { lease_left_ms: lease, fence, signer }
    }

    /// The time until there is room for the caller at the earliest, given the holders and the earlier requests; 0 if there is room.
    fn free_in_ms(&self, now: u64, ask: &Ask, holds: &HashMap<Token, Hold>) -> u64 {
        let mine = self.places.get(&ask.owner).map_or(u64::MAX, |place| place.place);
        let ahead = self.places.iter().filter(|(owner, place)| **owner != ask.owner && place.place < mine);
        let ahead = ahead.filter_map(|(_, place)| place.live(now));
        let ahead = ahead.filter_map(|place| Some((place.permits, place.keeps_until(now)?)));
        let ahead: Vec<(u32, u64)> = if guard("model_pool_order") { ahead.collect() } else { Vec::new() };
        let kept: u32 = ahead.iter().map(|(permits, _)| permits).sum();
        let mut used: u32 = holds.values().map(|hold| hold.permits).sum();
        if used + kept + ask.permits <= ask.permits_in_all || !guard("model_pool_room") {
            return 0;
        }
        let mut free_at = ahead.iter().map(|(_, until)| *until).min().unwrap_or(u64::MAX);
        let mut leases: Vec<&Hold> = holds.values().collect();
        leases.sort_by_key(|hold| hold.ends);
        for hold in leases {
            if used + ask.permits > ask.permits_in_all {
                (used, free_at) = (used - hold.permits, hold.ends);
            }
        }
        free_at - now
    }

    /// Assigns a place in the queue, or renews the caller's place.
    fn join_queue(&mut self, now: u64, ask: &Ask) {
        let (permits, until) = (ask.permits, now + WAITING_MS);
        if let Some(mine) = self.places.get_mut(&ask.owner) {
            let asked = mine.asked.min(now);
            *mine = Place { permits, asked, until, ..*mine };
        } else if self.places.len() < WAITERS_MAX {
            self.place += 1;
            self.places.insert(ask.owner, Place { permits, place: self.place, asked: now, until });
        }
        self.used(now);
    }

    /// Issues a fencing token above all earlier ones; concurrent readers share one.
    fn issue_fence(&mut self, now: u64, ask: &Ask) {
        if !self.holds.is_empty() && guard("model_pool_readers_share") {
            self.fence = self.fence.max(ask.fence_floor + 1);
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
            fence = fence.max(ask.fence_floor + 1);
        }
        (self.fence, self.signer) = (fence, ask.owner);
    }

    fn signature(&self, kind: Kind, ask: &Ask) -> (Fence, Token) {
        match kind {
            Kind::ReadWrite => (Fence(self.fence), self.signer),
            Kind::Semaphore => (Fence(0), ask.owner),
        }
    }

    fn renew(&mut self, now: u64, owner: Token, lease_ms: u64) -> Renewed {
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
    fn release(&mut self, now: u64, owner: Token) -> (Released, u64) {
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

    fn raise(&mut self, now: u64, owner: Token, mine: Fence, seen: Fence) -> Option<Fence> {
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

    fn inspect(&self, now: u64) -> Option<PoolState> {
        if self.permits == 0 {
            return None;
        }
        let mut holders: Vec<PoolHolder> =
            self.holds(now).into_iter().map(|(owner, hold)| hold.shown(now, owner)).collect();
        sort(&mut holders);
        let (permits_in_all, fence, waiting) = (self.permits, Fence(self.fence), self.places(now).len() as u64);
        Some(PoolState { permits_in_all, fence, holders, waiting })
    }

    fn break_holds(&mut self, now: u64, owner: Option<Token>) -> Vec<PoolHolder> {
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

impl Hold {
    fn shown(self, now: u64, owner: Token) -> PoolHolder {
        let (permits, lease_left_ms, held_ms) = (self.permits, self.ends - now, now.saturating_sub(self.since));
        PoolHolder { owner, permits, lease_left_ms, held_ms, words: self.words }
    }
}

/// Sorts by the time of acquisition.
pub(crate) fn sort(holders: &mut [PoolHolder]) {
    holders.sort_by_key(|holder| (std::cmp::Reverse(holder.held_ms), *holder.owner.as_bytes()));
}

#[async_trait]
impl PoolSteps for MemoryPool {
    async fn acquire(&self, pool: &Pool, ask: &Ask) -> Result<Asked, LockError> {
        check(ask)?;
        Ok(self.step(pool, |state, now| state.acquire(now, pool.kind, ask)))
    }

    async fn renew(&self, pool: &Pool, owner: Token, lease_ms: u64) -> Result<Renewed, LockError> {
        Ok(self.step(pool, |state, now| state.renew(now, owner, lease_ms)))
    }

    async fn release(&self, pool: &Pool, owner: Token) -> Result<Released, LockError> {
        Ok(self.release_now(pool, owner))
    }

    async fn raise(&self, pool: &Pool, owner: Token, mine: Fence, seen: Fence) -> Result<Option<Fence>, LockError> {
        Ok(self.step(pool, |state, now| state.raise(now, owner, mine, seen)))
    }

    async fn inspect(&self, pool: &Pool) -> Result<Option<PoolState>, LockError> {
        Ok(self.step(pool, |state, now| state.inspect(now)))
    }

    async fn break_holds(&self, pool: &Pool, owner: Option<Token>) -> Result<Vec<PoolHolder>, LockError> {
        let broken = self.step(pool, |state, now| state.break_holds(now, owner));
        self.notify();
        Ok(broken)
    }

    async fn resize(&self, pool: &Pool, permits_in_all: u32) -> Result<(), LockError> {
        check_size(permits_in_all)?;
        self.step(pool, |state, now| {
            state.permits = permits_in_all;
            state.used(now);
        });
        self.notify();
        Ok(())
    }

    async fn names(&self, kind: Kind) -> Result<Vec<LockName>, LockError> {
        Ok(self.used(kind))
    }

    async fn listen(&self, _pool: &Pool, _owner: Token) -> Result<Box<dyn WakeListener>, LockError> {
        Ok(Box::new(Self::listen(self)))
    }

    fn release_now(&self, pool: &Pool, owner: Token) -> bool {
        Self::release_now(self, pool, owner);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::{Ask, Asked, Fence, Kind, LockName, MemoryPool, POOLS_MAX, Pool, PoolSteps, Token};
    use bytes::Bytes;
    use evenkeel_link::clock::TestClock;
    use std::time::Duration;

    async fn acquire_and_release(pools: &MemoryPool, number: usize) -> Fence {
        let name = LockName::new(&format!("prices/{number}")).unwrap_or_else(|error| unreachable!("{error}"));
        let (pool, owner) = (Pool { kind: Kind::ReadWrite, name }, Token::random());
        let (permits, permits_in_all, lease_ms, hold_ms_max) = (1, 500, 30_000, None);
        let (fence_floor, waits, words) = (0, false, Bytes::new());
        let ask = Ask { owner, permits, permits_in_all, lease_ms, hold_ms_max, fence_floor, waits, words };
        let Ok(Asked::Granted { fence, .. }) = pools.acquire(&pool, &ask).await else { unreachable!("it is free") };
        pools.release_now(&pool, owner);
        fence
    }

    #[tokio::test]
    async fn unused_pool_is_forgotten_among_many() {
        let clock = TestClock::default();
        let pools = MemoryPool::new(clock.clock());
        clock.advance(Duration::from_secs(600));
        let first = acquire_and_release(&pools, 0).await;
        for number in 1..POOLS_MAX * 5 {
            acquire_and_release(&pools, number).await;
        }
        assert!(pools.0.pools.lock().all.len() <= POOLS_MAX * 2 + 1);
        clock.set_back(Duration::from_secs(300));
        assert!(acquire_and_release(&pools, 0).await > first);
    }
}
