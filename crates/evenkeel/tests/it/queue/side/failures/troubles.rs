//! Failures of Redis while consumers work: they continue by themselves, no job is lost, and the log has one line at the
//! beginning and one at the end.

use crate::log::Log;
use evenkeel::Keel;
use evenkeel::link::LinkState;
use evenkeel::queue::{Delivery, Queue, QueueError};
use std::collections::BTreeSet;
use std::time::Duration;
use testkit::servers::{Redis, RedisOptions};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Far above the duration of any step.
const TIMEOUT: Duration = Duration::from_secs(50);
const JOBS: u32 = 40;

/// The log lines of an outage.
const OUTAGE: [&str; 2] = ["link is down", "link is up"];

/// A busy consumer: ten jobs are done, ten are held by their handlers, twenty are not yet due.
struct Work {
    log: Log,
    redis: Redis,
    keel: Keel,
    queue: Queue<u32>,
    done: mpsc::UnboundedReceiver<u32>,
    gate: watch::Sender<bool>,
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), QueueError>>,
}

impl Work {
    async fn begin() -> Self {
        let log = Log::begin();
        let redis = Redis::start(RedisOptions::new().append_only()).await.unwrap();
        let url = format!("{}?response_timeout_ms=300&connect_timeout_ms=300&heartbeat_ms=100", redis.url());
        let keel = Keel::connect(&url).await.unwrap();
        let queue: Queue<u32> = keel.queue("work").shards(2).open().await.unwrap();
        let (sender, mut done) = mpsc::unbounded_channel();
        let (gate, gated) = watch::channel(false);
        let consumer = queue.consume(move |job: Delivery<u32>| {
            let (sender, mut gated) = (sender.clone(), gated.clone());
            async move {
                if job.body >= 10 {
                    gated.wait_for(|open| *open).await.map_err(|error| error.to_string())?;
                }
                sender.send(job.body).map_err(|error| error.to_string())
            }
        });
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(consumer.concurrency(10).run(async {
            let _ = stopped.await;
        }));
        let numbers: Vec<u32> = (0..10).collect();
        queue.enqueue_all(numbers.iter().map(|number| queue.job(number))).await.unwrap();
        for _ in 0..10 {
            timeout(TIMEOUT, done.recv()).await.unwrap().unwrap();
        }
        let numbers: Vec<u32> = (10..JOBS).collect();
        queue.enqueue_all(numbers.iter().map(|number| queue.job(number))).await.unwrap();
        log.forget();
        Self { log, redis, keel, queue, done, gate, stop, task }
    }

    /// Waits until the link has noticed that it is down.
    async fn down(&self) {
        let mut state = self.keel.link().unwrap().state();
        let is_down = |state: &LinkState| matches!(state, LinkState::Down { .. });
        timeout(TIMEOUT, state.wait_for(is_down)).await.unwrap().unwrap();
    }

    /// Lets waiting handlers end.
    fn open_the_gate(&self) {
        self.gate.send_replace(true);
    }

    /// Waits until all jobs are done, and a later one, too; `read` contains the log lines.
    async fn ends_well(mut self, read: &[&str]) {
        self.open_the_gate();
        let mut left: BTreeSet<u32> = (10..JOBS).collect();
        while !left.is_empty() {
            let number = timeout(TIMEOUT, self.done.recv()).await;
            left.remove(&number.unwrap_or_else(|_| panic!("never done: {left:?}")).unwrap());
        }
        let mut state = self.keel.link().unwrap().state();
        let is_up = |state: &LinkState| matches!(state, LinkState::Up { .. });
        timeout(TIMEOUT, state.wait_for(is_up)).await.unwrap().unwrap();
        self.queue.job(&JOBS).id("after").enqueue().await.unwrap();
        while timeout(TIMEOUT, self.done.recv()).await.unwrap().unwrap() != JOBS {}
        self.log.says(read);
        self.stop.send(()).unwrap();
        timeout(TIMEOUT, self.task).await.unwrap().unwrap().unwrap();
    }
}

// shows: Q1
#[tokio::test]
async fn queue_survives_a_kill_of_redis_with_append_only_file() {
    let mut work = Work::begin().await;
    work.redis.kill().unwrap();
    work.down().await;
    work.open_the_gate();
    work.redis.restart().await.unwrap();
    work.ends_well(&OUTAGE).await;
}

// shows: Q1
#[tokio::test]
async fn queue_survives_a_silent_redis() {
    let mut work = Work::begin().await;
    work.redis.pause().unwrap();
    work.open_the_gate();
    work.down().await;
    work.redis.resume().unwrap();
    work.ends_well(&OUTAGE).await;
}

/// Ten seconds are longer than any timeout here, and shorter than a lease.
// shows: Q1
#[tokio::test]
async fn queue_survives_ten_silent_seconds_of_redis() {
    let work = Work::begin().await;
    work.redis.command::<()>(&["CLIENT", "PAUSE", "10000", "ALL"]).await.unwrap();
    work.open_the_gate();
    work.down().await;
    work.ends_well(&OUTAGE).await;
}

// shows: Q1
#[tokio::test]
async fn queue_survives_demotion_and_promotion_of_redis() {
    let work = Work::begin().await;
    work.redis.command::<()>(&["REPLICAOF", "127.0.0.1", "1"]).await.unwrap();
    work.open_the_gate();
    work.down().await;
    work.redis.command::<()>(&["REPLICAOF", "NO", "ONE"]).await.unwrap();
    work.ends_well(&OUTAGE).await;
}

// shows: Q1
#[tokio::test]
async fn queue_survives_loss_of_scripts_under_load() {
    let work = Work::begin().await;
    work.redis.command::<()>(&["FUNCTION", "FLUSH"]).await.unwrap();
    work.redis.command::<()>(&["SCRIPT", "FLUSH"]).await.unwrap();
    work.ends_well(&["Redis lost its functions"]).await;
}

/// A queue that cannot be drained because it is full stays full.
// shows: Q1
#[tokio::test]
async fn queue_drains_while_redis_is_out_of_memory() {
    let mut work = Work::begin().await;
    work.redis.command::<()>(&["CONFIG", "SET", "maxmemory", "1"]).await.unwrap();
    let refused = work.queue.now(&99).await.unwrap_err();
    assert!(refused.is_retryable() && !refused.outcome_unknown(), "{refused}");
    work.open_the_gate();
    for _ in 10..JOBS {
        timeout(TIMEOUT, work.done.recv()).await.unwrap().unwrap();
    }
    // All held and waiting jobs are done, and their last settlements are sent.
    work.redis.command::<()>(&["CONFIG", "SET", "maxmemory", "0"]).await.unwrap();
    work.queue.job(&JOBS).id("after").enqueue().await.unwrap();
    assert_eq!(timeout(TIMEOUT, work.done.recv()).await.unwrap(), Some(JOBS));
    work.log.says(&["Redis is out of memory", "Redis has memory again"]);
    work.stop.send(()).unwrap();
    timeout(TIMEOUT, work.task).await.unwrap().unwrap().unwrap();
}
