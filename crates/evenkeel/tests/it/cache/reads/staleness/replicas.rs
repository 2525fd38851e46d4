//! Caches whose loaders read replicas: which loads must read the primary, and when.

use crate::cache::reads::db::{Db, DbError};
use crate::cache::reads::rig::{Rig, Rows};
use evenkeel::Keel;
use evenkeel::cache::{Cache, Freshness, Source};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use testkit::servers::{Redis, RedisOptions};

const LAG: Duration = Duration::from_secs(5);

on_both! {
    loader_context_requires_the_primary_after_a_write
    lagging_replica_is_not_read
    writer_without_replicas_protects_readers_of_replicas
    one_key_of_a_batch_sends_the_batch_to_the_primary
}

/// A replica that follows is read once the lag has passed, and not before: the store does not know how far it has come.
// shows: cache::CacheBuilder::reads_replicas
async fn loader_context_requires_the_primary_after_a_write(rig: Rig) {
    let (rows, replicas) = (rows(&rig).await, Replicas::of("7"));
    assert_eq!(replicas.read(&rows, Freshness::Eventual).await, ("7".to_owned(), Some(Source::Primary)));
    rig.advance(LAG).await;
    replicas.write("8", true);
    rows.invalidate_at(&1, 8).await.unwrap();
    assert_eq!(replicas.read(&rows, Freshness::Eventual).await, ("8".to_owned(), Some(Source::Primary)));
    rig.advance(LAG).await;
    let newer = Freshness::Bounded(Duration::ZERO);
    assert_eq!(replicas.read(&rows, newer).await, ("8".to_owned(), Some(Source::Replica)));
    assert_eq!(replicas.read(&rows, Freshness::Eventual).await, ("8".to_owned(), None), "it was stored");
    replicas.write("9", true);
    rows.invalidate_at(&1, 9).await.unwrap();
    assert_eq!(replicas.read(&rows, Freshness::Fresh).await, ("9".to_owned(), Some(Source::Primary)));
}

/// The write is on the primary and not on the replica yet, and the old row would be stored after the invalidation. A version kept it
/// from the store, but not from its reader; and a first load of the primary opened the replica to the second.
// shows: hazard H14, hazard BC1, cache::Cache::invalidate_at, cache::CacheBuilder::reads_replicas
async fn lagging_replica_is_not_read(rig: Rig) {
    let (rows, replicas) = (rows(&rig).await, Replicas::of("7"));
    replicas.read(&rows, Freshness::Eventual).await;
    rig.advance(LAG).await;
    for row in ["8", "9", "10"] {
        replicas.write(row, false);
        match row {
            "8" => rows.invalidate(&1).await.unwrap(),
            _ => rows.invalidate_at(&1, row.parse().unwrap()).await.unwrap(),
        };
        for freshness in [Freshness::Eventual, Freshness::Bounded(Duration::ZERO)] {
            assert_eq!(replicas.read(&rows, freshness).await, (row.to_owned(), Some(Source::Primary)));
            rig.advance(Duration::from_millis(1)).await;
        }
        replicas.follow();
        rig.advance(LAG).await;
        let newer = Freshness::Bounded(Duration::ZERO);
        assert_eq!(replicas.read(&rows, newer).await, (row.to_owned(), Some(Source::Replica)));
    }
}

/// A program without the setting commits and invalidates. Readers of another program that has it stored the replica's older row.
// shows: hazard BC1, cache::CacheBuilder::reads_replicas
async fn writer_without_replicas_protects_readers_of_replicas(rig: Rig) {
    let (rows, replicas) = (rows(&rig).await, Replicas::of("7"));
    let writer = rig.rows().await;
    replicas.read(&rows, Freshness::Eventual).await;
    rig.advance(LAG).await;
    replicas.write("8", false);
    writer.invalidate(&1).await.unwrap();
    assert_eq!(replicas.read(&rows, Freshness::Eventual).await, ("8".to_owned(), Some(Source::Primary)));
}

