//! Random hostile code under locks of every kind: it panics, hangs, blocks its thread, leaks its guard, is dropped at any await point, or
//! holds longer than allowed. Afterwards another caller gets the lock, and holders of other locks notice nothing.

mod site;

use super::cancel::polled;
use super::rig::{TTL, until};
use crate::lock::side::rig::Rig;
use crate::robustness::{Round, panic_text};
use crate::sql::databases::{TestDatabase, Tested};
use evenkeel::lock::{LossReason, ReleaseOutcome};
use site::{FAMILIES, Family, Request, Site};
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, yield_now};

/// Longer than any leap of a round: holders with it lose nothing.
const LONG: Duration = Duration::from_secs(24 * 3600);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Behavior {
    PanicsInRun,
    PanicsWithTheGuard,
    PanicsBetweenLocks,
    /// Dropped while it waits, while it hangs, or before.
    IsAborted,
    IsAbortedWhileHolding,
    Blocks,
    DropsAcquire,
    DropsRun,
    DropsRelease,
    DropsOutsideTheRuntime,
    /// From here on, only the end of `max_hold` frees the lock.
    HangsInRun,
    PanicsWhenDropped,
    HoldsTooLong,
    Leaks,
}

use Behavior::{
    Blocks, DropsAcquire, DropsOutsideTheRuntime, DropsRelease, DropsRun, HangsInRun, HoldsTooLong, IsAborted,
    IsAbortedWhileHolding, Leaks, PanicsBetweenLocks, PanicsInRun, PanicsWhenDropped, PanicsWithTheGuard,
};

const BEHAVIORS: [Behavior; 14] = [
    PanicsInRun,
    PanicsWithTheGuard,
    PanicsBetweenLocks,
    IsAborted,
    IsAbortedWhileHolding,
    Blocks,
    DropsAcquire,
    DropsRun,
    DropsRelease,
    DropsOutsideTheRuntime,
    HangsInRun,
    PanicsWhenDropped,
    HoldsTooLong,
    Leaks,
];

impl Behavior {
    fn needs_time(self) -> bool {
        matches!(self, HangsInRun | PanicsWhenDropped | HoldsTooLong | Leaks)
    }
}

/// Panics when it is dropped.
struct DropPanics;

impl Drop for DropPanics {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "on purpose");
    }
}

/// One hostile caller.
#[derive(Clone)]
struct Hostile {
    site: Arc<Site>,
    process: usize,
    request: Request,
    behavior: Behavior,
    /// After how many polls or yields it is dropped, if it is.
    polls: usize,
}

pub(crate) async fn hostile(mut round: Round) {
    match round.number(0, 2) {
        0 => play(round, TestDatabase::<sqlx::Sqlite>::open().await).await,
        1 => play(round, TestDatabase::<sqlx::MySql>::open().await).await,
        _ => play(round, TestDatabase::<sqlx::Postgres>::open().await).await,
    }
}

async fn play<DB: Tested>(mut round: Round, database: TestDatabase<DB>) {
    round.step(std::any::type_name::<DB>());
    let rig = if round.is_on_redis() { Rig::redis().await } else { Rig::memory() };
    let site = Site::open(rig, database).await;
    let is_over = Arc::new(AtomicBool::new(false));
    let neighbors: Vec<Neighbor> =
        (0..2 * FAMILIES.len()).map(|number| Neighbor::begin(&site, number, &is_over)).collect();
    for _ in 0..round.number(8, 16) {
        let before: Vec<u64> = neighbors.iter().map(Neighbor::holds).collect();
        misbehave(&mut round, &site).await;
        // Well-behaved locks are acquired and released as before.
        let others_go_on = until(async || {
            let mut all = neighbors.iter().zip(&before);
            all.all(|(neighbor, before)| {
                assert!(!neighbor.task.is_finished(), "a well-behaved holder failed");
                neighbor.holds() > *before
            })
        });
        site.while_time_passes(others_go_on).await;
        round.checked(neighbors.len() as u64);
    }
    is_over.store(true, SeqCst);
    for neighbor in neighbors {
        site.while_time_passes(neighbor.task).await.unwrap();
    }
    for family in FAMILIES {
        for name in ["1", "2", "steady"] {
            let request = Request::new(family, name);
            for process in 0..3 {
                is_free(&site, process, &request).await;
            }
            until(async || site.is_idle(&request).await).await;
            round.checked(1);
        }
    }
    assert!(site.keel(0).locks_held().await.unwrap().is_empty());
}

/// Up to three hostile callers at one lock, and then a caller that gets it.
async fn misbehave(round: &mut Round, site: &Arc<Site>) {
    let (family, name) = (*round.one(&FAMILIES), round.number(1, 2).to_string());
    let (mut tasks, mut needs_time) = (Vec::new(), false);
    for _ in 0..*round.one(&[1, 1, 2, 3]) {
        let behavior = *round.one(&BEHAVIORS);
        // The time of rows is the database's.
        if behavior.needs_time() && family == Family::Row {
            continue;
        }
        let hold_max = if behavior.needs_time() { Duration::from_secs(round.number(5, 60)) } else { LONG };
        // A row expires on the real clock; what is not released must not be free soon.
        let ttl = if family == Family::Row { LONG } else { TTL.min(hold_max) };
        let request = Request::new(family, &name).terms(|terms| terms.ttl(ttl).max_hold(hold_max));
        let request = if round.chance(40) { request.smallest() } else { request };
        let polls = usize::try_from(round.number(0, 12)).unwrap();
        let process = usize::try_from(round.number(0, 2)).unwrap();
        round.misbehaves(format!("{behavior:?} after {polls}, process {process}: {request:?}"));
        needs_time |= behavior.needs_time();
        let hostile = Hostile { site: Arc::clone(site), process, request, behavior, polls };
        tasks.push((behavior, tokio::spawn(hostile.misbehave())));
    }
    if needs_time && round.chance(30) {
        round.step("all processes pause");
        site.leap(2 * TTL).await;
    }
    for (behavior, task) in tasks {
        if let Err(error) = site.while_time_passes(task).await {
            let text = panic_text(&*error.into_panic());
            assert!(text.contains("on purpose"), "{behavior:?} ended with {text}");
        }
    }
    let request = Request::new(family, &name);
    if !needs_time {
        // Time is frozen: it is released, and does not merely expire.
        until(async || site.is_idle(&request).await).await;
    }
    let process = usize::try_from(round.number(0, 2)).unwrap();
    is_free(site, process, &request).await;
    round.checked(1);
}

