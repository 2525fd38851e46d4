//! The model: the steps of docs/spec/lock.md as a state machine behind a mutex. It is the embedded backend, an executable
//! specification, and the oracle with which the scripts are compared.

use super::error::LockError;
use super::name::LockName;
use super::pool::{MemoryPool, PoolSteps};
use super::steps::{Acquire, Acquired, Fence, Holder, LockSteps, Release, Released, Renewed, WakeListener, check};
use async_trait::async_trait;
use bytes::Bytes;
use evenkeel_link::Token;
use evenkeel_link::clock::Clock;
use evenkeel_link::support::guard;
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use tokio::sync::watch;

/// How long a process whose acquisition failed counts as waiting.
const WAITING_MS: u64 = 2_000;
/// How long a process that released a lock lets other processes acquire it first.
const TURN_MS: u64 = 20;
/// Expired records are kept for this long, as Redis may keep them: they become valid again if the clock is set back.
const TIDY_MS: u64 = 3_600_000;
/// How long a fencing token is stored.
const DAY_MS: u64 = 86_400_000;
/// The number of names that are stored as in Redis; above it, names without a holder are removed.
const NAMES_MAX: usize = 1_024;

/// The embedded backend: locks within this process only. Cheap to clone; clones share the locks.
///
/// Guarantee: the same replies as Redis. Not guaranteed: anything after the process ends.
#[derive(Clone)]
pub struct MemoryLock(Arc<Inner>);

struct Inner {
    locks: Mutex<Names>,
    clock: Clock,
    /// Counts releases of locks that had waiters.
    releases: watch::Sender<u64>,
    pools: MemoryPool,
    /// The number of stripes of each striped lock.
    stripes: Mutex<HashMap<LockName, u32>>,
}

/// The state of all names.
#[derive(Default)]
struct Names {
    all: HashMap<LockName, State>,
    /// The highest fencing token of the removed names: new tokens are above it.
    fence_floor: u64,
    /// Steps since names were last removed.
    steps: usize,
}

/// The state of one name.
#[derive(Default)]
struct State {
    held: Option<Record>,
    ledger: Option<Ledger>,
    /// The waiting processes and when each stops counting as waiting.
    waiters: HashMap<Token, u64>,
    /// The highest fencing token of removed names, which may include earlier ones of this name.
    fence_floor: u64,
}

#[derive(Clone)]
struct Record {
    owner: Token,
    fence: u64,
    ends: u64,
    lease: u64,
    cooling: u64,
    since: u64,
    limit: Option<u64>,
    words: Bytes,
}

/// The state of a name that outlives a lease.
struct Ledger {
    fence: u64,
    /// The process that released the lock last, and until when it lets other processes acquire it first.
    turn: Option<(Token, u64)>,
    forgotten_at: u64,
}

