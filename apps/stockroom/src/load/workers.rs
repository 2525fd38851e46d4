//! [`Servers`]: a load of several processes that share a Redis and a database; they are paused and killed.

use super::drive::drive;
use super::here::{demonstration, products};
use super::slice::{Load, Slice};
use super::{Ended, Tally};
use crate::domain::Strategy;
use crate::service::Service;
use crate::store::Store;
use crate::strategy::{LockTerms, Stall, Stalls, Tools};
use anyhow::{Context, Result, bail};
use evenkeel::Keel;
use evenkeel::clock::Clock;
use evenkeel::lock::Redlock;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{Read, Write};
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdout, Command};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use uuid::Uuid;
use web::DatabaseUrl;

/// Locks that products share under `striped`.
const STRIPES: u32 = 16;

/// Locks of a load of processes.
const TERMS: LockTerms =
    LockTerms { ttl: Duration::from_secs(1), max_hold: Duration::from_secs(60), wait: Duration::from_secs(60) };

/// How long a worker stands still: longer than its locks last.
const PAUSE: Duration = Duration::from_millis(1_500);

/// After how many tenths of a load something happens to a worker: by turns it is paused and killed.
const FAULTS: u64 = 10;

/// What a worker tells at once.
const BATCH: usize = 50;

/// A stockroom on servers, and the means to start more processes on them.
pub struct Servers {
    database: String,
    redis: String,
    redlock: Vec<String>,
    service: Service,
    store: Store,
    keel: Keel,
}

/// What a worker was heard to say.
enum Heard {
    Ended(u64, Vec<Ended>),
    Gone(u64),
}

struct Worker {
    id: u64,
    slice: Slice,
    child: Child,
    told: u64,
    is_killed: bool,
}

impl Servers {
    /// Connects.
    ///
    /// # Errors
    /// One sentence on what is in the way.
    pub async fn new(database: &str, redis: &str, redlock: &[String], cap: i64) -> Result<Self> {
        let (service, store, keel) = open(database, redis, redlock, cap).await?;
        let (database, redis) = (database.to_owned(), redis.to_owned());
        Ok(Self { database, redis, redlock: redlock.to_vec(), service, store, keel })
    }

    /// Closes what is open.
    pub async fn close(self) {
        self.keel.shutdown(Duration::from_secs(1)).await;
        self.store.close().await;
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
            crew.push(self.start(id, slice, &say)?);
        }
        let mut tally = Tally::new()?;
        let ended = |ended: Ended| {
            tally.add(ended);
            done(1);
        };
        let (paused, killed) = self.watch(load, crew, &say, &mut heard, ended).await?;
        (tally.paused, tally.killed) = (paused, killed);
        Ok((tally, products))
    }

    /// Listens to the workers until all have ended, and does to them what happens to processes; how many were paused and killed.
    async fn watch(
        &self,
        load: &Load,
        mut crew: Vec<Worker>,
        say: &UnboundedSender<Heard>,
        heard: &mut UnboundedReceiver<Heard>,
        mut ended: impl FnMut(Ended),
    ) -> Result<(u64, u64)> {
        let (mut total, mut faults, mut struck) = (0, 0, (0, 0));
        while !crew.is_empty() {
            match heard.recv().await.context("nobody is left to hear")? {
                Heard::Ended(id, batch) => {
                    let count = u64::try_from(batch.len()).unwrap_or(u64::MAX);
                    total += count;
                    batch.into_iter().for_each(&mut ended);
                    if let Some(worker) = crew.iter_mut().find(|worker| worker.id == id) {
                        worker.told += count;
                    }
                }
                Heard::Gone(id) => {
                    let Some(at) = crew.iter().position(|worker| worker.id == id) else { continue };
                    let mut worker = crew.swap_remove(at);
                    let status = worker.child.wait().await?;
                    let left = worker.slice.operations.saturating_sub(worker.told);
                    if worker.is_killed && left > 0 {
                        // Another one goes on with what it did not come to.
                        let slice =
                            Slice { operations: left, seed: worker.slice.seed.wrapping_add(1_000_000), ..worker.slice };
                        crew.push(self.start(id, slice, say)?);
                    } else if !worker.is_killed && !status.success() {
                        bail!("a worker ended by itself ({status})");
                    }
                }
            }
            if total * FAULTS >= load.operations * (faults + 1) && faults + 1 < FAULTS {
                let victim = usize::try_from(faults).unwrap_or(0) % crew.len().max(1);
                if let Some(worker) = crew.get_mut(victim) {
                    let is_fatal = faults % 2 == 1;
                    strike(worker, is_fatal)?;
                    if is_fatal { struck.1 += 1 } else { struck.0 += 1 }
                }
                faults += 1;
            }
        }
        Ok(struck)
    }

    fn start(&self, id: u64, slice: Slice, say: &UnboundedSender<Heard>) -> Result<Worker> {
        let program = std::env::current_exe().context("this program does not know where it is")?;
        let part = serde_json::to_string(&slice)?;
        let mut child = Command::new(program)
            .args(["load", "--part", &part])
            // Not as arguments: there may be passwords in them, and everybody can read those.
            .env("STOCKROOM_DATABASE", &self.database)
            .env("STOCKROOM_REDIS", &self.redis)
            .envs((!self.redlock.is_empty()).then(|| ("STOCKROOM_REDLOCK", self.redlock.join(","))))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("cannot start a worker")?;
        let out = child.stdout.take().context("a worker's output is piped")?;
        tokio::spawn(listen(id, out, say.clone()));
        Ok(Worker { id, slice, child, told: 0, is_killed: false })
    }
}

