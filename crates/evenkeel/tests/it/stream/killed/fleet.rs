//! Consumer processes that are killed or stopped one after another; a killed one is replaced at once.

use super::flush::{self, Server};
use super::ledger::{Ledger, Step, Tally};
use super::registered;
use evenkeel::Keel;
use evenkeel::link::LinkOptions;
use evenkeel::stream::admin::{DeadLetters, LetterFilter};
use evenkeel::stream::{Entry, Handled, OnFailure, RetryDelay, Stream};
use serde::{Deserialize, Serialize};
use sqlx::sqlite::SqlitePool;
use std::collections::{HashSet, VecDeque};
use std::ops::Range;
use std::time::{Duration, Instant};
use testkit::eventually_within;
use testkit::process::{Station, Worker};
use tokio::sync::watch;

const PARTITIONS: u16 = 8;
/// Short, to keep the test short.
const LEASE: Duration = Duration::from_secs(1);
/// How long a process is stopped: its partitions have another owner then.
const STOP: Duration = Duration::from_millis(2_500);
/// Entries appended in one call.
const BULK: usize = 500;
/// Of a hundred entries of a key one fails for good, and each of these fails once.
const POISON: u32 = 57;
const FAILS_ONCE: [u32; 2] = [13, 71];
/// Longer than any run takes.
const TIMEOUT: Duration = Duration::from_secs(3_000);

/// When the next process is killed or stopped.
pub(super) enum Pace {
    /// So many faults, each after its share of the entries: the pace differs from machine to machine.
    Shares(usize),
    /// One at this interval, until all entries are settled.
    Every(Duration),
}

/// The configuration of a process.
#[derive(Clone, Serialize, Deserialize)]
struct Open {
    url: String,
    prefix: String,
    ledger: String,
    /// The file of the database in which the stream is registered, if it is.
    registered: Option<String>,
}

/// The processes, the oldest first, and the stream they handle.
pub(super) struct Fleet {
    open: Open,
    keel: Keel,
    /// The database in which the stream is registered, if it is.
    database: Option<SqlitePool>,
    stream: Stream<Step>,
    ledger: Ledger,
    appended: HashSet<Step>,
    /// What Redis held when it was flushed.
    flushed: HashSet<Step>,
    keys: usize,
    workers: VecDeque<Worker>,
    kills: usize,
    stops: usize,
    trimmed: u64,
    started: Instant,
    server: Server,
    _folder: tempfile::TempDir,
}

impl Fleet {
    pub(super) async fn start(keys: usize, workers: usize, server: Server, is_registered: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger").to_string_lossy().into_owned();
        let registered = is_registered.then(|| format!("{path}-outbox"));
        let open = Open { url: server.url(), prefix: server.prefix(), ledger: path, registered };
        let keel = connect(&open).await;
        let database = database(&open).await;
        let (ledger, stream) = (Ledger::open(&keel, &open.ledger).await, stream(&keel, database.as_ref()).await);
        ledger.create().await;
        let mut fleet = Self {
            open,
            keel,
            database,
            stream,
            ledger,
            appended: HashSet::new(),
            flushed: HashSet::new(),
            keys,
            workers: VecDeque::new(),
            kills: 0,
            stops: 0,
            trimmed: 0,
            started: Instant::now(),
            server,
            _folder: folder,
        };
        (0..workers).for_each(|_| fleet.add());
        fleet
    }

    /// Appends entries while the consumers handle them.
    pub(super) async fn append(&mut self, entries: usize) {
        let appended = self.send(0..entries).await;
        self.appended.extend(appended);
    }

    /// The same, and flushes Redis when half of the entries are appended and some are handled, while others are appended.
    pub(super) async fn append_around_a_flush(&mut self, entries: usize) {
        let Server::Own(server) = &self.server else { panic!("a shared Redis is not flushed") };
        let before = self.send(0..entries / 2).await;
        let is_some_way = || async { (self.ledger.count().await >= entries / 8).then_some(()) };
        eventually_within(TIMEOUT, "entries are handled", is_some_way).await.unwrap();
        let (flushed, meanwhile) = tokio::join!(flush::flush(server), self.send(entries / 2..entries * 3 / 4));
        let after = self.send(entries * 3 / 4..entries).await;
        self.flushed = if self.database.is_some() { registered::only_letters(flushed) } else { flushed };
        self.appended.extend([before, meanwhile, after].concat());
    }

    /// The entries of this part, whose keys take turns, all acknowledged.
    async fn send(&self, part: Range<usize>) -> Vec<Step> {
        let step = |entry: usize| -> Step {
            (u32::try_from(entry % self.keys).unwrap(), u32::try_from(entry / self.keys).unwrap())
        };
        let steps: Vec<Step> = part.map(step).collect();
        for part in steps.chunks(BULK) {
            if let Some(database) = &self.database {
                registered::append(&self.keel, database, &self.stream, part).await;
                continue;
            }
            let new = part.iter().map(|step| self.stream.entry(step.0.to_string(), step));
            for appended in self.stream.append_many(new).await.unwrap() {
                appended.unwrap();
            }
        }
        steps
    }

    /// Until every entry is settled.
    pub(super) async fn work(&mut self, pace: &Pace) {
        match pace {
            Pace::Shares(faults) => {
                for fault in 0..*faults {
                    let goal = self.appended.len() * 9 / 10 * (fault + 1) / (faults + 1);
                    let ledger = &self.ledger;
                    let goes_on = || async { (ledger.count().await >= goal).then_some(()) };
                    eventually_within(TIMEOUT, "the work goes on", goes_on).await.unwrap();
                    self.disturb().await;
                }
            }
            Pace::Every(span) => {
                while tokio::time::timeout(*span, self.all_settled()).await.is_err() {
                    self.disturb().await;
                }
            }
        }
        self.all_settled().await;
        self.trim().await;
    }

