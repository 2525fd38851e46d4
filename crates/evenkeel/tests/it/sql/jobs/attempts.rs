//! The errors of a job with a row, and its death, survive the loss of the store.

use crate::sql::databases::{TestDatabase, Tested, on_each_database};
use evenkeel::Keel;
use evenkeel::queue::topic::{JobState as Among, Topic};
use evenkeel::queue::{Delivery, JobId, Queue, RetryDelay};
use evenkeel::sql::migrate;
use evenkeel_protocol::queue::steps::{Found, Outcome, Receipt, Rescheduled, Revoked, SettleAndClaim, Settled, State};
use sqlx::Row;
use sqlx::mysql::{MySqlPool, MySqlPoolOptions};
use std::time::Duration;
use testkit::conformance::queue::Consumer;
use testkit::park;
use testkit::servers::{Redis, RedisOptions};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

on_each_database! {
    failed_attempts_survive_flush
    failed_attempts_survive_restart_of_embedded_store
    dead_letter_survives_flush
    dead_letter_survives_restart_of_embedded_store
    dead_letter_is_listed_before_the_sweep
    dead_letter_of_a_dead_worker_is_deleted
    job_with_a_dead_row_does_not_run
    death_known_only_to_the_store_survives_flush
    dead_letter_redriven_only_in_its_row_runs
}

const RETRIES: u16 = 2;

/// A queue of rows, and the store that loses everything.
struct Stage {
    redis: Option<Redis>,
    queue: Queue<u32>,
}

async fn opened<DB: Tested>(keel: &Keel, place: &TestDatabase<DB>) -> Queue<u32> {
    let builder = keel.queue("tried").retries(RETRIES).retry_delay(RetryDelay::fixed(Duration::ZERO));
    builder.sql(&place.pool).open().await.unwrap()
}

impl Stage {
    async fn on_redis<DB: Tested>(place: &TestDatabase<DB>) -> Self {
        let redis = Redis::start(RedisOptions::new()).await.unwrap();
        let keel = Keel::connect(&redis.url()).await.unwrap();
        Self { queue: opened(&keel, place).await, redis: Some(redis) }
    }

    async fn embedded<DB: Tested>(place: &TestDatabase<DB>) -> Self {
        Self { redis: None, queue: opened(&Keel::memory(), place).await }
    }

    /// The store loses everything; an embedded one by the end of its process.
    async fn lose<DB: Tested>(self, place: &TestDatabase<DB>) -> Self {
        match &self.redis {
            Some(redis) => redis.command::<()>(&["FLUSHALL"]).await.unwrap(),
            None => return Self::embedded(place).await,
        }
        self
    }

    async fn found(&self, id: JobId) -> (State, u16, Option<String>) {
        match self.queue.find(&id).await.unwrap() {
            Some(Found::Live { state, job, .. }) => {
                let last = job.error_notes().last().map(|note| String::from_utf8_lossy(&note.text).into_owned());
                (state, job.errors, last)
            }
            other => panic!("{other:?}"),
        }
    }

    /// Fails every attempt; says which.
    fn failing(&self) -> (JoinHandle<()>, mpsc::UnboundedReceiver<u32>) {
        let (ran, runs) = mpsc::unbounded_channel();
        let consumer = self.queue.consume(move |job: Delivery<u32>| {
            let _ = ran.send(job.attempt);
            async move { Err::<(), _>(format!("attempt {} failed", job.attempt)) }
        });
        (tokio::spawn(async move { consumer.run(std::future::pending()).await.unwrap() }), runs)
    }

    /// Runs a job to its death.
    async fn make_dead(&self) -> JobId {
        let id = self.queue.now(&1).await.unwrap();
        let (task, mut runs) = self.failing();
        self.until_dead(id).await;
        stop(task).await;
        assert_eq!(std::iter::from_fn(|| runs.try_recv().ok()).count(), usize::from(RETRIES) + 1);
        id
    }

    async fn until_dead(&self, id: JobId) {
        let (steps, shard) = self.queue.steps(&id);
        while !matches!(steps.job(&shard, id).await.unwrap(), Some(Found::Live { state: State::Dead, .. })) {
            tokio::task::yield_now().await;
        }
    }

    async fn listed(&self) -> Vec<JobId> {
        let page = self.queue.topic().peek(Among::Dead, None, 10).await.unwrap();
        page.jobs.iter().map(|seen| seen.id).collect()
    }
}

async fn stop(task: JoinHandle<()>) {
    task.abort();
    let _ = task.await;
}

