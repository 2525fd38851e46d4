//! Consumer processes that are killed one after another, each replaced at once.

use super::ledger::{Effect, Ledger, Tally};
use evenkeel::Keel;
use evenkeel::link::LinkOptions;
use evenkeel::queue::{Delivery, JobId, Queue, QueueError, Retries};
use evenkeel_protocol::queue::job::ErrorClass;
use evenkeel_protocol::queue::steps::{Found, ReadStats};
use serde::{Deserialize, Serialize};
use std::collections::{HashSet, VecDeque};
use std::time::{Duration, Instant};
use testkit::park::{SharedRedis, redis};
use testkit::process::{Station, Worker};
use testkit::{eventually, eventually_within};

const SHARDS: u8 = 2;
/// Jobs sent in one call.
const BULK: usize = 10_000;
/// Longer than any run takes.
const TIMEOUT: Duration = Duration::from_secs(1_800);

/// When the next worker is killed.
pub(super) enum Pace {
    /// Kills, each after its share of the jobs: the pace differs from machine to machine.
    Times(usize),
    /// One kill at this interval, until all jobs are done.
    Every(Duration),
}

/// The configuration of a process.
#[derive(Clone, Serialize, Deserialize)]
struct Open {
    url: String,
    prefix: String,
    ledger: String,
    worker: usize,
}

/// The processes, the oldest first, and the queue they work on.
pub(super) struct Fleet {
    open: Open,
    queue: Queue<u64>,
    ledger: Ledger,
    sent: HashSet<JobId>,
    workers: VecDeque<(usize, Worker)>,
    killed: HashSet<usize>,
    started: Instant,
    _places: (SharedRedis, tempfile::TempDir),
}

impl Fleet {
    pub(super) async fn start(jobs: usize, workers: usize) -> Self {
        let (server, folder) = (redis().await.unwrap(), tempfile::tempdir().unwrap());
        let path = folder.path().join("ledger").to_string_lossy().into_owned();
        let open = Open { url: server.url.clone(), prefix: server.prefix.clone(), ledger: path, worker: 0 };
        let (ledger, queue) = (Ledger::open(&open.ledger).await, queue(&open).await);
        let numbers: Vec<u64> = (0..jobs as u64).collect();
        let mut sent = HashSet::new();
        for part in numbers.chunks(BULK) {
            let answers = queue.enqueue_all(part.iter().map(|number| queue.job(number))).await.unwrap();
            sent.extend(answers.iter().map(|sent| sent.id));
        }
        let mut fleet = Self {
            open,
            queue,
            ledger,
            sent,
            workers: VecDeque::new(),
            killed: HashSet::new(),
            started: Instant::now(),
            _places: (server, folder),
        };
        (0..workers).for_each(|_| fleet.add());
        fleet
    }

    /// Until all jobs have ended.
    pub(super) async fn work(&mut self, pace: &Pace) {
        match pace {
            Pace::Times(kills) => {
                for kill in 0..*kills {
                    let goal = self.sent.len() * (kill + 1) / (kills + 2);
                    let ledger = &self.ledger;
                    let goes_on = || async { (ledger.count().await >= goal).then_some(()) };
                    eventually("the work goes on", goes_on).await.unwrap();
                    self.kill();
                }
            }
            Pace::Every(span) => {
                while tokio::time::timeout(*span, self.all_done()).await.is_err() {
                    self.kill();
                }
            }
        }
        self.all_done().await;
    }

    /// The counts of the ledger.
    pub(super) async fn end(self) -> Tally {
        let seconds = self.started.elapsed().as_secs_f64();
        for (_, worker) in self.workers {
            worker.finish().await.unwrap();
        }
        let (mut lease_expiries, mut created) = (0, 0);
        for shard in 0..SHARDS {
            let (steps, shard) = self.queue.steps(&JobId([shard; 16]));
            let totals = steps.run(&shard, &ReadStats).await.unwrap().totals;
            assert_eq!((totals.died, totals.discarded, totals.ghosts), (0, 0, 0));
            lease_expiries += totals.lease_expired + totals.crashed;
            created += totals.created;
        }
        assert_eq!(created, self.sent.len() as u64);
        Tally { lease_expiries, seconds, ..self.ledger.tally(&self.sent, &self.killed).await }
    }

    async fn all_done(&self) {
        let queue = &self.queue;
        eventually_within(TIMEOUT, "all jobs have ended", || is_empty(queue)).await.unwrap();
    }

    fn kill(&mut self) {
        let (number, mut process) = self.workers.pop_front().unwrap();
        process.process().kill().unwrap();
        self.killed.insert(number);
        self.add();
    }

    fn add(&mut self) {
        let worker = self.killed.len() + self.workers.len();
        let mut process = Worker::start("queue::side::killed::fleet::consumer").unwrap();
        process.say(&Open { worker, ..self.open.clone() }).unwrap();
        self.workers.push_back((worker, process));
    }
}

async fn queue(open: &Open) -> Queue<u64> {
    let mut options = LinkOptions::from_url(&open.url).unwrap();
    options.prefix.clone_from(&open.prefix);
    let keel = Keel::builder().connect_with(options).await.unwrap();
    // A short lease, to keep the test short.
    let builder = keel.queue("work").shards(SHARDS.into()).visibility(Duration::from_secs(1));
    builder.retries(Retries::Unlimited).open().await.unwrap()
}

async fn is_empty(queue: &Queue<u64>) -> Option<()> {
    let mut left = 0;
    for shard in 0..SHARDS {
        let (steps, shard) = queue.steps(&JobId([shard; 16]));
        let stats = steps.run(&shard, &ReadStats).await.unwrap();
        left += stats.waiting.iter().sum::<u64>() + stats.leased + stats.dead;
    }
    (left == 0).then_some(())
}

/// The number of lease expiries in the job's record.
async fn lease_expiries(queue: &Queue<u64>, id: &JobId) -> Result<usize, QueueError> {
    // A job that has ended was settled by another delivery, and its record is gone.
    let Some(Found::Live { job, .. }) = queue.find(id).await? else { return Ok(0) };
    Ok(job.error_notes().filter(|note| matches!(note.class, ErrorClass::Crashed | ErrorClass::LeaseExpired)).count())
}

/// A process that consumes until it is shut down or killed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a worker of `no_job_is_lost_when_consumers_are_killed`"]
async fn consumer() {
    let Some(mut station) = Station::open().unwrap() else { return };
    let open: Open = station.receive().await.unwrap();
    let queue = queue(&open).await;
    let (ledger, worker) = (Ledger::open(&open.ledger).await, open.worker);
    let looking = queue.clone();
    let consumer = queue.consume(move |job: Delivery<u64>| {
        let (ledger, queue) = (ledger.clone(), looking.clone());
        async move {
            let lease_expiries = lease_expiries(&queue, &job.id).await.map_err(|error| error.to_string())?;
            let effect = Effect { job: job.id, fence: job.fence, worker, lease_expiries };
            ledger.write(&effect).await.map_err(|error| error.to_string())
        }
    });
    let consumer = consumer.concurrency(8).crashes_max(u8::MAX).crash_delay(Duration::from_millis(50));
    consumer.run(station.until_finish()).await.unwrap();
}
