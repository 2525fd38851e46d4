//! The model: the steps of a pool as a state machine behind a mutex. It is the embedded backend, an executable specification,
//! and the oracle with which the scripts are compared.

mod state;

pub(crate) use state::sort;

use super::steps::{Kind, PermitReply, PermitRequest, Pool, PoolHolder, PoolState, PoolSteps, check, check_size};
use crate::lock::error::LockError;
use crate::lock::name::LockName;
use crate::lock::steps::{Fence, Released, Renewed, WakeListener};
use async_trait::async_trait;
use evenkeel_link::Token;
use evenkeel_link::clock::Clock;
use evenkeel_link::support::guard;
use parking_lot::Mutex;
use state::State;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::watch;

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

impl MemoryPool {
    /// An empty backend. Its server time is the clock's wall clock.
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        Self(Arc::new(Inner { pools: Mutex::default(), clock, releases: watch::Sender::new(0) }))
    }

    /// [`PoolSteps::release`] without `async`.
    pub(crate) fn release_now(&self, pool: &Pool, owner: Token) -> Released {
        let (released, waiting) = self.step(pool, |state, now| state.release(now, owner));
        if waiting > 0 && guard("model_pool_release_notifies") {
            self.notify();
        }
        released
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

#[async_trait]
impl PoolSteps for MemoryPool {
    async fn acquire(&self, pool: &Pool, request: &PermitRequest) -> Result<PermitReply, LockError> {
        check(request)?;
        let reply = self.step(pool, |state, now| state.acquire(now, pool.kind, request));
        // The caller has checked the pool for all that poll.
        if request.polls && reply != PermitReply::Queued && guard("model_pool_watch_notifies") {
            self.notify();
        }
        Ok(reply)
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
        let now = self.0.clock.unix_ms();
        let pools = self.0.pools.lock();
        let used = pools.all.iter().filter(|(pool, state)| pool.kind == kind && state.is_used(now));
        let mut names: Vec<LockName> = used.map(|(pool, _)| pool.name.clone()).collect();
        names.sort();
        Ok(names)
    }

    async fn listen(&self, _pool: &Pool) -> Result<Box<dyn WakeListener>, LockError> {
        Ok(Box::new(self.0.releases.subscribe()))
    }

    fn release_now(&self, pool: &Pool, owner: Token) -> bool {
        Self::release_now(self, pool, owner);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::{Fence, Kind, LockName, MemoryPool, POOLS_MAX, PermitReply, PermitRequest, Pool, PoolSteps, Token};
    use bytes::Bytes;
    use evenkeel_link::clock::TestClock;
    use std::time::Duration;

    async fn acquire_and_release(pools: &MemoryPool, number: usize) -> Fence {
        let name = LockName::new(&format!("prices/{number}")).unwrap_or_else(|error| unreachable!("{error}"));
        let (pool, owner) = (Pool { kind: Kind::ReadWrite, name }, Token::random());
        let (permits, permits_in_all, lease_ms, hold_ms_max) = (1, 500, 30_000, None);
        let request = PermitRequest {
            owner,
            permits,
            permits_in_all,
            lease_ms,
            hold_ms_max,
            fence_floor: 0,
            waits: false,
            waited_ms: 0,
            polls: false,
            metadata: Bytes::new(),
        };
        let Ok(PermitReply::Granted { fence, .. }) = pools.acquire(&pool, &request).await else {
            unreachable!("it is free")
        };
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