/// A consumer that ends after two attempts, then a store that knows nothing.
async fn attempts<DB: Tested>(place: &TestDatabase<DB>, stage: Stage) {
    let id = stage.queue.now(&1).await.unwrap();
    let (failed, mut failures) = mpsc::unbounded_channel();
    // The third attempt is never answered.
    let consumer = stage.queue.consume(move |job: Delivery<u32>| {
        let _ = failed.send(job.attempt);
        async move {
            if job.attempt == 3 {
                std::future::pending::<()>().await;
            }
            Err::<(), _>(format!("attempt {} failed", job.attempt))
        }
    });
    let task = tokio::spawn(async move { consumer.run(std::future::pending()).await.unwrap() });
    for attempt in 1..=3 {
        assert_eq!(failures.recv().await, Some(attempt));
    }
    stop(task).await;
    let stage = stage.lose(place).await;
    stage.queue.sweep_once().await.unwrap();
    assert_eq!(
        stage.found(id).await,
        (State::Waiting(Default::default()), 2, Some("attempt 2 failed".to_owned())),
        "it comes back with its attempts"
    );
    let (task, mut runs) = stage.failing();
    stage.until_dead(id).await;
    stop(task).await;
    assert_eq!(runs.try_recv(), Ok(3), "the last one it has");
    assert!(runs.try_recv().is_err());
    assert_eq!(stage.found(id).await, (State::Dead, 3, Some("attempt 3 failed".to_owned())));
}

// shows: hazard F4d
async fn failed_attempts_survive_flush<DB: Tested>(place: TestDatabase<DB>) {
    let stage = Stage::on_redis(&place).await;
    attempts(&place, stage).await;
}

// shows: hazard F4d
async fn failed_attempts_survive_restart_of_embedded_store<DB: Tested>(place: TestDatabase<DB>) {
    let stage = Stage::embedded(&place).await;
    attempts(&place, stage).await;
}

async fn death<DB: Tested>(place: &TestDatabase<DB>, stage: Stage) {
    let (kept, redriven) = (stage.make_dead().await, stage.make_dead().await);
    let stage = stage.lose(place).await;
    stage.queue.sweep_once().await.unwrap();
    for id in [kept, redriven] {
        assert_eq!(stage.found(id).await, (State::Dead, 3, Some("attempt 3 failed".to_owned())));
    }
    let (steps, shard) = stage.queue.steps(&kept);
    let in_store = steps.job(&shard, kept).await.unwrap();
    assert!(matches!(in_store, Some(Found::Live { state: State::Dead, .. })), "{in_store:?}");
    assert_eq!(stage.listed().await, [kept, redriven]);
    let topic = stage.queue.topic();
    assert_eq!(topic.revoke(&[kept]).await.unwrap(), [Revoked::Dead]);
    assert_eq!(topic.run_now(&[kept]).await.unwrap(), [Rescheduled::Dead]);
    assert_eq!(topic.redrive("once").only([redriven]).run().await.unwrap().taken, 1);
    let is_alive = place.number("SELECT COUNT(*) FROM evenkeel_jobs WHERE errors < 3").await;
    assert_eq!(is_alive, 1, "its row has all its attempts again");
    let (task, mut runs) = stage.failing();
    for attempt in 1..=3 {
        assert_eq!(runs.recv().await, Some(attempt), "it has all its attempts again");
    }
    stage.until_dead(redriven).await;
    stop(task).await;
    let again = topic.redrive("once").only([redriven]).run().await.unwrap();
    assert_eq!((again.taken, again.taken_before), (0, 1));
    assert_eq!(place.number("SELECT COUNT(*) FROM evenkeel_jobs WHERE dead = 1").await, 2, "no redrive takes it twice");
    assert!(runs.try_recv().is_err(), "the other one did not run");
    assert_eq!(topic.delete_dead(&[kept]).await.unwrap(), [true]);
    let stage = stage.lose(place).await;
    stage.queue.sweep_once().await.unwrap();
    assert_eq!(stage.listed().await, [redriven]);
    assert_eq!(place.number("SELECT COUNT(*) FROM evenkeel_jobs WHERE state = 1").await, 1);
}

// shows: Q8, hazard F4d, queue::TopicRedrive::run, queue::TopicRedrive::run_with, queue::TopicRedrive::dry_run
async fn dead_letter_survives_flush<DB: Tested>(place: TestDatabase<DB>) {
    let stage = Stage::on_redis(&place).await;
    death(&place, stage).await;
}