    /// The counts of the ledger.
    pub(super) async fn end(self) -> Tally {
        let seconds = self.started.elapsed().as_secs_f64();
        for worker in self.workers {
            worker.finish().await.unwrap();
        }
        let dead = letters(&self.stream.admin().dead("billing").unwrap()).await;
        let losses = self.stream.admin().losses(1_000).await.unwrap();
        let sent_again = losses.iter().map(|loss| loss.sent_again).sum();
        let Self { kills, stops, keys, trimmed, .. } = self;
        let tally = self.ledger.tally(&self.appended, &self.flushed, &dead).await;
        Tally { kills, stops, keys, trimmed, sent_again, seconds, ..tally }
    }

    async fn all_settled(&self) {
        let settled = || async {
            // Twice, because a recovery may move entries back into the outbox in between.
            let is_settled =
                self.groups_are_settled().await && self.all_sent().await && self.groups_are_settled().await;
            is_settled.then_some(())
        };
        eventually_within(TIMEOUT, "all entries are settled", settled).await.unwrap();
    }

    async fn groups_are_settled(&self) -> bool {
        let groups = self.stream.admin().groups().await.unwrap();
        !groups.is_empty()
            && groups.iter().all(|group| !group.is_missing() && group.pending() == 0 && group.lag().is_none())
    }

    async fn all_sent(&self) -> bool {
        match &self.database {
            Some(database) => registered::all_sent(database).await,
            None => true,
        }
    }

    /// Kills the oldest process, or stops it for longer than its leases, in turn. Both move partitions to other processes. Then trims.
    async fn disturb(&mut self) {
        let mut worker = self.workers.pop_front().unwrap();
        if (self.kills + self.stops).is_multiple_of(2) {
            worker.process().kill().unwrap();
            self.kills += 1;
            self.add();
        } else {
            worker.process().pause().unwrap();
            // The others may settle everything before the stop is over.
            let _ = tokio::time::timeout(STOP, self.all_settled()).await;
            worker.process().resume().unwrap();
            self.stops += 1;
            self.workers.push_back(worker);
        }
        self.trim().await;
    }

    /// Removes what is settled. After a flush only once the group is registered again: before, no group keeps an entry.
    async fn trim(&mut self) {
        if self.stream.admin().groups().await.unwrap().is_empty() {
            return;
        }
        self.trimmed += self.stream.admin().trim(Duration::ZERO).await.unwrap();
    }

    fn add(&mut self) {
        let mut process = Worker::start("stream::killed::fleet::consumer").unwrap();
        process.say(&self.open).unwrap();
        self.workers.push_back(process);
    }
}

async fn connect(open: &Open) -> Keel {
    let mut options = LinkOptions::from_url(&open.url).unwrap();
    options.prefix.clone_from(&open.prefix);
    Keel::builder().connect_with(options).await.unwrap()
}

async fn database(open: &Open) -> Option<SqlitePool> {
    match &open.registered {
        Some(path) => Some(registered::database(path).await),
        None => None,
    }
}

async fn stream(keel: &Keel, database: Option<&SqlitePool>) -> Stream<Step> {
    let builder = keel.stream("orders").partitions(PARTITIONS);
    let builder = if let Some(database) = database { builder.sql(database) } else { builder };
    builder.open().await.unwrap()
}

/// Whether the entry fails for good.
pub(super) fn is_poison(step: &Step) -> bool {
    step.1 % 100 == POISON
}

/// The entries of all dead letters.
async fn letters(dead: &DeadLetters) -> Vec<Step> {
    let (mut steps, mut after) = (Vec::new(), None);
    loop {
        let page = dead.page(&LetterFilter::default(), after, 500).await.unwrap();
        let values = page.letters.iter().map(|(_, letter)| DeadLetters::value_of(letter).unwrap());
        steps.extend(values.map(|value| serde_json::from_slice::<Step>(&value).unwrap()));
        after = page.next;
        if after.is_none() {
            return steps;
        }
    }
}

/// A process that consumes until it is shut down or killed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a worker of `entries_are_handled_in_order_when_consumers_are_killed`"]
async fn consumer() {
    let Some(mut station) = Station::open().unwrap() else { return };
    let open: Open = station.receive().await.unwrap();
    let keel = connect(&open).await;
    let (ledger, database) = (Ledger::open(&keel, &open.ledger).await, database(&open).await);
    let group = stream(&keel, database.as_ref()).await.group("billing").per_key(OnFailure::BlockKey).lease(LEASE);
    let group = group.retries(3).crashes_max(u8::MAX).retry_delay(RetryDelay::fixed(Duration::from_millis(50)));
    let consumer = group.handle(move |entry: Entry<Step>| {
        let ledger = ledger.clone();
        async move {
            if is_poison(&entry.value) {
                return Ok(Handled::Dead("poison".to_owned()));
            }
            if FAILS_ONCE.contains(&(entry.value.1 % 100)) && entry.attempt == 1 {
                return Err("no route to host".to_owned());
            }
            ledger.write(&entry).await.map_err(|error| error.to_string())?;
            Ok(Handled::Done)
        }
    });
    let (end, mut ended) = watch::channel(false);
    let consumed = async {
        consumer.concurrency(8).drain(Duration::from_secs(2)).run(station.until_finish()).await.unwrap();
        end.send_replace(true);
    };
    let relayed = async {
        if let Some(database) = &database {
            let end = async { drop(ended.wait_for(|ended| *ended).await) };
            registered::relay(&keel, database, end).await;
        }
    };
    tokio::join!(consumed, relayed);
}
