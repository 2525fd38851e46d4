//! Three processes on one Redis and one database, each behind its own proxy; their history is collected while it happens, so
//! that it includes what a killed process did.

use super::faults::{At, Faults, PROCESSES};
use super::worker::{Plan, Report};
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};
use std::collections::HashMap;
use tempfile::TempDir;
use testkit::history::{Act, History, Operation};
use testkit::park::SharedRedis;
use testkit::process::Worker;
use testkit::proxy::Proxy;

/// A fleet that has not begun.
pub(super) struct Fleet {
    workers: Vec<Worker>,
    proxies: Vec<Proxy>,
    _folder: TempDir,
}

/// The result of a history.
#[derive(Debug, Default)]
pub(super) struct Played {
    pub(super) history: History<u64>,
    /// Fresh reads served by the store, and those served by the loader.
    pub(super) from_store: u64,
    pub(super) from_loader: u64,
    pub(super) failed_reads: u64,
    /// Writes that were acknowledged, those that were rejected or rolled back, and those with an unknown outcome.
    pub(super) acknowledged: u64,
    pub(super) refused: u64,
    pub(super) unknown: u64,
    /// Commits that were acknowledged after their window had expired.
    pub(super) late: u64,
    pub(super) killed: bool,
    pub(super) paused: bool,
}

/// A running history.
struct Play<'a> {
    workers: Vec<Worker>,
    faults: &'a Faults,
    played: Played,
    /// Writes whose end is not yet known, by process and number.
    pending: HashMap<(usize, u64), Operation<u64>>,
    begun: [u32; PROCESSES],
    committed: [u32; PROCESSES],
    runs: [bool; PROCESSES],
    killed: Option<usize>,
    /// The paused process, and the number of operations until it continues.
    paused: Option<(usize, u32)>,
}

impl Fleet {
    pub(super) async fn start(server: &SharedRedis, seed: u64, mutant: Option<&str>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("rows.sqlite");
        create(&database).await;
        let port = server.url.rsplit(':').next().unwrap().split('/').next().unwrap().parse().unwrap();
        let environment: Vec<(&str, &str)> = mutant.map(|name| ("EVENKEEL_MUTANT", name)).into_iter().collect();
        let (mut workers, mut proxies) = (Vec::new(), Vec::new());
        for process in 0..PROCESSES {
            let proxy = Proxy::start(port, seed).await.unwrap();
            let url = proxy.url(&server.url);
            let plan =
                Plan { seed, process, url, prefix: format!("{}s{seed}", server.prefix), database: database.clone() };
            let mut worker = Worker::start_with("cache::histories::worker::process", &environment).unwrap();
            worker.say(&plan).unwrap();
            workers.push(worker);
            proxies.push(proxy);
        }
        for worker in &mut workers {
            assert!(matches!(worker.receive().await.unwrap(), Report::Ready));
        }
        Self { workers, proxies, _folder: folder }
    }

    /// Starts all processes, and receives their messages until the last one has ended.
    pub(super) async fn play(self, faults: &Faults) -> Played {
        let Self { mut workers, proxies, _folder } = self;
        for worker in &mut workers {
            worker.say(&()).unwrap();
        }
        let [one, two, three] = &proxies[..] else { panic!("three proxies") };
        let [first, second, third] = &faults.connections;
        let mut play = Play {
            workers,
            faults,
            played: Played::default(),
            pending: HashMap::new(),
            begun: [0; PROCESSES],
            committed: [0; PROCESSES],
            runs: [true; PROCESSES],
            killed: None,
            paused: None,
        };
        let (_, a, b, c) = tokio::join!(play.listen(), one.play(first), two.play(second), three.play(third));
        a.and(b).and(c).unwrap();
        play.finish()
    }
}

