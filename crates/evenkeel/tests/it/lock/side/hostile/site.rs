//! Locks of every kind under one interface, and a check of every acquisition: holders that exclude each other never hold at once within
//! their terms, and fences rise.

use crate::lock::side::extremes::boxed;
use crate::lock::side::rig::Rig;
use crate::sql::databases::{TestDatabase, Tested};
use evenkeel::Keel;
use evenkeel::lock::{
    ExclusiveGuard, ExclusiveLocks, Fence, LockError, LockTerms, Lost, Permits, ReleaseOutcome, Wait,
};
use std::any::Any;
use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;
use tokio::sync::RwLock;

/// How far time moves at once. A hundred steps are longer than any `max_hold` of a hostile holder.
const STEP: Duration = Duration::from_millis(500);
/// The weight of a writer; a reader has the weight 1.
const WRITER: u32 = 1_000;
/// The permits of each semaphore.
const PERMITS: u32 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Exclusive,
    Striped,
    ReadWrite,
    Semaphore,
    /// A lock in a row of a database, on the real clock.
    Row,
}

pub(super) const FAMILIES: [Family; 5] =
    [Family::Exclusive, Family::Striped, Family::ReadWrite, Family::Semaphore, Family::Row];

/// A lock, and the share of it that a caller requests.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) family: Family,
    pub(super) name: String,
    /// Holders of one lock weigh at most as much as its capacity.
    weight: u32,
    pub(super) terms: LockTerms,
}

impl Request {
    /// Requests the whole lock, and waits for as long as it takes.
    pub(super) fn new(family: Family, name: &str) -> Self {
        let name = format!("{family:?} {name}");
        let request = Self { family, name, weight: 0, terms: LockTerms::default().wait(Wait::Forever) };
        Self { weight: request.capacity(), ..request }
    }

    /// Requests the smallest share: one permit, or a read lock.
    pub(super) fn smallest(self) -> Self {
        Self { weight: 1, ..self }
    }

    pub(super) fn terms(self, change: impl FnOnce(LockTerms) -> LockTerms) -> Self {
        Self { terms: change(self.terms), ..self }
    }

    fn capacity(&self) -> u32 {
        match self.family {
            Family::ReadWrite => WRITER,
            Family::Semaphore => PERMITS,
            Family::Exclusive | Family::Striped | Family::Row => 1,
        }
    }
}

/// A held lock of any kind.
pub(super) enum Held {
    Lock(Box<dyn ExclusiveGuard>),
    Permits(Permits),
}

impl Held {
    pub(super) fn is_lost(&self) -> bool {
        match self {
            Self::Lock(guard) => guard.is_lost(),
            Self::Permits(permits) => permits.is_lost(),
        }
    }

    pub(super) async fn lost(&self) -> Lost {
        match self {
            Self::Lock(guard) => guard.lost().await,
            Self::Permits(permits) => permits.lost().await,
        }
    }

    pub(super) async fn run<F: Future>(&self, future: F) -> Result<F::Output, Lost> {
        match self {
            Self::Lock(guard) => guard.run(future).await,
            Self::Permits(permits) => permits.run(future).await,
        }
    }

    async fn release(self) -> ReleaseOutcome {
        match self {
            Self::Lock(guard) => guard.release().await,
            Self::Permits(permits) => permits.release().await,
        }
        .unwrap()
    }

    fn fence(&self) -> Option<Fence> {
        if let Self::Lock(guard) = self { guard.fence() } else { None }
    }
}

/// Those who hold a lock, and its highest fence.
#[derive(Default)]
struct Holders {
    guards: Vec<(u32, Weak<Held>)>,
    fence: Option<Fence>,
}

/// Processes with locks, and who holds them.
pub(super) struct Site {
    rig: Rig,
    processes: Vec<(Keel, Arc<dyn ExclusiveLocks>)>,
    holders: Mutex<HashMap<String, Holders>>,
    /// Written while the clocks move: the store's clock moves first, and may grant what a process still believes to hold.
    time: RwLock<()>,
    /// Guards that are never dropped while the round lasts.
    leaked: Mutex<Vec<Arc<Held>>>,
    /// Goes last.
    _database: Box<dyn Any + Send + Sync>,
}

impl Site {
    pub(super) async fn open<DB: Tested>(rig: Rig, database: TestDatabase<DB>) -> Arc<Self> {
        let mut processes = Vec::new();
        for _ in 0..3 {
            let rows: Arc<dyn ExclusiveLocks> = Arc::new(Keel::memory().row_locks(&database.pool));
            processes.push((rig.process().await, rows));
        }
        let (holders, time, leaked) = (Mutex::default(), RwLock::default(), Mutex::default());
        Arc::new(Self { rig, processes, holders, time, leaked, _database: Box::new(database) })
    }