// shows: Q8, hazard F4d
async fn dead_letter_survives_restart_of_embedded_store<DB: Tested>(place: TestDatabase<DB>) {
    let stage = Stage::embedded(&place).await;
    death(&place, stage).await;
}

/// Between the loss and the sweep, dead letters exist only as rows.
// shows: hazard F4d, queue::Topic::list, queue::Topic::peek
async fn dead_letter_is_listed_before_the_sweep<DB: Tested>(place: TestDatabase<DB>) {
    let redis = Redis::start(RedisOptions::new()).await.unwrap();
    let operator = Keel::connect(&redis.url()).await.unwrap();
    let stage = Stage { queue: opened(&Keel::connect(&redis.url()).await.unwrap(), &place).await, redis: None };
    // Redis says that another process sweeps, so this one does not.
    let (_, shard) = stage.queue.steps(&JobId([0; 16]));
    let sweep = format!("{}:sweep", shard.tag());
    redis.command::<()>(&["SET", &sweep, "another"]).await.unwrap();
    let mut ids = Vec::new();
    for _ in 0..4 {
        ids.push(stage.make_dead().await);
    }
    let topic: Topic = operator.topic("tried").await.unwrap().sql(&place.pool);
    let flush = "redis.call('FLUSHALL') return redis.call('SET', ARGV[1], 'another')";
    redis.command::<()>(&["EVAL", flush, "0", &sweep]).await.unwrap();
    assert_eq!(stage.found(ids[0]).await, (State::Dead, 3, Some("attempt 3 failed".to_owned())));
    assert_eq!(topic.list(Among::Dead, None, 10).await.unwrap().iter().map(|seen| seen.id).collect::<Vec<_>>(), ids);
    assert_eq!(topic.list(Among::Waiting, None, 10).await.unwrap(), []);
    assert_eq!(topic.revoke(&ids[..1]).await.unwrap(), [Revoked::Dead]);
    assert_eq!(topic.run_now(&ids[..1]).await.unwrap(), [Rescheduled::Dead]);
    assert_eq!(topic.purge(Among::Waiting, "tried").await.unwrap(), 0);
    assert_eq!(topic.delete_dead(&ids[..1]).await.unwrap(), [true]);
    assert_eq!(topic.redrive("once").only([ids[1]]).run().await.unwrap().taken, 1);
    assert_eq!(stage.found(ids[1]).await.0, State::Waiting(Default::default()));
    assert_eq!(topic.purge(Among::Dead, "tried").await.unwrap(), 2);
    assert_eq!(place.number("SELECT COUNT(*) FROM evenkeel_jobs WHERE state = 1").await, 1);
}

/// Claims a job as soon as Redis finds it due, whose clock may be a little behind.
async fn claimed(stage: &Stage, id: JobId, worker: &mut Consumer) -> Receipt {
    let (steps, shard) = stage.queue.steps(&id);
    loop {
        let settled = steps.run(&shard, &worker.call(1)).await.unwrap();
        if let Settled::Done(claimed) = settled
            && let Some(delivered) = claimed.deliveries.first()
        {
            return delivered.receipt;
        }
    }
}

/// Makes a dead letter in the store alone, as programs did before rows knew of deaths.
async fn dead_in_store(stage: &Stage) -> JobId {
    let id = stage.queue.now(&1).await.unwrap();
    let (steps, shard) = stage.queue.steps(&id);
    let mut worker = Consumer::default();
    let receipt = claimed(stage, id, &mut worker).await;
    let dead = vec![(receipt, Outcome::Dead { reason: "no use".into() })];
    steps.run(&shard, &SettleAndClaim { settlements: dead, ..worker.call(0) }).await.unwrap();
    id
}

/// A store that lost its latest writes, or whose worker died between the row and the store, has the older state.
// shows: hazard F4d
async fn job_with_a_dead_row_does_not_run<DB: Tested>(place: TestDatabase<DB>) {
    let stage = Stage::on_redis(&place).await;
    let id = stage.queue.now(&1).await.unwrap();
    assert_eq!(place.run("UPDATE evenkeel_jobs SET dead = 1").await, 1);
    assert_eq!(stage.found(id).await.0, State::Dead, "the row decides");
    let (task, mut runs) = stage.failing();
    let (steps, shard) = stage.queue.steps(&id);
    while !matches!(steps.job(&shard, id).await.unwrap(), Some(Found::Live { state: State::Dead, .. })) {
        assert!(runs.try_recv().is_err(), "it ran");
        tokio::task::yield_now().await;
    }
    stop(task).await;
    assert!(runs.try_recv().is_err(), "it ran");
}

