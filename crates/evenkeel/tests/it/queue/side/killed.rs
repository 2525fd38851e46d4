//! Q1 under SIGKILL: consumers are killed while they work, and a SQL ledger of effects shows that nothing was lost and that
//! whatever happened twice happened first in a process that was killed.

use evenkeel::Keel;
use evenkeel::link::LinkOptions;
use evenkeel::queue::steps::QueueSteps;
use evenkeel::queue::{Delivery, JobId, Queue, Retries};
use serde::{Deserialize, Serialize};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqliteSynchronous};
use std::collections::HashSet;
use std::time::Duration;
use testkit::eventually;
use testkit::park::redis;
use testkit::process::{Station, Worker};

const JOBS: usize = 2_000;
const KILLS: usize = 6;

#[derive(Clone, Serialize, Deserialize)]
struct Open {
    url: String,
    prefix: String,
    ledger: String,
    worker: usize,
}

async fn queue(open: &Open) -> Queue<u64> {
    let mut options = LinkOptions::from_url(&open.url).unwrap();
    options.prefix.clone_from(&open.prefix);
    let keel = Keel::builder().connect_with(options).await.unwrap();
    // A short lease, so that the test is.
    let builder = keel.queue("work").shards(2).visibility(Duration::from_secs(1));
    builder.retries(Retries::Unlimited).build().await.unwrap()
}

async fn ledger(path: &str) -> SqlitePool {
    let options =
        SqliteConnectOptions::new().filename(path).create_if_missing(true).journal_mode(SqliteJournalMode::Wal);
    let options = options.synchronous(SqliteSynchronous::Off).busy_timeout(Duration::from_secs(60));
    SqlitePool::connect_with(options).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_when_consumers_are_killed() {
    let server = redis().await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger").to_string_lossy().into_owned();
    let open = Open { url: server.url.clone(), prefix: server.prefix.clone(), ledger: path, worker: 0 };
    let ledger = ledger(&open.ledger).await;
    sqlx::query("CREATE TABLE effects (job TEXT NOT NULL, fence INTEGER NOT NULL, worker INTEGER NOT NULL)")
        .execute(&ledger)
        .await
        .unwrap();
    let queue = queue(&open).await;
    let numbers: Vec<u64> = (0..JOBS as u64).collect();
    let sent = queue.enqueue_all(numbers.iter().map(|number| queue.job(number))).await.unwrap();
    let ids: HashSet<JobId> = sent.iter().map(|sent| sent.id).collect();

    let start = |worker: usize| {
        let mut process = Worker::start("queue::side::killed::consumer").unwrap();
        process.say(&Open { worker, ..open.clone() }).unwrap();
        process
    };
    let mut workers = vec![(0, start(0)), (1, start(1))];
    let mut killed = HashSet::new();
    for kill in 0..KILLS {
        // In the middle of the work, whose pace differs from machine to machine.
        let goal = i64::try_from(JOBS * (kill + 1) / (KILLS + 2)).unwrap();
        eventually("the work goes on", || effects_above(&ledger, goal)).await.unwrap();
        let (number, mut process) = workers.remove(0);
        process.process().kill().unwrap();
        killed.insert(i64::try_from(number).unwrap());
        workers.push((kill + 2, start(kill + 2)));
    }
    eventually("all jobs have ended", || is_empty(&queue)).await.unwrap();
    for (_, worker) in workers {
        worker.finish().await.unwrap();
    }
    let lapses = lapses(&queue, &ids).await;

    let effects: Vec<(String, i64)> =
        sqlx::query_as("SELECT job, worker FROM effects ORDER BY job, fence").fetch_all(&ledger).await.unwrap();
    let done: HashSet<JobId> = effects.iter().map(|(job, _)| job.parse().unwrap()).collect();
    assert_eq!(done.len(), JOBS, "nothing is lost");
    assert!(done == ids);
    let mut again = 0;
    for pair in effects.windows(2) {
        if pair[0].0 == pair[1].0 {
            again += 1;
            assert!(killed.contains(&pair[0].1), "{} was done twice, first by a worker that lived", pair[0].0);
        }
    }
    assert!(again <= lapses, "{again} effects came twice, and only {lapses} leases lapsed");
    println!("{JOBS} jobs, {KILLS} kills, {lapses} lapses, {again} effects twice");
}

async fn effects_above(ledger: &SqlitePool, goal: i64) -> Option<()> {
    let count: i64 = sqlx::query_scalar("SELECT count(*) FROM effects").fetch_one(ledger).await.unwrap();
    (count >= goal).then_some(())
}

async fn is_empty(queue: &Queue<u64>) -> Option<()> {
    let mut left = 0;
    for shard in 0..2_u8 {
        let (steps, shard) = queue.steps(&JobId([shard; 16]));
        let stats = steps.stats(&shard).await.unwrap();
        left += stats.waiting.iter().sum::<u64>() + stats.leased + stats.dead;
    }
    (left == 0).then_some(())
}

async fn lapses(queue: &Queue<u64>, ids: &HashSet<JobId>) -> u64 {
    let mut sum = 0;
    let mut created = 0;
    for shard in 0..2_u8 {
        let (steps, shard) = queue.steps(&JobId([shard; 16]));
        let totals = steps.stats(&shard).await.unwrap().totals;
        assert_eq!((totals.died, totals.discarded, totals.ghosts), (0, 0, 0));
        sum += totals.lapsed + totals.crashed;
        created += totals.created;
    }
    assert_eq!(created, ids.len() as u64);
    sum
}

/// A process that works until it is told to finish, or killed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a worker of `nothing_is_lost_when_consumers_are_killed`"]
async fn consumer() {
    let Some(mut station) = Station::open().unwrap() else { return };
    let open: Open = station.hear().await.unwrap();
    let queue = queue(&open).await;
    let (ledger, worker) = (ledger(&open.ledger).await, i64::try_from(open.worker).unwrap());
    let consumer = queue.consume(move |job: Delivery<u64>| {
        let ledger = ledger.clone();
        async move {
            sqlx::query("INSERT INTO effects (job, fence, worker) VALUES (?, ?, ?)")
                .bind(job.id.to_string())
                .bind(i64::try_from(job.fence).unwrap())
                .bind(worker)
                .execute(&ledger)
                .await
                .map(drop)
        }
    });
    let consumer = consumer.concurrency(8).crashes_max(u8::MAX).crash_delay(Duration::from_millis(50));
    consumer.run(station.until_finish()).await.unwrap();
}
