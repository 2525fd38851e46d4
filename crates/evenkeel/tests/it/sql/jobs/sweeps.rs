//! The sweep of rows: what the store says of an end does not count against a live row, and it reads no more than it must.

use super::scripts_run;
use crate::sql::databases::{TestDatabase, Tested, on_each_database};
use evenkeel::Keel;
use evenkeel::queue::{Delivery, JobId, Queue};
use evenkeel_protocol::queue::QueueBackend;
use evenkeel_protocol::queue::job::{FORGET_MS, Retention};
use evenkeel_protocol::queue::steps::{
    Found, Heartbeat, Put, PutChange, Puts, Report, Revoke, SettleAndClaim, Settled, State,
};
use serde::{Deserialize, Serialize};
use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;
use testkit::conformance::queue::Consumer;
use testkit::proxy::Proxy;
use testkit::servers::{Redis, RedisOptions};
use tokio::sync::mpsc;

on_each_database! {
    rescue_makes_no_dead_letter_of_a_finished_job
    crashed_job_with_live_row_is_dead_without_running
    completion_in_store_alone_keeps_the_live_row
    withdrawal_in_store_alone_keeps_the_live_row
    large_bodies_are_restored_and_sent_only_when_needed
    failing_page_is_halved_down_to_one_job
    unreadable_row_does_not_stop_the_sweep
    only_one_process_sweeps_at_a_time
    panic_in_the_drop_of_a_body_frees_its_lease
}

const HOUR: Duration = Duration::from_secs(3_600);
const MIB: usize = 1024 * 1024;

struct Stage {
    redis: Redis,
    queue: Queue<String>,
}

impl Stage {
    async fn open<DB: Tested>(place: &TestDatabase<DB>) -> Self {
        let redis = Redis::start(RedisOptions::new()).await.unwrap();
        let keel = Keel::connect(&format!("{}?response_timeout_ms=15000", redis.url())).await.unwrap();
        let queue = keel.queue("row_decides").retries(0).body_bytes_max(2 * MIB).sql(&place.pool).open().await.unwrap();
        Self { redis, queue }
    }

    async fn in_store(&self, id: JobId) -> Option<Found> {
        let (steps, shard) = self.queue.steps(&id);
        steps.job(&shard, id).await.unwrap()
    }

    async fn waits(&self, id: JobId) -> bool {
        matches!(self.in_store(id).await, Some(Found::Live { state: State::Waiting(_), .. }))
    }

    async fn reject_writes_of_keys_that_end_in(&self, letter: u8) {
        self.permit(&[b"%R~*".to_vec(), [b"~*[^", &[letter][..], b"]"].concat()]).await;
    }

    /// Redis permits these patterns of keys only.
    async fn permit(&self, patterns: &[Vec<u8>]) {
        let mut connection = self.redis.connection().await.unwrap();
        let mut permit = redis::cmd("ACL");
        permit.arg("SETUSER").arg("default").arg("resetkeys").arg(patterns);
        permit.exec_async(&mut connection).await.unwrap();
    }

    async fn flush(&self, is_flushed: bool) {
        if is_flushed {
            self.redis.command::<()>(&["FLUSHALL"]).await.unwrap();
        }
        // The sweep of the process may raise a row's version at the same moment, and put the job after this one has left it alone. The second
        // one finds the raised row, and puts the job itself.
        for _ in 0..2 {
            self.queue.sweep_once().await.unwrap();
        }
    }