/// The row is dead, while the job still runs in the store.
// shows: queue::Topic::delete_dead
async fn dead_letter_of_a_dead_worker_is_deleted<DB: Tested>(place: TestDatabase<DB>) {
    let stage = Stage::on_redis(&place).await;
    let topic = stage.queue.topic();
    for is_purged in [false, true] {
        let id = stage.queue.now(&1).await.unwrap();
        claimed(&stage, id, &mut Consumer::default()).await;
        assert_eq!(place.run("UPDATE evenkeel_jobs SET dead = 1 WHERE state = 1").await, 1);
        assert_eq!(stage.listed().await, [id]);
        assert_eq!(topic.revoke(&[id]).await.unwrap(), [Revoked::Dead]);
        if is_purged {
            assert_eq!(topic.purge(Among::Dead, "tried").await.unwrap(), 1);
        } else {
            assert_eq!(topic.delete_dead(&[id]).await.unwrap(), [true]);
        }
        assert!(stage.listed().await.is_empty());
        assert_eq!(place.number("SELECT COUNT(*) FROM evenkeel_jobs WHERE state = 1").await, 0);
    }
}

// shows: hazard F4d
async fn death_known_only_to_the_store_survives_flush<DB: Tested>(place: TestDatabase<DB>) {
    let stage = Stage::on_redis(&place).await;
    let id = dead_in_store(&stage).await;
    stage.queue.sweep_once().await.unwrap();
    assert_eq!(place.number("SELECT COUNT(*) FROM evenkeel_jobs WHERE dead = 1 AND errors = 1").await, 1);
    let stage = stage.lose(&place).await;
    stage.queue.sweep_once().await.unwrap();
    assert_eq!(stage.found(id).await, (State::Dead, 1, Some("no use".to_owned())));
}

/// The operator's process died between the two, or a failover lost the store's latest writes.
// shows: hazard F4d, queue::TopicRedrive::run, queue::TopicRedrive::run_with, queue::TopicRedrive::dry_run
async fn dead_letter_redriven_only_in_its_row_runs<DB: Tested>(place: TestDatabase<DB>) {
    let stage = Stage::on_redis(&place).await;
    let id = dead_in_store(&stage).await;
    stage.queue.sweep_once().await.unwrap();
    assert_eq!(place.run("UPDATE evenkeel_jobs SET dead = 0, errors = 0, redriven = 1").await, 1);
    // Twice: the sweep of the process may raise the row's version at the same moment, and put the job after the first one.
    for _ in 0..2 {
        stage.queue.sweep_once().await.unwrap();
    }
    assert_eq!(stage.found(id).await.0, State::Waiting(Default::default()));
    let (task, mut runs) = stage.failing();
    assert_eq!(runs.recv().await, Some(1));
    stop(task).await;
    assert_eq!(place.number("SELECT COUNT(*) FROM evenkeel_jobs WHERE redriven = 1").await, 0);
}

/// How many updates the only connection of a pool has sent, as the server counts them.
async fn updates_so_far(pool: &MySqlPool) -> u64 {
    let counter = sqlx::raw_sql("SHOW SESSION STATUS LIKE 'Com_update'").fetch_one(pool).await.unwrap();
    counter.get::<String, _>(1).parse().unwrap()
}

// shows: hazard F4d
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_failed_attempts_cost_a_statement_mariadb() {
    let database = park::mariadb_database().await.unwrap();
    let pool = MySqlPoolOptions::new().max_connections(1).connect(&database.url).await.unwrap();
    migrate(&pool).await.unwrap();
    let queue: Queue<u32> = Keel::memory().queue("tried").retries(0).sql(&pool).open().await.unwrap();
    // One for the start, one for the failure. The row of a completed job is deleted.
    for (fails, expected) in [(false, 1), (true, 2)] {
        let id = queue.now(&1).await.unwrap();
        let before = updates_so_far(&pool).await;
        let consumer = queue.consume(move |_: Delivery<u32>| async move { if fails { Err("no") } else { Ok(()) } });
        let task = tokio::spawn(async move { consumer.run(std::future::pending()).await.unwrap() });
        let (steps, shard) = queue.steps(&id);
        let is_live =
            |found: &Option<Found>| matches!(found, Some(Found::Live { state: State::Waiting(_) | State::Leased, .. }));
        while is_live(&steps.job(&shard, id).await.unwrap()) {
            tokio::task::yield_now().await;
        }
        stop(task).await;
        assert_eq!(updates_so_far(&pool).await - before, expected, "fails: {fails}");
    }
}