impl MemoryLock {
    /// An empty backend. Its server time is the clock's wall clock.
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        let (releases, pools) = (watch::Sender::new(0), MemoryPool::new(clock.clone()));
        Self(Arc::new(Inner { locks: Mutex::default(), clock, releases, pools, stripes: Mutex::default() }))
    }

    /// The number of stripes of the striped lock of this name; set to `stripes` if it has none yet.
    pub fn stripes(&self, name: &LockName, stripes: u32) -> u32 {
        let mut all = self.0.stripes.lock();
        if all.len() >= NAMES_MAX && all.len().is_power_of_two() && !all.contains_key(name) {
            self.forget_stripes(&mut all);
        }
        *all.entry(name.clone()).or_insert(stripes)
    }

    /// Removes the numbers of striped locks without a holder: no holder could be affected by a different number.
    fn forget_stripes(&self, all: &mut HashMap<LockName, u32>) {
        let held = self.held();
        let striped = |name: &LockName| name.as_str().rsplit_once(':').map(|(striped, _)| striped.to_owned());
        let used: HashSet<String> = held.iter().filter_map(striped).collect();
        all.retain(|name, _| used.contains(name.as_str()));
    }

    /// Sets the number of stripes of the striped lock of this name.
    pub fn restripe(&self, name: &LockName, stripes: u32) {
        self.0.stripes.lock().insert(name.clone(), stripes);
    }

    /// Notifies of releases of locks that have waiters.
    pub fn listen(&self) -> watch::Receiver<u64> {
        self.0.releases.subscribe()
    }

    /// [`LockSteps::release`] without `async`.
    pub(crate) fn release_now(&self, name: &LockName, call: Release) -> Released {
        let released = self.step(name, |state, now| state.release(now, call));
        if matches!(released, Released::Released { others_waiting: 1.. }) && guard("model_lock_release_tells") {
            self.0.releases.send_modify(|count| *count += 1);
        }
        released
    }

    /// The names of held locks, sorted.
    pub fn held(&self) -> Vec<LockName> {
        let now = self.0.clock.unix_ms();
        let locks = self.0.locks.lock();
        let held = locks.all.iter().filter(|(_, state)| state.open(now).is_some());
        let mut names: Vec<LockName> = held.map(|(name, _)| name.clone()).collect();
        names.sort();
        names
    }

    /// The highest stored fencing token of all names.
    #[cfg(feature = "redlock")]
    pub(crate) fn fence_max(&self) -> u64 {
        let locks = self.0.locks.lock();
        let highest = locks.all.values().filter_map(|state| state.ledger.as_ref()).map(|ledger| ledger.fence).max();
        highest.unwrap_or(0).max(locks.fence_floor)
    }

    /// Runs one step on one lock. A step calls no foreign code, so the mutex is held for the step only.
    fn step<T>(&self, name: &LockName, step: impl FnOnce(&mut State, u64) -> T) -> T {
        let now = self.0.clock.unix_ms();
        let mut locks = self.0.locks.lock();
        locks.forget(now);
        let fence_floor = locks.fence_floor;
        let state = locks.all.entry(name.clone()).or_default();
        state.sweep(now);
        state.fence_floor = fence_floor;
        let answer = step(state, now);
        if state.is_empty() {
            locks.all.remove(name);
        }
        answer
    }
}

impl Names {
    /// Removes free names if there are many, because the number of names that users choose is not bounded. Visits all of
    /// them once in as many steps.
    fn forget(&mut self, now: u64) {
        self.steps += 1;
        if self.all.len() <= NAMES_MAX || self.steps < self.all.len() {
            return;
        }
        self.steps = 0;
        let floor = &mut self.fence_floor;
        self.all.retain(|_, state| {
            let keeps = state.is_used(now);
            if let (false, Some(ledger)) = (keeps, &state.ledger)
                && guard("model_lock_forgotten_fence")
            {
                *floor = ledger.fence.max(*floor);
            }
            keeps
        });
        self.all.shrink_to(self.all.len() * 2);
    }
}

impl Record {
    fn free_at(&self) -> u64 {
        self.ends + self.cooling
    }
}

impl State {
    /// Removes records that expired long ago.
    fn sweep(&mut self, now: u64) {
        self.held.take_if(|held| now >= held.free_at() + TIDY_MS);
        self.ledger.take_if(|ledger| now >= ledger.forgotten_at);
        self.waiters.retain(|_, until| *until + TIDY_MS > now);
    }

    /// The record of a lease that is not over. A lease from the future was written before the clock was set back.
    fn open(&self, now: u64) -> Option<Record> {
        let mut held = self.held.clone()?;
        if held.ends > now + held.lease && guard("model_lock_lease_from_future") {
            held.ends = now + held.lease;
        }
        (now < held.free_at()).then_some(held)
    }

