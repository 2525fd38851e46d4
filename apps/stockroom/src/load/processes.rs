//! [`Processes`]: a load of several worker processes on a Redis and a database server. Workers are paused and killed.

use super::Tally;
use super::in_process::{options, products};
use super::share::{Load, Share};
use super::worker::{Event, Worker};
use crate::domain::Strategy;
use crate::service::Service;
use crate::store::Store;
use crate::strategy::{Pauses, StrategyContext};
use anyhow::{Context, Result, bail};
use evenkeel::Keel;
use evenkeel::clock::Clock;
use evenkeel::lock::{LockTerms, Redlock};
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use uuid::Uuid;
use web::DatabaseUrl;

/// Locks that products share under `striped`.
const STRIPES: u32 = 16;

/// After each of so many parts of a load a worker is paused or killed, in turns.
const FAULTS: u64 = 10;

/// The URLs of the servers.
#[derive(Clone, Debug)]
pub struct Urls {
    /// `mysql://..` or `postgres://..`
    pub database: String,
    /// `redis://..` or `rediss://..`
    pub redis: String,
    /// Independent Redis servers; if empty, `redlock` is skipped.
    pub redlock: Vec<String>,
}

/// A stockroom on servers, and the URLs for its worker processes.
pub struct Processes {
    urls: Urls,
    service: Service,
}

impl Processes {
    /// Connects to the servers.
    ///
    /// # Errors
    /// A server is unreachable.
    pub async fn new(urls: Urls, cap: i64) -> Result<Self> {
        let service = open(&urls, cap, Pauses::default()).await?;
        Ok(Self { urls, service })
    }

    pub(super) fn service(&self) -> &Service {
        &self.service
    }

    pub(super) async fn run(
        &self,
        load: &Load,
        strategy: Strategy,
        progress: &mut (dyn FnMut(u64) + Send),
    ) -> Result<(Tally, Vec<String>)> {
        let run = Uuid::now_v7().simple().to_string();
        let products = products(&self.service, load, strategy, run.get(..12).unwrap_or_default()).await?;
        let whole = load.whole(strategy, products.clone());
        let count = load.workers.clamp(1, load.operations.max(1));
        let (events, mut received) = unbounded_channel();
        let mut workers = Vec::new();
        for id in 0..count {
            let share = Share {
                operations: part(whole.operations, id, count),
                in_flight: part(whole.in_flight, id, count).max(1),
                seed: whole.seed.wrapping_mul(1_000).wrapping_add(id),
                ..whole.clone()
            };
            workers.push(Worker::start(&self.urls, id, share, &events)?);
        }
        let mut tally = Tally::new()?;
        self.supervise(load, workers, &events, &mut received, &mut tally, progress).await?;
        Ok((tally, products))
    }

    /// Receives the workers' events until all have exited, and injects faults.
    async fn supervise(
        &self,
        load: &Load,
        mut workers: Vec<Worker>,
        events: &UnboundedSender<Event>,
        received: &mut UnboundedReceiver<Event>,
        tally: &mut Tally,
        progress: &mut (dyn FnMut(u64) + Send),
    ) -> Result<()> {
        let (mut total, mut faults) = (0, 0);
        while !workers.is_empty() {
            match received.recv().await.context("the workers' channel is closed")? {
                Event::Paused => tally.counts.paused += 1,
                Event::Ended(id, batch) => {
                    let count = u64::try_from(batch.len()).unwrap_or(u64::MAX);
                    total += count;
                    progress(count);
                    if let Some(worker) = workers.iter_mut().find(|worker| worker.id == id) {
                        worker.ended += count;
                    }
                    batch.into_iter().for_each(|ended| tally.add(ended));
                }
                Event::Exited(id) => {
                    let Some(at) = workers.iter().position(|worker| worker.id == id) else { continue };
                    let rest = exited(workers.swap_remove(at), tally).await?;
                    if let Some(share) = rest {
                        workers.push(Worker::start(&self.urls, id, share, events)?);
                    }
                }
            }
            if total * FAULTS >= load.operations * (faults + 1) && faults + 1 < FAULTS {
                let alive: Vec<&mut Worker> = workers.iter_mut().filter(|worker| !worker.is_killed).collect();
                let victim = usize::try_from(faults).unwrap_or(0) % alive.len().max(1);
                if let Some(worker) = alive.into_iter().nth(victim) {
                    if faults % 2 == 0 { worker.pause(events).await? } else { worker.kill()? }
                }
                faults += 1;
            }
        }
        Ok(())
    }
}

/// The remaining share of a worker that was killed, for its replacement.
async fn exited(mut worker: Worker, tally: &mut Tally) -> Result<Option<Share>> {
    let (status, is_killed) = worker.wait().await?;
    tally.counts.killed += u64::from(is_killed);
    let remaining = worker.remaining();
    if worker.is_killed && remaining > 0 {
        let seed = worker.share.seed.wrapping_add(1_000_000);
        return Ok(Some(Share { operations: remaining, seed, ..worker.share.clone() }));
    }
    if !worker.is_killed && !status.success() {
        bail!("a worker process failed ({status})");
    }
    Ok(None)
}

/// Opens a stockroom on the servers.
pub(super) async fn open(urls: &Urls, cap: i64, pauses: Pauses) -> Result<Service> {
    let url: DatabaseUrl = urls.database.parse().context("the setting \"database\" is wrong")?;
    let store = Store::open(&url, Clock::system()).await;
    let store = store.with_context(|| format!("cannot open the database {url}"))?;
    let keel = Keel::connect(&urls.redis).await.context("cannot use Redis")?;
    let mut context = StrategyContext::new(keel.clone(), STRIPES)?;
    context.cap = cap;
    context.lock_terms = lock_terms();
    context.pauses = pauses;
    let redlock: Vec<&str> = urls.redlock.iter().map(String::as_str).collect();
    if !redlock.is_empty() {
        context.redlock = Some(Redlock::connect(&redlock).await.context("cannot use the servers for redlock")?);
    }
    Ok(Service::open(store, keel, context, options()?).await?)
}

fn part(whole: u64, id: u64, count: u64) -> u64 {
    whole / count + u64::from(id < whole % count)
}

/// Lock terms of a load of processes: the lease is shorter than a pause.
fn lock_terms() -> LockTerms {
    let minute = Duration::from_secs(60);
    LockTerms::default().ttl(Duration::from_secs(1)).max_hold(minute).wait(minute)
}
