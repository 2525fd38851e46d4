//! Redis rejects the calls of one shard, or of one job: the jobs of the others are compared with their rows, purged and revoked. On one
//! database, because the calls that fail are those to Redis.

use super::scripts_run;
use crate::sql::databases::TestDatabase;
use evenkeel::Keel;
use evenkeel::queue::topic::JobState as Among;
use evenkeel::queue::{Delivery, Handled, JobId, Queue};
use evenkeel_protocol::queue::steps::{Found, State};
use std::convert::Infallible;
use std::time::Duration;
use testkit::servers::{Redis, RedisOptions};

const HOUR: Duration = Duration::from_secs(3_600);
const LIVE: &str = "SELECT COUNT(*) FROM evenkeel_jobs WHERE state = 1";

struct Stage {
    place: TestDatabase<sqlx::Sqlite>,
    redis: Redis,
    queue: Queue<u32>,
}

impl Stage {
    async fn open(shards: u16) -> Self {
        let place = TestDatabase::<sqlx::Sqlite>::open().await;
        let redis = Redis::start(RedisOptions::new()).await.unwrap();
        let keel = Keel::connect(&redis.url()).await.unwrap();
        let queue = keel.queue("row_decides").shards(shards).retries(0).sql(&place.pool).open().await.unwrap();
        Self { place, redis, queue }
    }

    async fn in_store(&self, id: JobId) -> Option<Found> {
        let (steps, shard) = self.queue.steps(&id);
        steps.job(&shard, id).await.unwrap()
    }

    /// Another program uses this key of a shard.
    async fn occupy(&self, id: JobId, key: &str) {
        let key = format!("{}:{key}", self.queue.steps(&id).1.tag());
        self.redis.command::<()>(&["DEL", &key]).await.unwrap();
        self.redis.command::<()>(&["SET", &key, "another program's"]).await.unwrap();
    }

    /// Two shards with a waiting job each. Redis rejects calls about those of the first.
    async fn with_a_sick_shard() -> (Self, [JobId; 2]) {
        let stage = Self::open(2).await;
        let ids = [0, 1].map(|shard| ids_of(shard).next().unwrap());
        for id in ids {
            stage.queue.job(&1).raw_id(id).delay(HOUR).enqueue().await.unwrap();
        }
        stage.occupy(ids[0], "due:2").await;
        (stage, ids)
    }

    /// Makes a dead letter of each, one after the other.
    async fn die(&self, ids: [JobId; 2]) {
        let consumer =
            self.queue.consume(|_: Delivery<u32>| async { Ok::<_, Infallible>(Handled::Dead("no use".into())) });
        let task = tokio::spawn(async move { consumer.run(std::future::pending()).await.unwrap() });
        for id in ids {
            self.queue.job(&1).raw_id(id).enqueue().await.unwrap();
            while !matches!(self.in_store(id).await, Some(Found::Live { state: State::Dead, .. })) {
                tokio::task::yield_now().await;
            }
        }
        task.abort();
        let _ = task.await;
    }

    /// Purges, which ends with this error of Redis; returns how many rows still live.
    async fn purged(&self, state: Among, error: &str) -> u64 {
        let refused = self.queue.topic().purge(state, "row_decides").await.unwrap_err();
        assert!(refused.to_string().contains(error), "{refused}");
        u64::try_from(self.place.number(LIVE).await).unwrap()
    }
}

/// Ids of one of two shards.
fn ids_of(shard: u16) -> impl Iterator<Item = JobId> {
    (0_u32..).map(|number| JobId::named(&number.to_be_bytes())).filter(move |id| id.shard(2) == shard)
}

/// Nothing was deleted while Redis rejected one of two shards.
// shows: hazard SF16
#[tokio::test]
async fn purge_with_a_sick_shard_deletes_jobs_of_the_other() {
    let (stage, _) = Stage::with_a_sick_shard().await;
    assert_eq!(stage.purged(Among::Waiting, "WRONGTYPE").await, 1, "only that of the sick shard");
}

/// The dead letters of all shards stayed.
// shows: hazard SF16
#[tokio::test]
async fn purge_with_a_sick_shard_deletes_dead_letters_of_the_other() {
    let stage = Stage::open(2).await;
    let ids = [0, 1].map(|shard| ids_of(shard).next().unwrap());
    stage.die(ids).await;
    stage.occupy(ids[0], "meta").await;
    assert_eq!(stage.purged(Among::Dead, "WRONGTYPE").await, 1);
}

/// The dead letters behind the first one that was rejected stayed. Redis permits no key of that one.
// shows: hazard SF16
#[tokio::test]
async fn purge_of_dead_letters_passes_one_that_is_rejected() {
    let stage = Stage::open(1).await;
    let id = |first: u8, last: u8| {
        let mut id = [first; 16];
        id[15] = last;
        JobId(id)
    };
    stage.die([id(1, b'Z'), id(2, b'a')]).await;
    stage.redis.command::<()>(&["ACL", "SETUSER", "default", "resetkeys", "~*[^Z]"]).await.unwrap();
    assert_eq!(stage.purged(Among::Dead, "access").await, 1);
}

/// The jobs behind the first one that is rejected were not revoked.
// shows: hazard SF16
#[tokio::test]
async fn revocation_that_is_rejected_stops_no_other() {
    let (stage, ids) = Stage::with_a_sick_shard().await;
    let refused = stage.queue.topic().revoke(&ids).await.unwrap_err();
    assert!(refused.to_string().contains("WRONGTYPE"), "{refused}");
    assert_eq!(stage.place.number(LIVE).await, 1);
}

/// A page with rows of a shard that Redis rejects restored nothing, and later asked for each of its jobs by itself, with each round.
// shows: hazard SF20
#[tokio::test]
async fn sweep_with_a_sick_shard_restores_jobs_of_the_other() {
    const JOBS: usize = 60;
    let (stage, [_, lost]) = Stage::with_a_sick_shard().await;
    for id in ids_of(0).skip(1).take(JOBS) {
        // The row is written; the store rejects the job.
        stage.queue.job(&1).raw_id(id).delay(HOUR).enqueue().await.unwrap();
    }
    // In one step, so that no sweep comes in between: the store loses a job, and another process has the lease of the sweep.
    let lose =
        "redis.call('DEL', ARGV[1]) redis.call('ZREM', ARGV[2], ARGV[3]) return redis.call('SET', ARGV[4], 'another')";
    let (tag, first) = (stage.queue.steps(&lost).1, stage.queue.steps(&ids_of(0).next().unwrap()).1);
    let mut run = redis::cmd("EVAL");
    run.arg(lose).arg(0).arg([format!("{}:job:", tag.tag()).as_bytes(), &lost.0].concat());
    run.arg(format!("{}:due:2", tag.tag())).arg(&lost.0).arg(format!("{}:sweep", first.tag()));
    run.exec_async(&mut stage.redis.connection().await.unwrap()).await.unwrap();
    assert!(stage.in_store(lost).await.is_none());

    let before = scripts_run(&stage.redis).await;
    let refused = stage.queue.sweep_once().await.unwrap_err();
    assert!(refused.to_string().contains("WRONGTYPE"), "{refused}");
    let calls = scripts_run(&stage.redis).await - before;
    assert!(calls < JOBS / 2, "{calls} calls for {JOBS} jobs of a shard that Redis rejects");
    assert!(matches!(stage.in_store(lost).await, Some(Found::Live { state: State::Waiting(_), .. })));
}