    /// A job whose worker began its last attempt and sent no further heartbeat: its lease expires at once.
    async fn silent_at_last_attempt(&self, body: &str) -> JobId {
        let id = self.queue.now(&body.to_owned()).await.unwrap();
        let (steps, shard) = self.queue.steps(&id);
        let mut worker = Consumer::default();
        // Redis may find it due a little later than this process does.
        let receipt = loop {
            let call = SettleAndClaim { lease_ms: 1, ..worker.call(1) };
            let settled = steps.run(&shard, &call).await.unwrap();
            if let Settled::Done(claimed) = settled
                && let Some(delivered) = claimed.deliveries.first()
            {
                break delivered.receipt;
            }
        };
        assert_eq!(receipt.id, id);
        let started = Heartbeat { worker: worker.worker, lease_ms: 1, deliveries: vec![(receipt, Report::STARTED)] };
        assert_eq!(steps.run(&shard, &started).await.unwrap(), [true]);
        id
    }

    /// Consumes until the job has left the store, or is dead; whether it is dead, and whether anything ran.
    async fn fate(&self, id: JobId) -> (bool, bool) {
        let (ran, mut runs) = mpsc::unbounded_channel();
        let consumer = self.queue.consume(move |job: Delivery<String>| {
            let ran = ran.clone();
            async move {
                let _ = ran.send(job.body);
                Ok::<_, Infallible>(())
            }
        });
        let consumer = consumer.crash_delay(Duration::from_millis(1));
        let task = tokio::spawn(async move { consumer.run(std::future::pending()).await.unwrap() });
        let is_dead = loop {
            match self.in_store(id).await {
                Some(Found::Live { state: State::Dead, .. }) => break true,
                Some(Found::Live { .. }) => tokio::task::yield_now().await,
                None | Some(Found::Ended(_)) => break false,
            }
        };
        task.abort();
        let _ = task.await;
        (is_dead, runs.try_recv().is_ok())
    }
}

// shows: hazard F4a
async fn rescue_makes_no_dead_letter_of_a_finished_job<DB: Tested>(place: TestDatabase<DB>) {
    let stage = Stage::open(&place).await;
    for is_flushed in [false, true] {
        let id = stage.silent_at_last_attempt("done").await;
        // Its effect is committed, and with it the end of its row; then its process died.
        place.run("DELETE FROM evenkeel_jobs").await;
        stage.flush(is_flushed).await;
        assert_eq!(stage.fate(id).await, (false, false), "neither dead nor run again, flushed: {is_flushed}");
    }
}

// shows: hazard F4a
async fn crashed_job_with_live_row_is_dead_without_running<DB: Tested>(place: TestDatabase<DB>) {
    let stage = Stage::open(&place).await;
    let id = stage.silent_at_last_attempt("crashes").await;
    assert_eq!(stage.fate(id).await, (true, false));
}

static ARMED: AtomicBool = AtomicBool::new(false);

/// A body that panics when it is dropped.
#[derive(Serialize, Deserialize)]
struct Explosive(u32);

impl Drop for Explosive {
    fn drop(&mut self) {
        assert!(!ARMED.load(SeqCst) || std::thread::panicking(), "it explodes");
    }
}

/// What its row does not let run is dropped by the attempt itself, outside the handler.
// shows: hazard A2
async fn panic_in_the_drop_of_a_body_frees_its_lease<DB: Tested>(place: TestDatabase<DB>) {
    let keel = Keel::memory();
    let queue = keel.queue::<Explosive>("explosive").retries(0).sql(&place.pool).open().await.unwrap();
    let id = queue.now(&Explosive(1)).await.unwrap();
    place.run("DELETE FROM evenkeel_jobs").await;
    ARMED.store(true, SeqCst);
    let consumer = queue.consume(|_: Delivery<Explosive>| async { Ok::<_, Infallible>(()) });
    let task = tokio::spawn(async move { consumer.run(std::future::pending()).await.unwrap() });
    let (steps, shard) = queue.steps(&id);
    let is_dead = async {
        while !matches!(steps.job(&shard, id).await.unwrap(), Some(Found::Live { state: State::Dead, .. })) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), is_dead).await.expect("it keeps its lease");
    task.abort();
    let _ = task.await;
}