    /// Whether it is held, has waiters, or is reserved for other processes.
    fn is_used(&self, now: u64) -> bool {
        let has_turn = |ledger: &Ledger| ledger.turn.is_some_and(|(_, until)| until > now);
        let is_waited_for = self.waiters.values().any(|until| *until > now);
        self.open(now).is_some() || is_waited_for || self.ledger.as_ref().is_some_and(has_turn)
    }

    fn is_empty(&self) -> bool {
        self.held.is_none() && self.ledger.is_none() && self.waiters.is_empty()
    }

    fn acquire(&mut self, now: u64, call: &Acquire) -> Acquired {
        let held = self.open(now);
        if let Some(held) = &held
            && held.owner == call.owner
            && now < held.ends
            && guard("model_lock_acquire_repeat")
        {
            return Acquired::Granted { fence: Fence(held.fence), lease_left_ms: held.ends - now };
        }
        let free_at = match (&held, &self.ledger) {
            (Some(held), _) => held.free_at(),
            (None, Some(Ledger { turn: Some((process, until)), .. }))
                if *process == call.process && self.other_waiters(now, call.process) > 0 =>
            {
                *until
            }
            _ => now,
        };
        if free_at > now {
            if held.is_some() {
                self.held = held;
            }
            if call.waits {
                self.waiters.insert(call.process, now + WAITING_MS);
            }
            return Acquired::Taken { free_in_ms: free_at - now };
        }
        self.waiters.remove(&call.process);
        let previous = self.previous();
        let mut fence = 1;
        if guard("model_lock_fence_previous") {
            fence = fence.max(previous + 1);
        }
        if guard("model_lock_fence_time") {
            fence = fence.max(now * 1000);
        }
        if guard("model_lock_fence_floor") {
            fence = fence.max(call.fence_floor + 1);
        }
        let lease = call.hold_ms_max.map_or(call.lease_ms, |hold| call.lease_ms.min(hold));
        self.store_ledger(now, fence, None);
        self.held = Some(Record {
            owner: call.owner,
            fence,
            ends: now + lease,
            lease,
            cooling: call.cooling_ms,
            since: now,
            limit: call.hold_ms_max.map(|hold| now + hold),
            words: call.words.clone(),
        });
        Acquired::Granted { fence: Fence(fence), lease_left_ms: lease }
    }

    fn renew(&mut self, now: u64, owner: Token, lease_ms: u64) -> Renewed {
        let Some(mut held) = self.open(now) else { return Renewed::Lost };
        if held.owner != owner && guard("model_lock_renew_owner") {
            return Renewed::Lost;
        }
        if now >= held.ends && guard("model_lock_renew_ended") {
            return Renewed::Lost;
        }
        let mut ends = now + lease_ms;
        if let Some(limit) = held.limit
            && guard("model_lock_max_hold")
        {
            ends = ends.min(limit);
        }
        if ends <= held.ends {
            return Renewed::Held { lease_left_ms: held.ends - now };
        }
        (held.ends, held.lease) = (ends, lease_ms);
        self.held = Some(held);
        Renewed::Renewed { lease_left_ms: ends - now }
    }

    fn release(&mut self, now: u64, call: Release) -> Released {
        let Some(held) = self.open(now) else { return Released::Nothing };
        if held.owner != call.owner && guard("model_lock_release_owner") {
            return Released::Lost;
        }
        if now >= held.ends && guard("model_lock_release_ended") {
            return Released::Lost;
        }
        let others_waiting = self.other_waiters(now, call.process);
        self.held = None;
        if call.waits {
            self.waiters.insert(call.process, now + WAITING_MS);
        }
        if others_waiting > 0 && guard("model_lock_turn") {
            self.store_ledger(now, held.fence, Some((call.process, now + TURN_MS)));
        }
        self.wake_one(now, call.process);
        Released::Released { others_waiting }
    }

