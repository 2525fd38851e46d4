//! Sequences in databases: numbers are issued once, also by a database that was restored from an older state.

use super::assert_distinct;
use crate::in_time;
use crate::rig::Fleet;
use crate::sql::databases::{TestDatabase, Tested, on_each_database};
use evenkeel::Keel;
use evenkeel::id::{Id, IdError, Segments};
use evenkeel::sql::Database;
use sqlx::{Pool, Sqlite};
use std::time::Duration;
use testkit::servers::{Redis, RedisOptions};

on_each_database! {
    processes_and_tasks_share_a_sequence
    restored_database_is_noticed_by_another_process
    numbers_of_one_process_are_consecutive
    missing_table_is_the_reason_of_the_wait
}

/// What the restored backup has.
const RESTORE: &str = "UPDATE evenkeel_sequences SET next_value = 1";
const NEXT: &str = "SELECT next_value FROM evenkeel_sequences WHERE name = 'invoices'";

fn open<DB: Database>(keel: &Keel, pool: &Pool<DB>) -> Segments {
    keel.segments("invoices").step(10..=10).open(pool).unwrap()
}

async fn take(segments: &Segments, count: usize) -> Vec<Id> {
    let mut taken = Vec::with_capacity(count);
    for _ in 0..count {
        taken.push(segments.next().await.unwrap());
    }
    assert!(taken.is_sorted(), "they rise: {taken:?}");
    taken
}

// shows: I4, id::Segments
async fn numbers_of_one_process_are_consecutive<DB: Tested>(database: TestDatabase<DB>) {
    let segments = open(&Keel::memory(), &database.pool);
    let numbers: Vec<u64> = take(&segments, 35).await.into_iter().map(Id::get).collect();
    assert_eq!(numbers, (1..=35).collect::<Vec<u64>>());
    let two = open(&Keel::memory(), &database.pool).next().await.unwrap();
    let next = database.number(NEXT).await;
    assert!(
        two.get() > 35 && two.as_i64() < next && next <= 71,
        "{two}, {next}: at most two blocks ahead of each process"
    );
}

// shows: I4, id::Segments
async fn processes_and_tasks_share_a_sequence<DB: Tested>(database: TestDatabase<DB>) {
    in_time(async {
        let keel = Keel::memory();
        let mut tasks = Vec::new();
        for _ in 0..4 {
            // The processes share the witness, as on one Redis.
            let keel = keel.another_process();
            let segments = keel.segments("invoices").step(1..=64).open(&database.pool).unwrap();
            for _ in 0..4 {
                let segments = segments.clone();
                tasks.push(tokio::spawn(async move { take(&segments, 100).await }));
            }
        }
        let mut all = Vec::new();
        for task in tasks {
            all.extend(task.await.unwrap());
        }
        assert_eq!(all.len(), 1_600);
        assert_distinct(all);
    })
    .await;
}

/// (I4) The witness is above the restored database, also for a process that has issued nothing yet.
// shows: I4, hazard GI14, id::Segments
async fn restored_database_is_noticed_by_another_process<DB: Tested>(database: TestDatabase<DB>) {
    in_time(async {
        let keel = Keel::memory();
        let first = open(&keel.another_process(), &database.pool);
        let mut all = take(&first, 2_000).await;
        assert_eq!(database.run(RESTORE).await, 1);
        let second = open(&keel.another_process(), &database.pool);
        let after = take(&second, 100).await;
        assert!(after[0].get() > 1 << 20, "{}", after[0]);
        all.extend(after);
        all.extend(take(&first, 100).await);
        assert_distinct(all);
    })
    .await;
}

// shows: hazard GI13, id::Segments::next
async fn missing_table_is_the_reason_of_the_wait<DB: Tested>(database: TestDatabase<DB>) {
    database.run("DROP TABLE evenkeel_sequences").await;
    let segments = Keel::memory().segments("invoices").wait(Duration::from_millis(300)).open(&database.pool).unwrap();
    let error = segments.next().await.unwrap_err();
    let IdError::NoneInTime { cause: Some(cause), .. } = &error else { panic!("{error}") };
    assert!(matches!(**cause, IdError::Database { is_retryable: false, .. }), "{cause}");
    assert!(!error.is_retryable() && error.to_string().contains("evenkeel::sql::migrate"), "{error}");
}

/// The witness is gone, and the database is restored: a process knows what it has issued itself.
// shows: I4, hazard GI14, id::Segments
#[tokio::test]
async fn process_notices_what_the_witness_forgot() {
    in_time(async {
        let fleet = Fleet::redis().await;
        let keel = fleet.process().await;
        let database = TestDatabase::<Sqlite>::open().await;
        let segments = open(&keel, &database.pool);
        // More than half of the block in use is left, so no fetch is under way that would leave a new witness.
        let mut all = take(&segments, 94).await;
        let key = format!("{{{}:i:invoices}}:witness", fleet.prefix());
        fleet.command(key.as_bytes(), redis::cmd("DEL").arg(&key)).await;
        database.run(RESTORE).await;
        all.extend(take(&segments, 95).await);
        assert!(all.last().unwrap().get() > 1 << 20);
        assert_distinct(all);
    })
    .await;
}

/// Without Redis numbers go on, without a witness; once it is back, the witness is above them.
// shows: I4, id::Segments
#[tokio::test]
async fn numbers_go_on_without_redis() {
    in_time(async {
        let mut redis = Redis::start(RedisOptions::new()).await.unwrap();
        let keel = Keel::connect(&redis.url()).await.unwrap();
        let database = TestDatabase::<Sqlite>::open().await;
        let segments = open(&keel, &database.pool);
        let mut all = take(&segments, 50).await;
        redis.kill().unwrap();
        let mut state = keel.link().unwrap().state();
        state.wait_for(|state| !state.is_up()).await.unwrap();
        all.extend(take(&segments, 50).await);
        redis.restart().await.unwrap();
        state.wait_for(|state| state.is_up()).await.unwrap();
        all.extend(take(&segments, 50).await);
        database.run(RESTORE).await;
        let another = Keel::connect(&redis.url()).await.unwrap();
        all.extend(take(&open(&another, &database.pool), 50).await);
        assert_distinct(all);
    })
    .await;
}

/// Another program's value in place of the witness is kept, and stops nothing.
#[tokio::test]
async fn foreign_witness_is_kept_and_stops_nothing() {
    in_time(async {
        let fleet = Fleet::redis().await;
        let keel = fleet.process().await;
        let database = TestDatabase::<Sqlite>::open().await;
        let key = format!("{{{}:i:invoices}}:witness", fleet.prefix());
        fleet.command(key.as_bytes(), redis::cmd("SET").arg(&key).arg("another program's")).await;
        let segments = open(&keel, &database.pool);
        // A witness that cannot be read is no reason to stop: the block is counted as unwitnessed.
        assert_eq!(take(&segments, 15).await.len(), 15);
        let kept = fleet.command(key.as_bytes(), redis::cmd("GET").arg(&key)).await;
        assert_eq!(kept, redis::Value::BulkString("another program's".into()));
    })
    .await;
}
