//! `Durability::Sql` under SIGKILL: a process dies between the row and Redis, when a job is enqueued and when it ends.

use crate::sql::databases::Tested;
use evenkeel::Keel;
use evenkeel::queue::{Delivery, JobId, Queue};
use evenkeel::sql::migrate;
use evenkeel_protocol::queue::steps::{Found, List, State};
use serde::{Deserialize, Serialize};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{Sqlite, SqlitePool};
use std::convert::Infallible;
use std::str::FromStr;
use std::time::Duration;
use testkit::eventually;
use testkit::process::{Station, Worker};
use testkit::servers::{Redis, RedisOptions};
use tokio::sync::mpsc;

#[derive(Serialize, Deserialize)]
struct Open {
    redis: String,
    database: String,
    sends: bool,
    fails: bool,
}

async fn queue(open: &Open) -> Queue<u32> {
    let options = SqliteConnectOptions::from_str(&open.database).unwrap().busy_timeout(Duration::from_secs(60));
    let pool = SqlitePool::connect_with(options).await.unwrap();
    let keel = Keel::connect(&open.redis).await.unwrap();
    // A short lease, to keep the test short.
    let builder = keel.queue("row_decides").visibility(Duration::from_secs(1)).retries(0);
    builder.sql(&pool).open().await.unwrap()
}

#[tokio::test]
#[ignore = "a worker of the tests next to it"]
async fn process() {
    let Some(mut station) = Station::open().unwrap() else { return };
    let open: Open = station.receive().await.unwrap();
    let queue = queue(&open).await;
    if open.sends {
        queue.now(&7).await.unwrap();
    } else {
        let fails = open.fails;
        let consumer = queue.consume(move |_: Delivery<u32>| async move { if fails { Err("no") } else { Ok(()) } });
        consumer.run(std::future::pending()).await.unwrap();
    }
    station.say("survived").unwrap();
}

/// Runs a process until it dies at `point`.
async fn dies_at(point: &str, open: &Open) {
    let mut process =
        Worker::start_with("sql::jobs::row_decides_kills::process", &[("EVENKEEL_CRASH_AT", point)]).unwrap();
    process.say(open).unwrap();
    let word = process.receive::<String>().await;
    assert!(word.is_err(), "{point} was never reached");
}

// shows: spec/queue.md
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn death_between_row_and_redis_loses_and_repeats_no_job() {
    let redis = Redis::start(RedisOptions::new()).await.unwrap();
    let (database, pool) = Sqlite::open().await;
    migrate(&pool).await.unwrap();
    let open = |sends| Open { redis: redis.url(), database: database.url.clone(), sends, fails: false };
    dies_at("job_row_written", &open(true)).await;
    // The sender died before Redis had the job. The consumer's sweep enqueues it there; the consumer dies once the row is
    // marked as done, and before Redis has that.
    dies_at("job_row_ended", &open(false)).await;
    let left = Sqlite::number(&mut pool.acquire().await.unwrap(), "SELECT COUNT(*) FROM evenkeel_jobs").await;
    assert_eq!(left, 0, "its row says that it is done");
    let queue = queue(&open(false)).await;
    let (steps, shard) = queue.steps(&JobId([0; 16]));
    let leased = steps.run(&shard, &List::first(State::Leased, 10)).await.unwrap();
    assert_eq!(leased.len(), 1, "Redis does not have its end");
    let (ran, mut runs) = mpsc::unbounded_channel();
    let consumer = queue.consume(move |job: Delivery<u32>| {
        let ran = ran.clone();
        async move {
            let _ = ran.send(job.body);
            Ok::<_, Infallible>(())
        }
    });
    let consumer = consumer.crash_delay(Duration::from_millis(50));
    let task = tokio::spawn(async move { consumer.run(std::future::pending()).await.unwrap() });
    let id = leased[0].id;
    eventually("the lease expires, and the delivery is settled without running", async || {
        let found = steps.job(&shard, id).await.unwrap();
        matches!(found, None | Some(Found::Ended(_))).then_some(())
    })
    .await
    .unwrap();
    assert!(runs.try_recv().is_err(), "it did not run again");
    task.abort();
}

// shows: hazard F4d
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn worker_death_after_its_row_is_dead_keeps_dead_letter() {
    let redis = Redis::start(RedisOptions::new()).await.unwrap();
    let (database, pool) = Sqlite::open().await;
    migrate(&pool).await.unwrap();
    let open = |sends| Open { redis: redis.url(), database: database.url.clone(), sends, fails: true };
    let queue = queue(&open(true)).await;
    let id = queue.now(&7).await.unwrap();
    // Its last attempt fails; the row has that result, Redis does not.
    dies_at("job_row_ended", &open(false)).await;
    let dead = "SELECT COUNT(*) FROM evenkeel_jobs WHERE state = 1 AND dead = 1 AND errors = 1";
    assert_eq!(Sqlite::number(&mut pool.acquire().await.unwrap(), dead).await, 1);
    redis.command::<()>(&["FLUSHALL"]).await.unwrap();
    queue.sweep_once().await.unwrap();
    let (steps, shard) = queue.steps(&id);
    let found = steps.job(&shard, id).await.unwrap();
    assert!(matches!(found, Some(Found::Live { state: State::Dead, .. })), "{found:?}");
}