impl Play<'_> {
    async fn listen(&mut self) {
        while self.runs.contains(&true) {
            let listens =
                |process: usize| self.runs[process] && self.paused.is_none_or(|(paused, _)| paused != process);
            let listening: [bool; PROCESSES] = [listens(0), listens(1), listens(2)];
            let [one, two, three] = &mut self.workers[..] else { panic!("three workers") };
            let (process, report) = tokio::select! {
                report = one.receive::<Report>(), if listening[0] => (0, report),
                report = two.receive::<Report>(), if listening[1] => (1, report),
                report = three.receive::<Report>(), if listening[2] => (2, report),
            };
            match report {
                Ok(Report::Done) => self.runs[process] = false,
                Ok(report) => self.note(process, report),
                // All messages that it sent before it was killed have been received now.
                Err(_) if self.killed == Some(process) => self.runs[process] = false,
                Err(error) => panic!("{error:#}"),
            }
            self.resume_when_due(process);
        }
    }

    fn note(&mut self, process: usize, report: Report) {
        match report {
            Report::Ready | Report::Done => {}
            Report::Read { operation, from_store } => {
                *if from_store { &mut self.played.from_store } else { &mut self.played.from_loader } += 1;
                self.played.history.0.push(operation);
            }
            Report::ReadFailed => self.played.failed_reads += 1,
            Report::Writing { number, operation } => {
                self.pending.insert((process, number), operation);
                self.begun[process] += 1;
                self.strike(process, self.begun[process], false);
            }
            Report::Committed { is_covered } => {
                self.played.late += u64::from(!is_covered);
                self.committed[process] += 1;
                self.strike(process, self.committed[process], true);
            }
            Report::Acknowledged { number, at } => {
                if let Some(write) = self.pending.remove(&(process, number)) {
                    self.played.history.0.push(Operation { returned: Some(at), ..write });
                    self.played.acknowledged += 1;
                }
            }
            Report::Refused { number } => {
                self.pending.remove(&(process, number));
                self.played.refused += 1;
            }
        }
    }

    /// Stops or kills the process, if this is the moment.
    fn strike(&mut self, process: usize, write: u32, is_committed: bool) {
        let is_now = |at: &At| (at.process, at.write, at.is_committed) == (process, write, is_committed);
        if self.faults.kill.is_some_and(|at| is_now(&at)) {
            self.workers[process].process().kill().unwrap();
            (self.killed, self.played.killed) = (Some(process), true);
        } else if let Some((_, others)) = self.faults.pause.filter(|(at, _)| is_now(at)) {
            self.workers[process].process().pause().unwrap();
            (self.paused, self.played.paused) = (Some((process, others)), true);
        }
    }

    fn resume_when_due(&mut self, report: usize) {
        let Some((paused, left)) = &mut self.paused else { return };
        if report != *paused {
            *left = left.saturating_sub(1);
        }
        // If the last running process is paused, no other process sends a message that could resume it.
        let others_run = (0..PROCESSES).any(|process| process != *paused && self.runs[process]);
        if *left == 0 || !others_run {
            self.workers[*paused].process().resume().unwrap();
            self.paused = None;
        }
    }

    /// An operation that began and has no end may have happened: its outcome is unknown.
    fn finish(mut self) -> Played {
        self.played.unknown = self.pending.len() as u64;
        self.played.history.0.extend(self.pending.into_values());
        self.played
    }
}

impl Played {
    pub(super) fn reads(&self) -> u64 {
        let is_read = |operation: &&Operation<u64>| matches!(operation.act, Act::Read(_));
        self.history.0.iter().filter(is_read).count() as u64
    }
}

async fn create(database: &std::path::Path) {
    // A write-ahead log survives a killed process; power failures are not tested.
    let options = SqliteConnectOptions::new().filename(database).create_if_missing(true);
    let options = options.journal_mode(sqlx::sqlite::SqliteJournalMode::Wal);
    let pool = SqlitePoolOptions::new().max_connections(1).connect_with(options).await.unwrap();
    sqlx::query("CREATE TABLE rows (key TEXT PRIMARY KEY, version INTEGER NOT NULL)").execute(&pool).await.unwrap();
    pool.close().await;
}
