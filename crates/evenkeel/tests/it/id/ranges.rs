//! Ranges that Redis hands out: one that a server was not given in its present history is not handed out, whatever the database and Redis lose.

use super::assert_distinct;
use crate::in_time;
use crate::sql::databases::{TestDatabase, Tested, on_each_database};
use evenkeel::Keel;
use evenkeel::id::{Id, Segments};
use evenkeel::sql::Database;
use sqlx::{Pool, Sqlite};
use testkit::eventually;
use testkit::servers::{Redis, RedisOptions};

on_each_database! {
    processes_share_a_range
    restored_database_hands_out_no_range_again
}

const RESTORE: &str = "UPDATE evenkeel_sequences SET next_value = 1";
const NEXT: &str = "SELECT next_value FROM evenkeel_sequences WHERE name = 'invoices'";

fn open<DB: Database>(keel: &Keel, pool: &Pool<DB>) -> Segments {
    keel.segments("invoices").step(10..=10).via_redis().open(pool).unwrap()
}

/// What another process takes: so many numbers, which rise.
async fn process<DB: Database>(keel: &Keel, pool: &Pool<DB>, count: usize) -> Vec<Id> {
    take(&open(keel, pool), count).await
}

async fn take(segments: &Segments, count: usize) -> Vec<Id> {
    let mut taken = Vec::with_capacity(count);
    for _ in 0..count {
        taken.push(segments.next().await.unwrap());
    }
    assert!(taken.is_sorted(), "they rise: {taken:?}");
    taken
}

// shows: I5, id::SegmentsBuilder::via_redis
async fn processes_share_a_range<DB: Tested>(database: TestDatabase<DB>) {
    in_time(async {
        let keel = Keel::memory();
        let mut all = process(&keel.another_process(), &database.pool, 5).await;
        all.extend(process(&keel.another_process(), &database.pool, 5).await);
        assert!(all[5].get() <= 31, "after the blocks of the first: {}", all[5]);
        assert_eq!(database.number(NEXT).await, 161, "one range of 16 blocks for both");
        let mut tasks = Vec::new();
        for _ in 0..4 {
            let segments = open(&keel.another_process(), &database.pool);
            tasks.push(tokio::spawn(async move { take(&segments, 200).await }));
        }
        for task in tasks {
            all.extend(task.await.unwrap());
        }
        assert_distinct(all);
    })
    .await;
}

/// (I5) The rest of the range was committed before; the next one is below the witness, so the sequence goes on above.
// shows: I5
async fn restored_database_hands_out_no_range_again<DB: Tested>(database: TestDatabase<DB>) {
    in_time(async {
        let keel = Keel::memory();
        let mut all = process(&keel.another_process(), &database.pool, 200).await;
        database.run(RESTORE).await;
        all.extend(process(&keel.another_process(), &database.pool, 400).await);
        assert!(all.last().unwrap().get() > 1 << 20, "{all:?}");
        assert_distinct(all);
    })
    .await;
}

/// A server and its replica. The server keeps its replication id from now on: with its first replica it gets another one.
async fn replicated() -> (Redis, Redis) {
    let primary = Redis::start(RedisOptions::new()).await.unwrap();
    let replica = Redis::start(RedisOptions::new().replica_of(primary.port())).await.unwrap();
    is_connected(&replica).await;
    (primary, replica)
}

async fn is_connected(replica: &Redis) {
    eventually("the replica has copied the data", || async {
        let info: String = replica.command(&["INFO", "replication"]).await.ok()?;
        info.contains("master_link_status:up").then_some(())
    })
    .await
    .unwrap();
}

/// The replica has a range, and gets nothing later.
async fn promote(replica: &Redis) {
    eventually("the replica has the range", || async {
        let ranges: Vec<String> = replica.command(&["KEYS", "*:range"]).await.ok()?;
        (ranges.len() == 1).then_some(())
    })
    .await
    .unwrap();
    replica.command::<()>(&["REPLICAOF", "NO", "ONE"]).await.unwrap();
}

/// (I5) A promoted replica has the range as it was before the last numbers were taken.
// shows: I5, hazard GI15, id::SegmentsBuilder::via_redis
#[tokio::test]
async fn range_of_another_server_is_not_handed_out() {
    in_time(async {
        let (primary, replica) = replicated().await;
        let database = TestDatabase::<Sqlite>::open().await;
        let segments = open(&Keel::connect(&primary.url()).await.unwrap(), &database.pool);
        let mut all = take(&segments, 5).await;
        promote(&replica).await;
        all.extend(take(&segments, 60).await);
        all.extend(process(&Keel::connect(&replica.url()).await.unwrap(), &database.pool, 60).await);
        assert_distinct(all);
    })
    .await;
}

/// (I5) The same server becomes a replica of it, gets the range of before, and is promoted again: its run id has not changed.
// shows: I5, hazard GI15, id::SegmentsBuilder::via_redis
#[tokio::test]
async fn range_that_came_back_with_another_history_is_not_handed_out() {
    in_time(async {
        let (primary, replica) = replicated().await;
        let database = TestDatabase::<Sqlite>::open().await;
        let segments = open(&Keel::connect(&primary.url()).await.unwrap(), &database.pool);
        let mut all = take(&segments, 5).await;
        promote(&replica).await;
        all.extend(take(&segments, 60).await);
        drop(segments);
        let port = replica.port().to_string();
        primary.command::<()>(&["REPLICAOF", "127.0.0.1", &port]).await.unwrap();
        is_connected(&primary).await;
        primary.command::<()>(&["REPLICAOF", "NO", "ONE"]).await.unwrap();
        all.extend(process(&Keel::connect(&primary.url()).await.unwrap(), &database.pool, 60).await);
        assert_distinct(all);
    })
    .await;
}

/// (I5) Without Redis blocks come from the database, and a flushed server has no range.
// shows: I5, id::SegmentsBuilder::via_redis
#[tokio::test]
async fn numbers_of_ranges_go_on_without_redis() {
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
        redis.command::<()>(&["FLUSHALL"]).await.unwrap();
        all.extend(take(&segments, 50).await);
        all.extend(process(&Keel::connect(&redis.url()).await.unwrap(), &database.pool, 50).await);
        assert!(database.number(NEXT).await > 400, "blocks of the database, and ranges");
        assert_distinct(all);
    })
    .await;
}
