//! One process of a history: a runtime of its own, which can end at any moment.

use super::Notes;
use super::checker::Hold;
use evenkeel::Keel;
use evenkeel::link::LinkOptions;
use evenkeel::lock::{Guard, LockError, LockTerms, Permits};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tokio::time::timeout;

pub(super) const LOCKS: [&str; 2] = ["till", "safe"];
pub(super) const SHARED: &str = "ledger";
pub(super) const DESKS: &str = "desks";
pub(super) const PERMITS: u32 = 3;
/// The maximum number of readers of a read/write lock.
const READERS_MAX: u32 = 500;

const TASKS: u64 = 4;
const OPERATIONS: usize = 30;
/// Longer than any hold that is not leaked.
const MAX_HOLD: Duration = Duration::from_secs(2);

pub(super) struct Process {
    runtime: Option<Runtime>,
    tasks: tokio::task::JoinHandle<()>,
}

/// The address of a process's Redis; `None` for the embedded store.
type Address = Option<(String, String)>;

#[derive(Clone)]
struct Task {
    keel: Keel,
    notes: Arc<Notes>,
    /// Operations that are left before the process dies.
    left: Arc<AtomicU32>,
}

enum Held {
    Guard(Guard),
    Permits(Permits),
}

impl Process {
    pub(super) fn start(
        number: usize,
        seed: u64,
        address: Address,
        embedded: Keel,
        notes: &Arc<Notes>,
        dies: Option<u32>,
    ) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let notes = Arc::clone(notes);
        let tasks = runtime.spawn(async move {
            let keel = match &address {
                None => embedded,
                Some((url, prefix)) => match connect(url, prefix).await {
                    Ok(keel) => keel,
                    // Its connection failed before it was open.
                    Err(_) => return,
                },
            };
            let left = Arc::new(AtomicU32::new(dies.unwrap_or(u32::MAX)));
            let task = Task { keel, notes: Arc::clone(&notes), left };
            let mut tasks = JoinSet::new();
            for each in 0..TASKS {
                let random = StdRng::seed_from_u64(seed * 1_000 + number as u64 * 100 + each);
                tasks.spawn(task.clone().work(random));
            }
            while let Some(ended) = tasks.join_next().await {
                if ended.unwrap() {
                    notes.count(|tally| tally.died += 1);
                    // Live guards are neither dropped nor released: they end with the runtime.
                    std::mem::forget(tasks);
                    return;
                }
            }
        });
        Self { runtime: Some(runtime), tasks }
    }

    /// Waits until its tasks have ended or it dies.
    pub(super) async fn ended(mut self) {
        (&mut self.tasks).await.unwrap();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

pub(super) async fn connect(url: &str, prefix: &str) -> Result<Keel, evenkeel::link::LinkError> {
    let separator = if url.contains('?') { '&' } else { '?' };
    let quick = format!("{url}{separator}response_timeout_ms=300&connect_timeout_ms=1000&heartbeat_ms=100");
    let mut options = LinkOptions::from_url(&quick).unwrap();
    prefix.clone_into(&mut options.prefix);
    Keel::builder().connect_with(options).await
}

impl Task {
    /// Whether the process dies now.
    async fn work(self, mut random: StdRng) -> bool {
        for _ in 0..OPERATIONS {
            if self.left.fetch_sub(1, SeqCst) == 1 {
                return true;
            }
            let name = LOCKS[random.random_range(0..LOCKS.len())];
            match random.random_range(0..100) {
                0..45 => {
                    let acquire = Self::exclusive(&self.keel, name, terms(&mut random));
                    self.hold(name, &mut random, acquire).await;
                }
                45..70 => {
                    let acquire = Self::shared(&self.keel, random.random_bool(0.3), terms(&mut random));
                    self.hold(SHARED, &mut random, acquire).await;
                }
                70..96 => {
                    let acquire = Self::permits(&self.keel, random.random_range(1..=PERMITS), terms(&mut random));
                    self.hold(DESKS, &mut random, acquire).await;
                }
                _ => self.break_lock(name).await,
            }
        }
        false
    }

    async fn exclusive(keel: &Keel, name: &str, terms: LockTerms) -> Result<(Held, u32, u32), LockError> {
        Ok((Held::Guard(keel.lock(name).terms(terms).acquire().await?), 1, 1))
    }

    async fn shared(keel: &Keel, writes: bool, terms: LockTerms) -> Result<(Held, u32, u32), LockError> {
        let lock = keel.rw_lock(SHARED);
        let side = if writes { lock.write() } else { lock.read() };
        let room = READERS_MAX;
        Ok((Held::Guard(side.terms(terms).acquire().await?), if writes { room } else { 1 }, room))
    }

    async fn permits(keel: &Keel, permits: u32, terms: LockTerms) -> Result<(Held, u32, u32), LockError> {
        let taken = keel.semaphore(DESKS, PERMITS).take(permits).terms(terms);
        Ok((Held::Permits(taken.acquire().await?), permits, PERMITS))
    }

    async fn hold(
        &self,
        name: &'static str,
        random: &mut StdRng,
        acquire: impl Future<Output = Result<(Held, u32, u32), LockError>>,
    ) {
        let wait_max = Duration::from_millis(if random.random_bool(0.2) { random.random_range(0..20) } else { 10_000 });
        let asked = Instant::now();
        let Ok(acquired) = timeout(wait_max, acquire).await else {
            return self.notes.count(|tally| tally.dropped_acquires += 1);
        };
        let from = Instant::now();
        let (held, weight, room) = match acquired {
            Ok(held) => held,
            Err(LockError::Busy { .. }) => return self.notes.count(|tally| tally.busy += 1),
            Err(_) => return self.notes.count(|tally| tally.failed += 1),
        };
        let fence = held.fence();
        self.notes.count(|tally| {
            tally.holds += 1;
            tally.fences += u64::from(fence.is_some());
        });
        let hold = self.notes.begins(Hold { name, weight, room, fence, asked, from, until: from, broken_at: None });
        let long = random.random_bool(0.1);
        let looks = if long { random.random_range(60..200) } else { random.random_range(0..12) };
        for _ in 0..looks {
            let now = Instant::now();
            if held.is_lost() {
                self.notes.count(|tally| tally.lost += 1);
                break;
            }
            self.notes.look(hold, now);
            pass(Duration::from_millis(3)).await;
        }
        match random.random_range(0..60) {
            0 => {
                self.notes.count(|tally| tally.leaked += 1);
                std::mem::forget(held);
            }
            1..18 => drop(held),
            _ => held.release().await,
        }
    }

    async fn break_lock(&self, name: &'static str) {
        let lock = self.keel.lock(name);
        let Ok(Some(holder)) = lock.inspect().await else { return };
        self.notes.breaks(name, holder.fence.0);
        if let Ok(Some(_)) = lock.break_lock(Some(holder.fence)).await {
            self.notes.count(|tally| tally.broken += 1);
        }
    }
}

impl Held {
    fn fence(&self) -> Option<u64> {
        match self {
            Self::Guard(guard) => Some(guard.fence().0),
            Self::Permits(_) => None,
        }
    }

    fn is_lost(&self) -> bool {
        match self {
            Self::Guard(guard) => guard.is_lost(),
            Self::Permits(permits) => permits.is_lost(),
        }
    }

    /// Ignores the result: an unconfirmed hold ends with its lease.
    async fn release(self) {
        match self {
            Self::Guard(guard) => _ = guard.release().await,
            Self::Permits(permits) => _ = permits.release().await,
        }
    }
}

fn terms(random: &mut StdRng) -> LockTerms {
    let ttl = Duration::from_millis(random.random_range(60..400));
    let wait = Duration::from_millis(random.random_range(0..400));
    LockTerms::default().ttl(ttl).wait(wait).max_hold(MAX_HOLD)
}

/// Waits while something is held.
async fn pass(span: Duration) {
    timeout(span, pending::<()>()).await.ok();
}