    fn raise(&mut self, now: u64, owner: Token, seen: Fence) -> Option<Fence> {
        let previous = self.previous();
        let mut held = self.open(now)?;
        if held.owner != owner && guard("model_lock_raise_owner") {
            return None;
        }
        if now >= held.ends {
            return None;
        }
        if held.fence <= seen.0 {
            held.fence = previous.max(seen.0) + 1;
            self.store_ledger(now, held.fence, None);
            self.held = Some(held.clone());
        }
        Some(Fence(held.fence))
    }

    fn inspect(&self, now: u64) -> Option<Holder> {
        let held = self.open(now)?;
        Some(Holder {
            owner: held.owner,
            fence: Fence(held.fence),
            lease_left_ms: held.ends.saturating_sub(now),
            free_in_ms: held.free_at() - now,
            held_ms: now.saturating_sub(held.since),
            waiting: self.waiters.values().filter(|until| **until > now).count() as u64,
            words: held.words,
        })
    }

    fn break_lock(&mut self, now: u64, seen: Option<Fence>) -> Option<Holder> {
        let holder = self.inspect(now)?;
        if seen.is_some_and(|seen| seen != holder.fence) && guard("model_lock_break_fence") {
            return None;
        }
        self.held = None;
        let previous = self.previous();
        self.store_ledger(now, previous.max(holder.fence.0), None);
        Some(holder)
    }

    /// The last known fencing token of this name, or one above it.
    fn previous(&self) -> u64 {
        self.ledger.as_ref().map_or(self.fence_floor, |ledger| ledger.fence)
    }

    fn store_ledger(&mut self, now: u64, fence: u64, turn: Option<(Token, u64)>) {
        self.ledger = Some(Ledger { fence, turn, forgotten_at: now + DAY_MS });
    }

    /// The number of other waiting processes.
    fn other_waiters(&self, now: u64, process: Token) -> u64 {
        self.waiting(now, process).count() as u64
    }

    /// Wakes the process that has waited longest, once: one that does not respond has died or no longer waits. (Within one process all
    /// waiters are notified.)
    fn wake_one(&mut self, now: u64, process: Token) {
        let called = self.waiting(now, process).min_by_key(|(waiter, until)| (*until, *waiter.as_bytes()));
        if let Some((called, _)) = called
            && guard("model_lock_called_once")
        {
            self.waiters.insert(called, now + TURN_MS);
        }
    }

    /// The other waiting processes, and when each stops counting as waiting.
    fn waiting(&self, now: u64, process: Token) -> impl Iterator<Item = (Token, u64)> {
        let all = self.waiters.iter().map(|(waiter, until)| (*waiter, *until));
        all.filter(move |(waiter, until)| *waiter != process && *until > now)
    }
}

#[async_trait]
impl LockSteps for MemoryLock {
    async fn acquire(&self, name: &LockName, call: &Acquire) -> Result<Acquired, LockError> {
        check(call)?;
        Ok(self.step(name, |state, now| state.acquire(now, call)))
    }

    async fn renew(&self, name: &LockName, owner: Token, lease_ms: u64) -> Result<Renewed, LockError> {
        Ok(self.step(name, |state, now| state.renew(now, owner, lease_ms)))
    }

    async fn release(&self, name: &LockName, call: Release) -> Result<Released, LockError> {
        Ok(self.release_now(name, call))
    }

    async fn raise(&self, name: &LockName, owner: Token, seen: Fence) -> Result<Option<Fence>, LockError> {
        Ok(self.step(name, |state, now| state.raise(now, owner, seen)))
    }

    async fn inspect(&self, name: &LockName) -> Result<Option<Holder>, LockError> {
        Ok(self.step(name, |state, now| state.inspect(now)))
    }

    async fn break_lock(&self, name: &LockName, seen: Option<Fence>) -> Result<Option<Holder>, LockError> {
        let broken = self.step(name, |state, now| state.break_lock(now, seen));
        if broken.is_some() {
            self.0.releases.send_modify(|count| *count += 1);
        }
        Ok(broken)
    }

    async fn held(&self) -> Result<Vec<LockName>, LockError> {
        Ok(Self::held(self))
    }

