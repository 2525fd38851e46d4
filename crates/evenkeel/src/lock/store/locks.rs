//! The state that the locks of one keel share.

use super::LockStore;
use crate::context::Context;
use crate::lock::acquire::gate::Gates;
use crate::lock::hold::leases::Leases;
use crate::lock::hold::reaper::Reaper;
use crate::lock::metrics::LockMetrics;
use crate::process::reporter::Reporter;
#[cfg(feature = "sql")]
use crate::sql::database::Pool;
use evenkeel_link::Token;
use evenkeel_link::clock::Clock;
use evenkeel_link::support::guard;
use evenkeel_protocol::lock::memory::MemoryLock;
use evenkeel_protocol::lock::redis::RedisLock;
use evenkeel_protocol::lock::steps::LockSteps;
#[cfg(feature = "sql")]
use parking_lot::Mutex;
#[cfg(feature = "sql")]
use std::any::TypeId;
#[cfg(feature = "sql")]
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use tokio::sync::Semaphore;

/// A call for a pool with many holders takes Redis some ms, and all that are sent together must be answered within the response time-out.
const ASKS_AHEAD: usize = 32;

/// The locks of one keel. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Locks(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) store: LockStore,
    pub(crate) clock: Clock,
    /// Identifies this process among waiting ones.
    pub(crate) process: Token,
    pub(crate) gates: Arc<Gates>,
    /// The first requests of tasks for shared locks that may be on the way at once.
    pub(crate) asks_ahead: Semaphore,
    pub(crate) reaper: Reaper,
    pub(crate) metrics: LockMetrics,
    is_server_checked: AtomicBool,
    /// The held ones.
    pub(crate) leases: Arc<Leases>,
    /// `None` for those of a Redlock, which has no keel.
    #[cfg(feature = "sql")]
    reporter: Option<Arc<Reporter>>,
    /// Locks in databases, one set per type of steps and pool: all callers share its local queue and its shutdown.
    #[cfg(feature = "sql")]
    others: Mutex<HashMap<(TypeId, usize), Locks>>,
}

impl Locks {
    pub(crate) fn new(context: &Context) -> Self {
        let clock = context.clock.clone();
        let steps: Arc<dyn LockSteps> = match &context.link {
            None => Arc::new(MemoryLock::new(clock.clone())),
            Some(link) => Arc::new(RedisLock::new(link.clone())),
        };
        Self::over(LockStore::new(steps), clock, Some(&context.reporter))
    }

    /// Locks on the same store, like those of another process.
    #[cfg(all(feature = "testing", feature = "cache"))]
    pub(crate) fn another_process(&self, context: &Context) -> Self {
        Self::over(self.store.clone(), self.clock.clone(), Some(&context.reporter))
    }

    /// Warns in the background, once, if the server evicts keys: a held lock can vanish, and its holder detects that at its next renewal only.
    pub(crate) fn check_server(&self) {
        if self.store.is_embedded() || self.is_server_checked.swap(true, Relaxed) {
            return;
        }
        let store = self.store.clone();
        evenkeel_link::support::spawn(async move {
            if let Ok(Some((address, policy))) = store.eviction().await {
                tracing::warn!(
                    %address,
                    %policy,
                    "the server evicts keys when it is full: a lock that is held can be granted a second time, and only a check of the fence \
                     rejects its first holder; set maxmemory-policy to noeviction, or use another server for locks"
                );
            }
        });
    }

    /// Waits until the locks of dropped guards are released, for at most `deadline`.
    pub(crate) async fn drain(&self, deadline: Duration) {
        let drained = async {
            self.reaper.drained().await;
            #[cfg(feature = "sql")]
            for other in self.all_others() {
                other.reaper.drained().await;
            }
        };
        if self.clock.timeout(deadline, drained).await.is_err() {
            tracing::warn!("some locks were not released in time; they end with their leases");
        }
    }

    /// The locks with these steps in the database of `pool`; created if there are none yet. The steps must keep the pool, so that its
    /// address is not reused.
    #[cfg(feature = "sql")]
    pub(crate) fn other<S: LockSteps + 'static>(&self, pool: &Pool, steps: impl FnOnce(Pool, Clock) -> S) -> Self {
        // The address of a pool's options identifies the pool, because they exist as long as it does.
        let place = (TypeId::of::<S>(), pool.place());
        let make = || {
            let steps = steps(pool.clone(), self.clock.clone());
            Self::over(LockStore::new(Arc::new(steps)), self.clock.clone(), self.reporter.as_ref())
        };
        self.others.lock().entry(place).or_insert_with(make).clone()
    }

    #[cfg(feature = "sql")]
    fn all_others(&self) -> Vec<Self> {
        self.others.lock().values().cloned().collect()
    }

    /// Locks on this store, like those of a separate process.
    pub(crate) fn over(store: LockStore, clock: Clock, reporter: Option<&Arc<Reporter>>) -> Self {
        let leases = Arc::<Leases>::default();
        if let Some(reporter) = reporter {
            reporter.add(&leases);
        }
        let reaper = Reaper::new(clock.clone());
        let (process, gates, metrics) = (Token::random(), Arc::default(), LockMetrics::register());
        Self(Arc::new(Inner {
            store,
            clock,
            process,
            gates,
            asks_ahead: Semaphore::new(if guard("lock_asks_ahead_bounded") {
                ASKS_AHEAD
            } else {
                Semaphore::MAX_PERMITS
            }),
            reaper,
            metrics,
            is_server_checked: AtomicBool::new(false),
            leases,
            #[cfg(feature = "sql")]
            reporter: reporter.cloned(),
            #[cfg(feature = "sql")]
            others: Mutex::default(),
        }))
    }
}

impl Deref for Locks {
    type Target = Inner;
    fn deref(&self) -> &Inner {
        &self.0
    }
}
