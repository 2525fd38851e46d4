//! [`Servers`]: a load of several processes that share a Redis and a database; they are paused and killed.

use super::Tally;
use super::here::{demonstration, products};
use super::slice::{Load, Slice};
use super::worker::{Heard, Worker};
use crate::domain::Strategy;
use crate::service::Service;
use crate::store::Store;
use crate::strategy::{LockTerms, Stalls, Tools};
use anyhow::{Context, Result, bail};
use evenkeel::Keel;
use evenkeel::clock::Clock;
use evenkeel::lock::Redlock;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use uuid::Uuid;
use web::DatabaseUrl;

/// Locks that products share under `striped`.
const STRIPES: u32 = 16;

/// Locks of a load of processes.
const TERMS: LockTerms =
    LockTerms { ttl: Duration::from_secs(1), max_hold: Duration::from_secs(60), wait: Duration::from_secs(60) };

/// After how many tenths of a load something happens to a worker: by turns it is paused and killed.
const FAULTS: u64 = 10;

/// Where the servers are.
#[derive(Clone, Debug)]
pub struct Addresses {
    /// `mysql://..` or `postgres://..`
    pub database: String,
    /// `redis://..` or `rediss://..`
    pub redis: String,
    /// Independent Redis servers; none: no load by `redlock`.
    pub redlock: Vec<String>,
}

/// A stockroom on servers, and the means to start more processes on them.
pub struct Servers {
    addresses: Addresses,
    service: Service,
}

impl Servers {
    /// Connects.
    ///
    /// # Errors
    /// One sentence on what is in the way.
    pub async fn new(addresses: Addresses, cap: i64) -> Result<Self> {
        let service = open(&addresses, cap, Stalls::default()).await?;
        Ok(Self { addresses, service })
    }

    /// Closes what is open.
    pub async fn close(self) {
        self.service.close().await;
    }

    pub(super) fn service(&self) -> &Service {
        &self.service
    }

    pub(super) async fn run(
        &self,
        load: &Load,
        strategy: Strategy,
        done: &mut (dyn FnMut(u64) + Send),
    ) -> Result<(Tally, Vec<String>)> {
        let run = Uuid::now_v7().simple().to_string();
        let products = products(&self.service, load, strategy, run.get(..12).unwrap_or_default()).await?;
        let whole = load.whole(strategy, products.clone());
        let workers = load.workers.clamp(1, load.operations.max(1));
        let (say, mut heard) = unbounded_channel();
        let mut crew = Vec::new();
        for id in 0..workers {
            let slice = Slice {
                operations: share(whole.operations, id, workers),
                in_flight: share(whole.in_flight, id, workers).max(1),
                seed: whole.seed.wrapping_mul(1_000).wrapping_add(id),
                ..whole.clone()
            };
            crew.push(Worker::start(&self.addresses, id, slice, &say)?);
        }
        let mut tally = Tally::new()?;
        self.watch(load, crew, &say, &mut heard, &mut tally, done).await?;
        Ok((tally, products))
    }

    /// Listens to the workers until all have ended, and does to them what happens to processes.
    async fn watch(
        &self,
        load: &Load,
        mut crew: Vec<Worker>,
        say: &UnboundedSender<Heard>,
        heard: &mut UnboundedReceiver<Heard>,
        tally: &mut Tally,
        done: &mut (dyn FnMut(u64) + Send),
    ) -> Result<()> {
        let (mut total, mut faults) = (0, 0);
        while !crew.is_empty() {
            match heard.recv().await.context("nobody is left to hear")? {
                Heard::Stopped => tally.paused += 1,
                Heard::Ended(id, batch) => {
                    let count = u64::try_from(batch.len()).unwrap_or(u64::MAX);
                    total += count;
                    done(count);
                    if let Some(worker) = crew.iter_mut().find(|worker| worker.id == id) {
                        worker.told += count;
                    }
                    batch.into_iter().for_each(|ended| tally.add(ended));
                }
                Heard::Gone(id) => {
                    let Some(at) = crew.iter().position(|worker| worker.id == id) else { continue };
                    let next = gone(crew.swap_remove(at), tally).await?;
                    if let Some(slice) = next {
                        crew.push(Worker::start(&self.addresses, id, slice, say)?);
                    }
                }
            }
            if total * FAULTS >= load.operations * (faults + 1) && faults + 1 < FAULTS {
                let alive: Vec<&mut Worker> = crew.iter_mut().filter(|worker| !worker.is_killed).collect();
                let victim = usize::try_from(faults).unwrap_or(0) % alive.len().max(1);
                if let Some(worker) = alive.into_iter().nth(victim) {
                    if faults % 2 == 0 { worker.pause(say).await? } else { worker.kill()? }
                }
                faults += 1;
            }
        }
        Ok(())
    }
}

/// What another one goes on with: what a worker that was killed did not come to.
async fn gone(mut worker: Worker, tally: &mut Tally) -> Result<Option<Slice>> {
    let (status, is_killed) = worker.end().await?;
    tally.killed += u64::from(is_killed);
    let left = worker.left();
    if worker.is_killed && left > 0 {
        let seed = worker.slice.seed.wrapping_add(1_000_000);
        return Ok(Some(Slice { operations: left, seed, ..worker.slice.clone() }));
    }
    if !worker.is_killed && !status.success() {
        bail!("a worker ended by itself ({status})");
    }
    Ok(None)
}

/// A stockroom on these servers, with the locks of a load.
pub(super) async fn open(addresses: &Addresses, cap: i64, stalls: Stalls) -> Result<Service> {
    let url: DatabaseUrl = addresses.database.parse().context("the setting \"database\" is wrong")?;
    let store = Store::open(&url, Clock::system()).await;
    let store = store.with_context(|| format!("cannot open the database {url}"))?;
    let keel = Keel::connect(&addresses.redis).await.context("cannot use Redis")?;
    let mut tools = Tools::new(keel.clone(), STRIPES)?;
    tools.cap = cap;
    tools.terms = TERMS;
    tools.stalls = stalls;
    let urls: Vec<&str> = addresses.redlock.iter().map(String::as_str).collect();
    if !urls.is_empty() {
        tools.redlock = Some(Redlock::connect(&urls).await.context("cannot use the servers for redlock")?);
    }
    Ok(Service::open(store, keel, tools, demonstration()?).await?)
}

fn share(whole: u64, id: u64, workers: u64) -> u64 {
    whole / workers + u64::from(id < whole % workers)
}