async fn one_key_of_a_batch_sends_the_batch_to_the_primary(rig: Rig) {
    let (rows, db) = (rows(&rig).await, Db::with("7"));
    db.write(2, "3");
    let asked = Mutex::new(Vec::new());
    let read = |keys: Vec<u64>, source| {
        asked.lock().unwrap().push((keys.len(), source));
        db.find_many(keys)
    };
    let newer = Freshness::Bounded(Duration::ZERO);
    rows.get_many_from(&[1], newer, read).await.unwrap();
    rig.advance(LAG).await;
    rows.get_many_from(&[1], newer, read).await.unwrap();
    rig.advance(Duration::from_millis(1)).await;
    rows.get_many_from(&[1, 2], newer, read).await.unwrap();
    let expected = [(1, Source::Primary), (1, Source::Replica), (2, Source::Primary)];
    assert_eq!(asked.into_inner().unwrap(), expected);
}

/// Redis answers reads and accepts invalidations when its memory is full, but grants no lease, so no load learned that the row had just been
/// written: readers got the replica's older row, as if Redis were down.
// shows: C1, hazard T33, cache::CacheBuilder::reads_replicas
#[tokio::test]
async fn load_that_redis_refuses_reads_the_primary() {
    let redis = Redis::start(RedisOptions::new()).await.unwrap();
    let keel = Keel::connect(&redis.url()).await.unwrap();
    let rows: Cache<u64, String> = keel.cache("rows").ttl(LAG).reads_replicas(LAG).open().await.unwrap();
    redis.command::<()>(&["CONFIG", "SET", "maxmemory", "1"]).await.unwrap();
    let replicas = Replicas::of("7");
    replicas.write("8", false);
    rows.invalidate(&1).await.unwrap();
    assert_eq!(replicas.read(&rows, Freshness::Eventual).await, ("8".to_owned(), Some(Source::Primary)));
    let asked = Mutex::new(Vec::new());
    let read = |keys: Vec<u64>, source| {
        asked.lock().unwrap().push(source);
        async move { Ok::<_, DbError>(keys.into_iter().map(|key| (key, key.to_string())).collect::<Vec<_>>()) }
    };
    rows.get_many_from(&[1, 2], Freshness::Eventual, read).await.unwrap();
    assert_eq!(asked.into_inner().unwrap(), [Source::Primary]);
}

async fn rows(rig: &Rig) -> Rows {
    rig.rows_with(|builder| builder.reads_replicas(LAG).version(|row| row.parse().unwrap())).await
}

/// Row 1 on a primary and on a replica.
#[derive(Clone)]
struct Replicas(Arc<Mutex<State>>);

struct State {
    primary: String,
    replica: String,
    asked: Option<Source>,
}

impl Replicas {
    fn of(row: &str) -> Self {
        Self(Arc::new(Mutex::new(State { primary: row.to_owned(), replica: row.to_owned(), asked: None })))
    }

    fn write(&self, row: &str, follows: bool) {
        row.clone_into(&mut self.0.lock().unwrap().primary);
        if follows {
            self.follow();
        }
    }

    fn follow(&self) {
        let mut state = self.0.lock().unwrap();
        state.replica = state.primary.clone();
    }

    /// What a reader gets, and which server its load reads.
    async fn read(&self, rows: &Rows, freshness: Freshness) -> (String, Option<Source>) {
        self.0.lock().unwrap().asked = None;
        let replicas = self.clone();
        let found = rows.get_from(&1, freshness, move |source| async move {
            let mut state = replicas.0.lock().unwrap();
            state.asked = Some(source);
            let row = if source == Source::Replica { &state.replica } else { &state.primary };
            Ok::<_, DbError>(Some(row.clone()))
        });
        let row = found.await.unwrap().value.as_deref().cloned().unwrap();
        (row, self.0.lock().unwrap().asked)
    }
}
