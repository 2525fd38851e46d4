//! The model: the steps of docs/spec/lock.md as a state machine behind a mutex. It is the embedded backend, an executable
//! specification, and the oracle with which the scripts are compared.

mod state;

use super::error::LockError;
use super::name::LockName;
use super::pool::PoolBackend;
use super::steps::{Acquire, Acquired, Fence, Holder, LockSteps, Release, Released, Renewed, WakeListener, check};
use async_trait::async_trait;
use evenkeel_link::Token;
use evenkeel_link::clock::Clock;
use evenkeel_link::support::guard;
use parking_lot::Mutex;
use state::State;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use tokio::sync::watch;

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
    pools: PoolBackend,
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

impl MemoryLock {
    /// An empty backend. Its server time is the clock's wall clock.
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        let (releases, pools) = (watch::Sender::new(0), PoolBackend::memory(clock.clone()));
        Self(Arc::new(Inner { locks: Mutex::default(), clock, releases, pools, stripes: Mutex::default() }))
    }

    /// Removes the numbers of striped locks without a holder: no holder could be affected by a different number.
    fn forget_stripes(&self, all: &mut HashMap<LockName, u32>) {
        let held = self.held();
        let striped = |name: &LockName| name.as_str().rsplit_once(':').map(|(striped, _)| striped.to_owned());
        let used: HashSet<String> = held.iter().filter_map(striped).collect();
        all.retain(|name, _| used.contains(name.as_str()));
    }

    /// Notifies of releases of locks that have waiters.
    pub fn listen(&self) -> watch::Receiver<u64> {
        self.0.releases.subscribe()
    }

    /// [`LockSteps::release`] without `async`.
    pub(crate) fn release_now(&self, name: &LockName, call: Release) -> Released {
        let released = self.step(name, |state, now| state.release(now, call));
        if matches!(released, Released::Released { others_waiting: 1.. }) && guard("model_lock_release_notifies") {
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

    fn pools(&self) -> Option<PoolBackend> {
        Some(self.0.pools.clone())
    }

    async fn stripes(&self, name: &LockName, stripes: u32) -> Result<u32, LockError> {
        let mut all = self.0.stripes.lock();
        if all.len() >= NAMES_MAX && all.len().is_power_of_two() && !all.contains_key(name) {
            self.forget_stripes(&mut all);
        }
        Ok(*all.entry(name.clone()).or_insert(stripes))
    }

    async fn restripe(&self, name: &LockName, stripes: u32) -> Result<(), LockError> {
        self.0.stripes.lock().insert(name.clone(), stripes);
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
        let metadata = Bytes::new();
        let call = Acquire { owner, process, lease_ms, cooling_ms, hold_ms_max, fence_floor, waits, metadata };
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

    // shows: hazard AL2
    #[tokio::test]
    async fn unheld_name_is_forgotten_among_many() {
        let locks = MemoryLock::new(Clock::system());
        for number in 0..20_000 {
            let (owner, _) = take(&locks, number).await;
            release(&locks, number, owner);
        }
        assert!(stored_names(&locks) <= NAMES_MAX * 2 + 1, "{}", stored_names(&locks));
        for number in 0..500 {
            locks.stripes(&name(number), 8).await.ok();
        }
        assert_eq!(locks.stripes(&name(0), 9).await.ok(), Some(8));
        for number in 500..20_000 {
            locks.stripes(&name(number), 8).await.ok();
        }
        assert!(locks.0.stripes.lock().len() <= NAMES_MAX);
    }

    #[tokio::test]
    async fn held_name_is_retained_among_many() {
        let locks = MemoryLock::new(Clock::system());
        let (owner, fence) = take(&locks, 0).await;
        for number in 1..20_000 {
            let (owner, _) = take(&locks, number).await;
            release(&locks, number, owner);
        }
        let held = locks.inspect(&name(0)).await.ok().flatten();
        assert_eq!(held.map(|held| (held.owner, held.fence)), Some((owner, fence)));
    }

    // shows: hazard AL2
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