    async fn listen(&self, _name: &LockName) -> Result<Box<dyn WakeListener>, LockError> {
        Ok(Box::new(Self::listen(self)))
    }

    fn release_now(&self, name: &LockName, call: Release) -> bool {
        Self::release_now(self, name, call);
        true
    }

    fn is_embedded(&self) -> bool {
        true
    }

    fn pools(&self) -> Option<Arc<dyn PoolSteps>> {
        Some(Arc::new(self.0.pools.clone()))
    }

    async fn stripes(&self, name: &LockName, stripes: u32) -> Result<u32, LockError> {
        Ok(Self::stripes(self, name, stripes))
    }

    async fn restripe(&self, name: &LockName, stripes: u32) -> Result<(), LockError> {
        Self::restripe(self, name, stripes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Acquire, Acquired, Fence, LockName, LockSteps, MemoryLock, NAMES_MAX, Release};
    use bytes::Bytes;
    use evenkeel_link::Token;
    use evenkeel_link::clock::{Clock, TestClock};
    use std::time::Duration;

    fn name(number: usize) -> LockName {
        LockName::new(&format!("stock/{number}")).unwrap_or_else(|error| unreachable!("{error}"))
    }

    async fn take(locks: &MemoryLock, number: usize) -> (Token, Fence) {
        let (owner, process) = (Token::random(), Token::random());
        let (lease_ms, cooling_ms, hold_ms_max, fence_floor, waits) = (30_000, 0, None, 0, false);
        let words = Bytes::new();
        let call = Acquire { owner, process, lease_ms, cooling_ms, hold_ms_max, fence_floor, waits, words };
        match locks.acquire(&name(number), &call).await {
            Ok(Acquired::Granted { fence, .. }) => (owner, fence),
            other => unreachable!("{other:?}"),
        }
    }

    fn release(locks: &MemoryLock, number: usize, owner: Token) {
        locks.release_now(&name(number), Release { owner, process: owner, waits: false });
    }

    fn stored_names(locks: &MemoryLock) -> usize {
        locks.0.locks.lock().all.len()
    }

    #[tokio::test]
    async fn unheld_name_is_forgotten_among_many() {
        let locks = MemoryLock::new(Clock::system());
        for number in 0..20_000 {
            let (owner, _) = take(&locks, number).await;
            release(&locks, number, owner);
        }
        assert!(stored_names(&locks) <= NAMES_MAX * 2 + 1, "{}", stored_names(&locks));
        for number in 0..500 {
            locks.stripes(&name(number), 8);
        }
        assert_eq!(locks.stripes(&name(0), 9), 8);
        for number in 500..20_000 {
            locks.stripes(&name(number), 8);
        }
        assert!(locks.0.stripes.lock().len() <= NAMES_MAX);
    }

    #[tokio::test]
    async fn held_name_is_remembered_among_many() {
        let locks = MemoryLock::new(Clock::system());
        let (owner, fence) = take(&locks, 0).await;
        for number in 1..20_000 {
            let (owner, _) = take(&locks, number).await;
            release(&locks, number, owner);
        }
        let held = locks.inspect(&name(0)).await.ok().flatten();
        assert_eq!(held.map(|held| (held.owner, held.fence)), Some((owner, fence)));
    }

    #[tokio::test]
    async fn fence_exceeds_those_of_a_forgotten_name() {
        let clock = TestClock::default();
        let locks = MemoryLock::new(clock.clock());
        clock.advance(Duration::from_secs(600));
        let mut first = None;
        for number in 0..NAMES_MAX * 3 {
            let (owner, fence) = take(&locks, number).await;
            first = first.or(Some(fence));
            release(&locks, number, owner);
        }
        clock.set_back(Duration::from_secs(300));
        let (_, again) = take(&locks, 0).await;
        assert!(Some(again) > first, "{again:?} after {first:?}");
    }
}