// shows: hazard F4b
async fn completion_in_store_alone_keeps_the_live_row<DB: Tested>(place: TestDatabase<DB>) {
    let stage = Stage::open(&place).await;
    for is_flushed in [false, true] {
        let id = stage.queue.now(&"a".to_owned()).await.unwrap();
        let (steps, shard) = stage.queue.steps(&id);
        let mut worker = Consumer::default();
        let Settled::Done(claimed) = steps.run(&shard, &worker.call(1)).await.unwrap() else { panic!() };
        let done = vec![(claimed.deliveries[0].receipt, evenkeel_protocol::queue::steps::Outcome::Done)];
        steps.run(&shard, &SettleAndClaim { settlements: done, ..worker.call(0) }).await.unwrap();
        assert!(matches!(stage.in_store(id).await, Some(Found::Ended(_))));
        stage.flush(is_flushed).await;
        assert!(stage.waits(id).await, "its row says that it is to run, flushed: {is_flushed}");
        assert_eq!(stage.fate(id).await, (false, true), "and it runs, flushed: {is_flushed}");
    }
}

// shows: hazard F4b
async fn withdrawal_in_store_alone_keeps_the_live_row<DB: Tested>(place: TestDatabase<DB>) {
    let stage = Stage::open(&place).await;
    for is_flushed in [false, true] {
        let (one, other) = (
            stage.queue.delay(HOUR, &"a".to_owned()).await.unwrap(),
            stage.queue.delay(HOUR, &"b".to_owned()).await.unwrap(),
        );
        let (steps, shard) = stage.queue.steps(&one);
        steps.run(&shard, &Revoke(vec![one])).await.unwrap();
        // The completion record of a migrated job: above the row's version.
        let withdrawn = Put { id: other, version: 9, change: PutChange::Withdraw(Retention::AfterEnd(FORGET_MS)) };
        let (steps, shard) = stage.queue.steps(&other);
        steps.run(&shard, &Puts(vec![withdrawn])).await.unwrap();
        stage.flush(is_flushed).await;
        assert!(stage.waits(one).await && stage.waits(other).await, "their rows live, flushed: {is_flushed}");
    }
}

// shows: hazard F5
async fn large_bodies_are_restored_and_sent_only_when_needed<DB: Tested>(place: TestDatabase<DB>) {
    const JOBS: usize = 24;
    let stage = Stage::open(&place).await;
    let body = "x".repeat(MIB);
    let mut ids = Vec::new();
    for _ in 0..JOBS {
        ids.push(stage.queue.delay(HOUR, &body).await.unwrap());
    }
    let before = stage.sent_by_redis().await;
    for _ in 0..3 {
        assert_eq!(stage.queue.sweep_once().await.unwrap().rows, JOBS);
    }
    let sent = stage.sent_by_redis().await - before;
    assert!(sent < 256 * 1024, "three looks at {JOBS} bodies of 1 MiB took {sent} bytes");
    stage.redis.command::<()>(&["FLUSHALL"]).await.unwrap();
    // A neighbor continues meanwhile.
    let keel = Keel::connect(&format!("{}?response_timeout_ms=15000", stage.redis.url())).await.unwrap();
    let neighbor: Queue<u32> = keel.queue("neighbor").open().await.unwrap();
    let (swept, sent) = tokio::join!(stage.queue.sweep_once(), async {
        for number in 0..50 {
            neighbor.now(&number).await?;
        }
        Ok::<_, evenkeel::queue::QueueError>(())
    });
    swept.unwrap();
    sent.unwrap();
    for id in ids {
        assert!(stage.waits(id).await);
    }
}

impl Stage {
    /// Waits until Redis has run so many more.
    async fn scripts_run_again(&self, number: usize) {
        let before = scripts_run(&self.redis).await;
        testkit::eventually("scripts run", async || (scripts_run(&self.redis).await >= before + number).then_some(()))
            .await
            .unwrap();
    }