    pub(super) fn keel(&self, process: usize) -> &Keel {
        &self.processes[process % self.processes.len()].0
    }

    fn rows(&self, process: usize) -> &dyn ExclusiveLocks {
        &*self.processes[process % self.processes.len()].1
    }

    /// Acquires a lock without the checks.
    pub(super) async fn ask(&self, process: usize, request: &Request) -> Result<Held, LockError> {
        let Request { family, name, weight, terms } = request;
        let (keel, terms) = (self.keel(process), terms.clone());
        Ok(match family {
            Family::Exclusive => Held::Lock(boxed(keel.lock(name).terms(terms).acquire().await?)),
            Family::Striped => Held::Lock(boxed(keel.striped_lock(name, 2)?.lock(b"42").terms(terms).acquire().await?)),
            Family::ReadWrite if *weight == WRITER => {
                Held::Lock(boxed(keel.rw_lock(name).write().terms(terms).acquire().await?))
            }
            Family::ReadWrite => Held::Lock(boxed(keel.rw_lock(name).read().terms(terms).acquire().await?)),
            Family::Semaphore => {
                Held::Permits(keel.semaphore(name, PERMITS).take(*weight).terms(terms).acquire().await?)
            }
            Family::Row => Held::Lock(self.rows(process).acquire(name, &terms).await?),
        })
    }

    /// Acquires a lock, and checks that no other holder is excluded by it and still holds it.
    pub(super) async fn acquire(&self, process: usize, request: &Request) -> Arc<Held> {
        let held = Arc::new(self.ask(process, request).await.unwrap());
        let _stands = self.time.read().await;
        // Granted, and expired before this task ran.
        if held.is_lost() {
            return held;
        }
        let (others, before) = {
            let mut all = self.holders.lock().unwrap();
            let holders = all.entry(request.name.clone()).or_default();
            holders.guards.retain(|(_, guard)| guard.upgrade().is_some_and(|guard| !guard.is_lost()));
            let others = holders.guards.iter().map(|(weight, _)| weight).sum::<u32>();
            holders.guards.push((request.weight, Arc::downgrade(&held)));
            let before = holders.fence;
            holders.fence = before.max(held.fence());
            (others, before)
        };
        let weight = request.weight;
        assert!(others + weight <= request.capacity(), "{request:?} was granted next to holders of {others}");
        let (fence, is_reader) = (held.fence(), request.family == Family::ReadWrite && weight != WRITER);
        // Readers at the same time share a fence.
        let rises = fence > before || (is_reader && fence == before) || request.family == Family::Semaphore;
        assert!(rises, "{request:?} has the fence {fence:?} after {before:?}");
        held
    }

    pub(super) async fn release(&self, held: Arc<Held>) -> ReleaseOutcome {
        // Within the lock of the checks, whose references are short.
        let held = {
            let _checks = self.holders.lock().unwrap();
            Arc::into_inner(held).expect("one task has the guard")
        };
        held.release().await
    }

    /// Keeps a guard for the rest of the round, as if it had been forgotten.
    pub(super) fn leak(&self, held: Arc<Held>) {
        self.leaked.lock().unwrap().push(held);
    }

    /// Whether the lock has neither holders nor, if its store counts them, waiters.
    pub(super) async fn is_idle(&self, request: &Request) -> bool {
        let (keel, name) = (self.keel(0), &request.name);
        match request.family {
            Family::Exclusive => keel.lock(name).inspect().await.unwrap().is_none(),
            Family::Striped => keel.striped_lock(name, 2).unwrap().lock(b"42").inspect().await.unwrap().is_none(),
            Family::ReadWrite => keel.rw_lock(name).inspect().await.unwrap().is_none_or(|state| state.is_idle()),
            Family::Semaphore => {
                keel.semaphore(name, PERMITS).inspect().await.unwrap().is_none_or(|state| state.is_idle())
            }
            Family::Row => match self.rows(0).try_acquire(name, &LockTerms::default()).await.unwrap() {
                Some(guard) => guard.release().await.unwrap() == ReleaseOutcome::Released,
                None => false,
            },
        }
    }

    /// Advances time until `future` is ready.
    pub(super) async fn while_time_passes<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        loop {
            // The pause is real, so that a server can answer before the clock moves on.
            match tokio::time::timeout(Duration::from_millis(2), &mut future).await {
                Ok(output) => return output,
                Err(_) => self.leap(STEP).await,
            }
        }
    }

    /// Advances time at once, as if all processes had been paused.
    pub(super) async fn leap(&self, span: Duration) {
        let _moves = self.time.write().await;
        self.rig.advance(span).await;
    }
}