/// Pauses a worker for longer than its locks last, or kills it.
fn strike(worker: &mut Worker, is_fatal: bool) -> Result<()> {
    if is_fatal {
        worker.is_killed = true;
        return worker.child.start_kill().context("a worker cannot be killed");
    }
    let pid = worker.child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    // One that has ended needs no pause.
    let Some(pid) = pid else { return Ok(()) };
    kill_process(pid, Signal::STOP).context("a worker cannot be paused")?;
    tokio::spawn(async move {
        tokio::time::sleep(PAUSE).await;
        if let Err(error) = kill_process(pid, Signal::CONT) {
            tracing::debug!(%error, "a worker was gone when it was to go on");
        }
    });
    Ok(())
}

async fn listen(id: u64, out: ChildStdout, say: UnboundedSender<Heard>) {
    let mut lines = BufReader::new(out).lines();
    // A line that was cut off by a kill is not one.
    while let Ok(Some(line)) = lines.next_line().await {
        if let Ok(batch) = serde_json::from_str(&line) {
            let _ = say.send(Heard::Ended(id, batch));
        }
    }
    let _ = say.send(Heard::Gone(id));
}

/// What a worker does: its slice, told batch by batch on standard output.
///
/// # Errors
/// One sentence on what is in the way.
pub async fn work(slice: &Slice, database: &str, redis: &str, redlock: &[String]) -> Result<()> {
    std::thread::spawn(|| {
        // Ends when the process that started this one does, however that ends.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(1);
    });
    let (service, store, keel) = open(database, redis, redlock, slice.cap).await?;
    let mut batch = Vec::new();
    drive(&service, slice, false, &mut |ended| {
        batch.push(ended);
        if batch.len() >= BATCH {
            tell(&mut batch);
        }
    })
    .await?;
    tell(&mut batch);
    keel.shutdown(Duration::from_secs(1)).await;
    store.close().await;
    Ok(())
}

fn tell(batch: &mut Vec<Ended>) {
    if let Ok(line) = serde_json::to_string(batch) {
        let mut out = std::io::stdout().lock();
        // Whoever does not listen any more has ended.
        let _ = writeln!(out, "{line}").and_then(|()| out.flush());
    }
    batch.clear();
}

async fn open(database: &str, redis: &str, redlock: &[String], cap: i64) -> Result<(Service, Store, Keel)> {
    let url: DatabaseUrl = database.parse().context("the setting \"database\" is wrong")?;
    let store = Store::open(&url, Clock::system()).await;
    let store = store.with_context(|| format!("cannot open the database {url}"))?;
    let keel = Keel::connect(redis).await.context("cannot use Redis")?;
    let mut tools = Tools::new(keel.clone(), STRIPES)?;
    tools.cap = cap;
    tools.terms = TERMS;
    let urls: Vec<&str> = redlock.iter().map(String::as_str).collect();
    if !urls.is_empty() {
        tools.redlock = Some(Redlock::connect(&urls).await.context("cannot use the servers for redlock")?);
    }
    // A program that trusts its lock takes its time between reading and writing.
    tools.stalls = Stalls::new(|stall| async move {
        if stall == Stall::Read {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    });
    let service = Service::open(store.clone(), keel.clone(), tools, demonstration()?).await?;
    Ok((service, store, keel))
}

fn share(whole: u64, id: u64, workers: u64) -> u64 {
    whole / workers + u64::from(id < whole % workers)
}