    /// How many bytes Redis has sent so far, as it counts them.
    async fn sent_by_redis(&self) -> usize {
        let text: String = self.redis.command(&["INFO", "stats"]).await.unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("total_net_output_bytes:")).unwrap();
        line.trim().parse().unwrap()
    }
}

/// The record of the first job becomes something that is none.
const SPOIL: &str = "UPDATE evenkeel_jobs SET record = job WHERE job = \
                     (SELECT job FROM (SELECT job FROM evenkeel_jobs ORDER BY job LIMIT 1) AS first)";
/// In one step, so that no sweep comes in between: Redis loses everything, and another process has the lease of the sweep.
const FLUSH_AND_LEASE: &str = "redis.call('FLUSHALL') return redis.call('SET', ARGV[1], 'another')";
/// No key but that of a record ends in one of these.
const LETTERS: std::ops::RangeInclusive<u8> = b'A'..=b'Z';

// shows: hazard F5
async fn failing_page_is_halved_down_to_one_job<DB: Tested>(place: TestDatabase<DB>) {
    let stage = Stage::open(&place).await;
    let mut ids = Vec::new();
    // Redis is configured to reject writes of the keys that end in one letter; one of the ids must end in it, and a later one of its shard must
    // not: the call of the page is over before it puts that one.
    let shard = |id: &JobId| stage.queue.steps(id).1;
    let letter = loop {
        let id = stage.queue.delay(HOUR, &ids.len().to_string()).await.unwrap();
        let before = |other: &&JobId| LETTERS.contains(&other.0[15]) && other.0[15] != id.0[15] && **other < id;
        let rejected = ids.iter().filter(before).find(|other| shard(other) == shard(&id)).copied();
        ids.push(id);
        if let Some(rejected) = rejected.filter(|_| ids.len() >= 5) {
            break rejected.0[15];
        }
    };
    stage.reject_writes_of_keys_that_end_in(letter).await;
    stage.redis.command::<()>(&["FLUSHALL"]).await.unwrap();
    assert!(stage.queue.sweep_once().await.is_err(), "the whole page fails");
    for id in ids.into_iter().filter(|id| id.0[15] != letter) {
        testkit::eventually("its neighbors come back", async || stage.waits(id).await.then_some(())).await.unwrap();
    }
}

/// A portion that Redis rejected kept the portions behind it from being put. The process itself does not sweep here.
// shows: hazard BW12
#[tokio::test]
async fn portion_that_is_rejected_stops_no_other() {
    let place = TestDatabase::<sqlx::Sqlite>::open().await;
    let stage = Stage::open(&place).await;
    // More than one portion.
    let mut large = Vec::new();
    for _ in 0..3 {
        large.push(stage.queue.delay(HOUR, &"m".repeat(MIB * 3 / 2)).await.unwrap());
    }
    let is_of_large = |letter: u8| large.iter().any(|id| id.0[15] == letter);
    let letter = loop {
        let id = stage.queue.delay(HOUR, &"small".to_owned()).await.unwrap();
        if LETTERS.contains(&id.0[15]) && !is_of_large(id.0[15]) {
            break id.0[15];
        }
    };
    stage.reject_writes_of_keys_that_end_in(letter).await;
    let key = format!("{}:sweep", stage.queue.steps(&large[0]).1.tag());
    stage.redis.command::<()>(&["EVAL", FLUSH_AND_LEASE, "0", &key]).await.unwrap();
    assert!(stage.queue.sweep_once().await.is_err());
    let mut put = 0;
    for id in large {
        put += usize::from(stage.waits(id).await);
    }
    assert!(put > 0);
}