/// The whole lock can be acquired and released.
async fn is_free(site: &Site, process: usize, request: &Request) {
    let held = site.while_time_passes(site.acquire(process, request)).await;
    assert!(!held.is_lost(), "{request:?}");
    assert_eq!(site.while_time_passes(site.release(held)).await, ReleaseOutcome::Released, "{request:?}");
}

impl Hostile {
    async fn misbehave(self) {
        let Self { site, process, request, behavior, polls } = self.clone();
        match behavior {
            PanicsBetweenLocks if request.family == Family::Exclusive => return self.panics_between_locks().await,
            DropsAcquire => return drop(polled(site.ask(process, &request), polls).await),
            IsAborted => return self.be_aborted(false).await,
            IsAbortedWhileHolding => return self.be_aborted(true).await,
            _ => {}
        }
        let held = site.acquire(process, &request).await;
        match behavior {
            // A pause of the process may come first; then the lock is lost, and nothing runs.
            PanicsInRun => {
                let _ = held.run(async { panic!("on purpose") }).await;
            }
            DropsRun => {
                let _ = polled(held.run(pending::<()>()), polls.min(1)).await;
                site.release(held).await;
            }
            Blocks => {
                let (_open, never) = std::sync::mpsc::channel::<()>();
                let _ = held.run(async move { never.recv_timeout(Duration::from_millis(20)) }).await;
                site.release(held).await;
            }
            DropsRelease => drop(polled(site.release(held), polls).await),
            DropsOutsideTheRuntime => std::thread::spawn(move || drop(held)).join().unwrap(),
            HangsInRun => {
                let lost = held.run(pending::<()>()).await.unwrap_err();
                assert!(matches!(lost.reason, LossReason::Expired | LossReason::Gone) && held.is_lost(), "{lost:?}");
            }
            PanicsWhenDropped => {
                let hangs = async {
                    let _held = DropPanics;
                    pending::<()>().await;
                };
                held.run(hangs).await.unwrap_err();
            }
            HoldsTooLong => {
                held.lost().await;
                assert!(held.is_lost() && held.run(async {}).await.is_err());
                // The store counts from when it granted the lock, the guard from when it was requested.
                assert_ne!(site.release(held).await, ReleaseOutcome::Unconfirmed);
            }
            Leaks => site.leak(held),
            _ => {
                let _held = held;
                panic!("on purpose");
            }
        }
    }

    /// The caller's closure panics when one of two locks is held.
    async fn panics_between_locks(self) {
        let (names, terms) = ([&*self.request.name, "the last one"], self.request.terms);
        let called = AtomicU64::new(0);
        let with = |lock: evenkeel::lock::LockBuilder| {
            assert_eq!(called.fetch_add(1, SeqCst), 0, "on purpose");
            lock.terms(terms.clone())
        };
        drop(self.site.keel(self.process).lock_many(&names, with).await);
    }

    /// A task of its own hangs in `run`, and is aborted.
    async fn be_aborted(self, while_holding: bool) {
        let polls = self.polls;
        let (holds, is_held) = oneshot::channel();
        let task = tokio::spawn(async move {
            let held = self.site.acquire(self.process, &self.request).await;
            holds.send(()).unwrap();
            let _ = held.run(pending::<()>()).await;
            // A pause of the process may have ended the lock before.
            pending::<()>().await;
        });
        if while_holding {
            is_held.await.unwrap();
        }
        for _ in 0..polls {
            yield_now().await;
        }
        task.abort();
        let ended = task.await;
        assert!(ended.as_ref().is_err_and(|error| error.is_cancelled()), "{ended:?}");
    }
}

/// Acquires and releases a lock that no hostile caller requests, again and again.
struct Neighbor {
    task: JoinHandle<()>,
    holds: Arc<AtomicU64>,
}

impl Neighbor {
    /// Two neighbors contend for each lock.
    fn begin(site: &Arc<Site>, number: usize, is_over: &Arc<AtomicBool>) -> Self {
        let family = FAMILIES[number % FAMILIES.len()];
        let request = Request::new(family, "steady").terms(|terms| terms.ttl(LONG).max_hold(None));
        let (site, is_over, holds) = (Arc::clone(site), Arc::clone(is_over), Arc::new(AtomicU64::new(0)));
        let count = Arc::clone(&holds);
        let task = tokio::spawn(async move {
            for turn in number.. {
                if is_over.load(SeqCst) {
                    return;
                }
                let request = if turn % 3 == 0 { request.clone().smallest() } else { request.clone() };
                let held = site.acquire(number, &request).await;
                yield_now().await;
                assert_eq!(held.run(async { turn }).await, Ok(turn), "{request:?}");
                assert_eq!(site.release(held).await, ReleaseOutcome::Released, "{request:?}");
                count.fetch_add(1, SeqCst);
                yield_now().await;
            }
        });
        Self { task, holds }
    }

    fn holds(&self) -> u64 {
        self.holds.load(SeqCst)
    }
}
