//! [`PoolBackend`]: where the pools are.

use super::state::State;
use super::steps::Kind;
use crate::lock::error::LockError;
use crate::lock::name::{LockName, key};
use crate::lock::redis::names_with;
use crate::lock::steps::WakeListener;
use crate::lock::wake::TurnMessages;
use crate::step::{Backend, Place};
use evenkeel_link::Link;
use evenkeel_link::support::guard;
use futures_util::FutureExt;
use std::collections::HashMap;

/// The scripts, each composed of the shared parts that it uses and its own file.
pub(crate) mod scripts {
    scripts! {
        /// All scripts, to be loaded on every epoch.
        pub(crate) const SCRIPTS in "", "steps/";
        library "pool" of ["pool", "queue"];

        // Rejected as a whole by a Redis server that is out of memory.
        pub(crate) static ACQUIRE = "pool_acquire-1", "", ["pool", "queue"];
        // Renewals and releases must succeed when Redis is out of memory.
        pub(crate) static RENEW = "pool_renew-1", "allow-oom", ["pool"];
        pub(crate) static RELEASE = "pool_release-1", "allow-oom", ["pool"];
        pub(crate) static RAISE = "pool_raise-1", "allow-oom", ["pool"];
        pub(crate) static BREAK = "pool_break-1", "allow-oom", ["pool"];
        pub(crate) static RESIZE = "pool_resize-1", "allow-oom", ["pool"];
        pub(crate) static INSPECT = "pool_inspect-1", "no-writes", ["pool"];
    }
}

/// A store of pools, which runs the steps. Cheap to clone.
pub type PoolBackend = Backend<Pool>;

/// The identity of a pool. Pools of different kinds are independent even if they have the same name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pool {
    kind: Kind,
    name: LockName,
    key: Vec<u8>,
}

impl Pool {
    /// The pool of this kind and name in the namespace `prefix`.
    #[must_use]
    pub fn new(prefix: &str, kind: Kind, name: LockName) -> Self {
        Self { key: key(prefix, &name, ending(kind)), kind, name }
    }

    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &LockName {
        &self.name
    }

    /// The channel of messages to its waiters.
    pub(crate) fn channel(&self) -> Vec<u8> {
        [&self.key, &b"-news"[..]].concat()
    }
}

fn ending(kind: Kind) -> &'static str {
    match kind {
        Kind::ReadWrite => ":rw",
        Kind::Semaphore => ":permits",
    }
}

/// The number of pools that are stored as in Redis; above it, unused pools are removed.
const POOLS_MAX: usize = 1_024;

/// The pools of an embedded store.
#[derive(Default)]
pub struct Pools {
    all: HashMap<Pool, State>,
    /// The highest fencing token of the removed pools: new tokens are above it.
    fence_floor: u64,
    /// Steps since pools were last removed.
    steps: usize,
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

impl Place for Pool {
    type State = State;
    type States = Pools;
    type Error = LockError;
    type Shared = ();

    fn key(&self) -> &[u8] {
        &self.key
    }

    fn open<'a>(&self, pools: &'a mut Pools, now: u64) -> &'a mut State {
        pools.forget(now);
        let floor = if self.kind == Kind::ReadWrite { pools.fence_floor } else { 0 };
        let new = || State::new(self.kind, now, floor);
        let state = pools.all.entry(self.clone()).or_insert_with(new);
        if now >= state.forgotten_at {
            *state = new();
        }
        state
    }

    fn wakes(state: &mut State) -> bool {
        std::mem::take(&mut state.wakes)
    }

    /// A pool that was never acquired.
    fn close(&self, pools: &mut Pools) {
        if pools.all.get(self).is_some_and(|state| state.permits == 0) {
            pools.all.remove(self);
        }
    }
}

impl PoolBackend {
    /// The pool of this kind and name.
    #[must_use]
    pub fn pool(&self, kind: Kind, name: LockName) -> Pool {
        Pool::new(self.link().map_or("", Link::prefix), kind, name)
    }

    /// The names of the pools of this kind that may be in use, sorted.
    ///
    /// # Errors
    /// [`LockError::Link`].
    pub async fn names(&self, kind: Kind) -> Result<Vec<LockName>, LockError> {
        match self {
            Self::Redis(redis) => names_with(redis.link(), ending(kind)).await,
            Self::Memory(memory) => Ok(memory.look(|pools, now| {
                let used = pools.all.iter().filter(|(pool, state)| pool.kind == kind && state.is_used(now));
                let mut names: Vec<LockName> = used.map(|(pool, _)| pool.name.clone()).collect();
                names.sort();
                names
            })),
        }
    }

    /// Subscribes: after this the listener is notified when it may be the turn of the owner that it is asked about.
    ///
    /// # Errors
    /// [`LockError::Link`].
    pub async fn listen(&self, pool: &Pool) -> Result<Box<dyn WakeListener>, LockError> {
        match self {
            Self::Redis(redis) => {
                let channel = pool.channel();
                // Boxed: the futures of all callers would exceed the compiler's default recursion limit.
                let messages = redis.link().subscribe(&channel).boxed().await?;
                Ok(Box::new(TurnMessages(messages)))
            }
            Self::Memory(memory) => Ok(Box::new(memory.changes())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind, LockName, POOLS_MAX, Pool};
    use crate::lock::pool::steps::{PermitReply, PermitRequest, Release};
    use crate::lock::steps::Fence;
    use crate::step::Memory;
    use bytes::Bytes;
    use evenkeel_link::Token;
    use evenkeel_link::clock::TestClock;
    use std::time::Duration;

    fn acquire_and_release(pools: &Memory<Pool>, number: usize) -> Fence {
        let name = LockName::new(&format!("prices/{number}")).unwrap_or_else(|error| unreachable!("{error}"));
        let (pool, owner) = (Pool::new("t", Kind::ReadWrite, name), Token::random());
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
        let Ok(PermitReply::Granted { fence, .. }) = pools.run(&pool, &request) else { unreachable!("it is free") };
        let _ = pools.run(&pool, &Release { owner });
        fence
    }

    // shows: hazard AL2
    #[test]
    fn unused_pool_is_forgotten_among_many() {
        let clock = TestClock::default();
        let pools = Memory::<Pool>::new(clock.clock());
        clock.advance(Duration::from_secs(600));
        let first = acquire_and_release(&pools, 0);
        for number in 1..POOLS_MAX * 5 {
            acquire_and_release(&pools, number);
        }
        assert!(pools.look(|pools, _| pools.all.len()) <= POOLS_MAX * 2 + 1);
        clock.set_back(Duration::from_secs(300));
        assert!(acquire_and_release(&pools, 0) > first);
    }
}