/// Each call that names one job is never answered: no page with it ends. On one database, because the calls are those to Redis.
// shows: hazard F5
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn page_that_times_out_does_not_stop_the_sweep() {
    let place = TestDatabase::<sqlx::Sqlite>::open().await;
    let redis = Redis::start(RedisOptions::new()).await.unwrap();
    let proxy = Proxy::start(redis.port(), 1).await.unwrap();
    let keel = Keel::connect(&format!("{}?response_timeout_ms=200", proxy.url(&redis.url()))).await.unwrap();
    let queue: Queue<String> = keel.queue("row_decides").sql(&place.pool).open().await.unwrap();
    let mut ids = Vec::new();
    for number in 0..6 {
        ids.push(queue.delay(HOUR, &number.to_string()).await.unwrap());
    }
    ids.sort_unstable();
    // The sweep reads rows in the order of their ids: jobs are before this one and behind it.
    let lost = ids.remove(2);
    proxy.lose_commands_with(&lost.0);
    redis.command::<()>(&["FLUSHALL"]).await.unwrap();
    let stage = Stage { redis, queue };
    let elsewhere = Keel::connect(&stage.redis.url()).await.unwrap();
    let steps = QueueBackend::redis(elsewhere.link().unwrap().clone());
    let (_, shard) = stage.queue.steps(&lost);
    let waits = async |id: JobId| {
        let found = steps.job(&shard, id).await.ok()?;
        matches!(found, Some(Found::Live { state: State::Waiting(_), .. })).then_some(())
    };
    for id in &ids {
        testkit::eventually("its neighbors come back", async || waits(*id).await).await.unwrap();
    }
    assert!(waits(lost).await.is_none(), "it is not in Redis");
    proxy.heal();
    testkit::eventually("it comes back by itself", async || waits(lost).await).await.unwrap();
}

// shows: Q22, hazard F5
async fn unreadable_row_does_not_stop_the_sweep<DB: Tested>(place: TestDatabase<DB>) {
    let stage = Stage::open(&place).await;
    let mut ids = Vec::new();
    for number in 0..3 {
        ids.push(stage.queue.delay(HOUR, &number.to_string()).await.unwrap());
    }
    assert_eq!(place.run(SPOIL).await, 1);
    ids.sort_unstable();
    stage.redis.command::<()>(&["FLUSHALL"]).await.unwrap();
    stage.queue.sweep_once().await.unwrap();
    assert!(!stage.waits(ids[0]).await);
    assert!(stage.waits(ids[1]).await && stage.waits(ids[2]).await, "the others are there");
}

// shows: hazard F5
async fn only_one_process_sweeps_at_a_time<DB: Tested>(place: TestDatabase<DB>) {
    let stage = Stage::open(&place).await;
    let id = stage.queue.delay(HOUR, &"a".to_owned()).await.unwrap();
    let (_, shard) = stage.queue.steps(&id);
    let key = format!("{}:sweep", shard.tag());
    // The process of the test has the lease.
    testkit::eventually("a process sweeps", async || {
        stage.redis.command::<Option<Vec<u8>>>(&["GET", &key]).await.unwrap()
    })
    .await
    .unwrap();
    // Another one has it now. A page that the process had begun ends first: it runs fewer scripts than are awaited here.
    stage.redis.command::<()>(&["EVAL", FLUSH_AND_LEASE, "0", &key]).await.unwrap();
    stage.scripts_run_again(4).await;
    // A job is missing: it asks for the lease again and again, and stays away.
    stage.redis.command::<()>(&["EVAL", FLUSH_AND_LEASE, "0", &key]).await.unwrap();
    stage.scripts_run_again(4).await;
    assert!(!stage.waits(id).await, "a process without the lease has restored a job");
    assert_eq!(stage.redis.command::<String>(&["GET", &key]).await.unwrap(), "another");
    // It ends, and with it its lease: a sweep begins at once, and restores what is missing.
    stage.redis.command::<()>(&["FLUSHALL"]).await.unwrap();
    testkit::eventually("it comes back by itself", async || stage.waits(id).await.then_some(())).await.unwrap();
    assert_ne!(stage.redis.command::<Option<Vec<u8>>>(&["GET", &key]).await.unwrap().as_deref(), Some(&b"another"[..]));
}
