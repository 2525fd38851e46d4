//! Many keys in one call.

use crate::cache::reads::db::{Db, DbError};
use crate::cache::reads::rig::{Rig, Rows, no_answer, reader, row, some};
use evenkeel::Keel;
use evenkeel::cache::{CacheBuilder, CacheError, Incomplete, Invalidated};
use evenkeel::testing::{Side, Step, StepGate};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use testkit::CommandTrace;
use testkit::park;
use testkit::servers::{Redis, RedisOptions};
use tokio::task::JoinHandle;

on_both! {
    batch_loads_missing_keys_in_one_call
    batch_joins_loads_in_progress
    batch_waits_for_load_longer_than_its_lease
    readers_join_the_load_of_a_batch
    batch_loads_its_own_keys_before_waiting
    invalidation_during_batch_rejects_only_its_key
    failed_batch_load_fails_only_its_keys
    batch_load_survives_a_dropped_caller
    batch_serves_and_refreshes_due_values
    invalidate_many_repeats_the_key_that_failed
    batch_of_ten_thousand_keys_is_stored
    batch_ignores_rows_that_were_not_requested
    absence_is_not_cached_if_other_keys_are_returned
    unreadable_entry_reloads_only_its_key
}

type Runs = Arc<Mutex<Vec<Vec<u64>>>>;
type Answer = Result<HashMap<u64, Option<Arc<String>>>, Incomplete<u64, String>>;

/// A batch in its own task, which records what its loader was called with.
fn batch(rows: &Rows, db: &Db, runs: &Runs, keys: &[u64]) -> JoinHandle<Answer> {
    let (rows, db, runs, keys) = (rows.clone(), db.clone(), Arc::clone(runs), keys.to_vec());
    tokio::spawn(async move {
        rows.get_many(&keys, |missing| {
            runs.lock().unwrap().push(missing.clone());
            db.find_many(missing)
        })
        .await
    })
}

/// What a batch that did not fail got, in the order of the keys.
async fn all(batch: JoinHandle<Answer>) -> Vec<(u64, Option<String>)> {
    let found = batch.await.unwrap().unwrap();
    let mut found: Vec<_> = found.into_iter().map(|(key, row)| (key, row.map(|row| String::clone(&row)))).collect();
    found.sort();
    found
}

fn runs(runs: &Runs) -> Vec<Vec<u64>> {
    std::mem::take(&mut *runs.lock().unwrap())
}

async fn batch_loads_missing_keys_in_one_call(rig: Rig) {
    let (rows, db, asked) = (rig.rows().await, Db::with("a"), Runs::default());
    db.write(2, "b");
    assert_eq!(all(batch(&rows, &db, &asked, &[2])).await, [(2, some("b"))]);
    let page = [(1, some("a")), (2, some("b")), (3, None)];
    assert_eq!(all(batch(&rows, &db, &asked, &[1, 2, 3, 2, 1])).await, page);
    assert_eq!(all(batch(&rows, &db, &asked, &[3, 2, 1])).await, page);
    assert_eq!(all(batch(&rows, &db, &asked, &[])).await, []);
    assert_eq!(runs(&asked), [vec![2], vec![1, 3]], "absence is cached, too");
}

async fn batch_joins_loads_in_progress(rig: Rig) {
    let (rows, elsewhere, db, asked) = (rig.rows().await, rig.rows().await, Db::with("a"), Runs::default());
    db.write(2, "b");
    let (mut here, here_reader) = (db.hold(), reader(&rows, &db));
    here.reached().await;
    let (mut there, there_batch) = (db.hold(), batch(&elsewhere, &db, &asked, &[2]));
    there.reached().await;
    let waiting = batch(&rows, &db, &asked, &[1, 2, 3]);
    db.until_loads(3).await;
    here.release();
    there.release();
    assert_eq!(row(here_reader).await, some("a"));
    assert_eq!(all(there_batch).await, [(2, some("b"))]);
    let found = rig.while_time_passes(all(waiting)).await;
    assert_eq!(found, [(1, some("a")), (2, some("b")), (3, None)]);
    assert_eq!(runs(&asked), [vec![2], vec![3]]);
}

/// The lease of a slow load expires, and the next batch asks the database for the same row again.
async fn batch_waits_for_load_longer_than_its_lease(rig: Rig) {
    let (rows, db, asked) = (rig.rows().await, Db::with("a"), Runs::default());
    let (mut load, slow) = (db.hold(), reader(&rows, &db));
    load.reached().await;
    rig.advance(Duration::from_secs(1)).await;
    let waiting = batch(&rows, &db, &asked, &[1, 2]);
    db.until_loads(2).await;
    load.release();
    row(slow).await;
    assert_eq!(all(waiting).await, [(1, some("a")), (2, None)]);
    assert_eq!(runs(&asked), [[2]]);
}

async fn readers_join_the_load_of_a_batch(rig: Rig) {
    let (rows, db, asked) = (rig.rows().await, Db::with("a"), Runs::default());
    let (mut load, loading) = (db.hold(), batch(&rows, &db, &asked, &[1, 2]));
    load.reached().await;
    let readers: Vec<_> = (0..10).map(|_| reader(&rows, &db)).collect();
    load.release();
    for reader in readers {
        assert_eq!(row(reader).await, some("a"));
    }
    all(loading).await;
    assert_eq!(db.loads(), 1);
}

async fn batch_loads_its_own_keys_before_waiting(rig: Rig) {
    let (rows, db, asked) = (rig.rows().await, Db::with("a"), Runs::default());
    let (mut load, slow) = (db.hold(), reader(&rows, &db));
    load.reached().await;
    let waiting = batch(&rows, &db, &asked, &[1, 2]);
    // Its own key is loaded while the other one hangs.
    db.until_loads(2).await;
    load.release();
    row(slow).await;
    assert_eq!(all(waiting).await, [(1, some("a")), (2, None)]);
    assert_eq!(runs(&asked), [[2]]);
}

// shows: hazard H7
async fn invalidation_during_batch_rejects_only_its_key(rig: Rig) {
    let (rows, writing, db, asked) = (rig.rows().await, rig.rows().await, Db::with("old"), Runs::default());
    db.write(2, "b");
    let (mut load, loading) = (db.hold(), batch(&rows, &db, &asked, &[1, 2]));
    load.reached().await;
    db.write(1, "new");
    writing.invalidate(&1).await.unwrap();
    load.release();
    assert_eq!(all(loading).await, [(1, some("old")), (2, some("b"))], "it began before the write");
    runs(&asked);
    assert_eq!(all(batch(&rows, &db, &asked, &[1, 2])).await, [(1, some("new")), (2, some("b"))]);
    assert_eq!(runs(&asked), [[1]], "the other key was stored");
}

/// H8: a recovered panic became an empty value for every key of the batch.
// shows: hazard H8, cache::Cache::get_many, cache::Cache::get_many_from
async fn failed_batch_load_fails_only_its_keys(rig: Rig) {
    let (rows, db, asked) = (rig.rows().await, Db::with("a"), Runs::default());
    all(batch(&rows, &db, &asked, &[1])).await;
    db.fail(Some(DbError("away")));
    let partial = batch(&rows, &db, &asked, &[1, 2, 3]).await.unwrap().unwrap_err();
    assert_eq!(partial.found[&1].as_deref(), some("a").as_ref());
    assert_eq!((partial.found.len(), partial.failed.len()), (1, 2));
    assert_eq!(partial.failed[&2].loader_error::<DbError>(), Some(&DbError("away")));
    assert_eq!(partial.to_string(), "2 of 3 keys failed; one of the errors: the loader failed: away");
    let error: CacheError = partial.into();
    assert!(matches!(error, CacheError::Loader(_)));

    let keys = [11, 12];
    let panicked = rows.get_many(&keys, |_| async { rows_of_a_panic() }).await.unwrap_err();
    assert!(panicked.failed.values().all(|error| matches!(error, CacheError::LoaderPanicked(_))));
    assert_eq!(panicked.failed.len(), 2);
    assert!(panicked.found.is_empty());
}

// shows: cache::Cache::get_many, cache::Cache::get_many_from
fn rows_of_a_panic() -> Result<Vec<(u64, String)>, DbError> {
    panic!("cursed")
}

// shows: hazard H5
async fn batch_load_survives_a_dropped_caller(rig: Rig) {
    let (rows, db, asked) = (rig.rows().await, Db::with("a"), Runs::default());
    let (mut load, gone) = (db.hold(), batch(&rows, &db, &asked, &[1, 2]));
    load.reached().await;
    let waiting = reader(&rows, &db);
    gone.abort();
    assert!(gone.await.unwrap_err().is_cancelled());
    load.release();
    assert_eq!(row(waiting).await, some("a"));
    all(batch(&rows, &db, &asked, &[1, 2])).await;
    assert_eq!(db.loads(), 1);
}

async fn batch_serves_and_refreshes_due_values(rig: Rig) {
    let (rows, db, asked) = (rig.rows().await, Db::with("a"), Runs::default());
    all(batch(&rows, &db, &asked, &[1, 2])).await;
    rig.advance(Duration::from_secs(599)).await;
    db.write(1, "b");
    assert_eq!(all(batch(&rows, &db, &asked, &[1])).await, [(1, some("a"))]);
    rows.until_idle().await;
    assert_eq!(all(batch(&rows, &db, &asked, &[1])).await, [(1, some("b"))]);
}

// shows: hazard H7, cache::Cache::invalidate_many
async fn invalidate_many_repeats_the_key_that_failed(rig: Rig) {
    let gate = StepGate::default();
    let rows = rig.rows_with(|builder| builder.gate(&gate)).await;
    let (db, asked) = (Db::new(), Runs::default());
    let keys: Vec<u64> = (0..1_200).collect();
    all(batch(&rows, &db, &asked, &keys)).await;
    rows.invalidate_many(&keys).await.unwrap();
    runs(&asked);
    all(batch(&rows, &db, &asked, &keys)).await;
    assert_eq!(runs(&asked), std::slice::from_ref(&keys), "all of them were invalidated");
    // A failed invalidation stays pending, and the others complete all the same.
    gate.hold(Step::Invalidate, Side::BeforeSend).fail(no_answer());
    gate.hold(Step::Invalidate, Side::BeforeSend).release();
    let mut again = gate.hold(Step::Invalidate, Side::BeforeSend);
    let error = rows.invalidate_many(&[1, 2]).await.unwrap_err();
    assert!(error.outcome_unknown());
    again.reached().await;
    again.release();
}

/// Ten thousand leases at once exceeded the number of commands that a link lets wait for replies, and the rejected ones were
/// not stored.
async fn batch_of_ten_thousand_keys_is_stored(rig: Rig) {
    // A busy machine may need longer for so many keys than the default load budget.
    let (lease, budget, ttl) = (Duration::from_secs(60), Duration::from_secs(120), Duration::from_secs(600));
    let patient = |rows: CacheBuilder<u64, String>| rows.lease(lease).load_budget(budget).absent_ttl(ttl);
    let (rows, db, asked) = (rig.rows_with(patient).await, Db::new(), Runs::default());
    let keys: Vec<u64> = (0..10_000).collect();
    keys.iter().step_by(2).for_each(|key| db.write(*key, "even"));
    for _ in 0..2 {
        let found = all(batch(&rows, &db, &asked, &keys)).await;
        assert!(found.iter().map(|(key, _)| *key).eq(keys.iter().copied()));
        assert!(found.iter().all(|(key, row)| row.is_some() == (key % 2 == 0)));
    }
    let sizes: Vec<usize> = runs(&asked).iter().map(Vec::len).collect();
    assert_eq!(sizes, [10_000], "one run for all, and then none");
}

/// A loader that returns more than requested must not store it past the fence: there is no lease for those keys.
async fn batch_ignores_rows_that_were_not_requested(rig: Rig) {
    let (rows, db) = (rig.rows().await, Db::new());
    let found =
        rows.get_many(&[1, 2], |_| async { Ok::<_, DbError>([(2, "b".to_owned()), (3, "c".to_owned())]) }).await;
    let found = found.unwrap();
    assert_eq!((found.len(), &found[&1], found[&2].as_deref()), (2, &None, some("b").as_ref()));
    assert_eq!(rows.get(&3, |key| db.find(*key)).await.unwrap(), None);
    assert_eq!(db.loads(), 1);
}

/// A case-insensitive column finds the row of `ada` for `ADA`, and the absence of `ADA` was cached for all its readers.
// shows: hazard BC5
async fn absence_is_not_cached_if_other_keys_are_returned(rig: Rig) {
    let users = rig.process().await.cache::<String, u64>("user").ttl(Duration::from_secs(600)).open().await.unwrap();
    let loads = Mutex::new(Vec::new());
    for _ in 0..2 {
        let load = |keys: Vec<String>| {
            loads.lock().unwrap().push(keys.len());
            async { Ok::<_, DbError>([("ada".to_owned(), 7), ("bob".to_owned(), 8)]) }
        };
        let found = users.get_many(["ADA", "bob"], load).await.unwrap();
        assert_eq!((found["ADA"].as_deref(), found["bob"].as_deref()), (None, Some(&8)));
    }
    assert_eq!(loads.into_inner().unwrap(), [2, 1]);
    let found = users.get("ADA", |_| async { Ok::<_, DbError>(Some(7)) }).await.unwrap();
    assert_eq!(found.as_deref(), Some(&7));
}

/// One entry of another type under a page's keys must not cost the page.
async fn unreadable_entry_reloads_only_its_key(rig: Rig) {
    let (rows, db, asked) = (rig.rows().await, Db::with("a"), Runs::default());
    db.write(2, "b");
    all(batch(&rows, &db, &asked, &[1])).await;
    let numbers = rig.process().await.cache::<u64, u64>("row").ttl(Duration::from_secs(600)).open().await.unwrap();
    numbers.get(&2, |_| async { Ok::<_, DbError>(Some(7)) }).await.unwrap();
    let page = [(1, some("a")), (2, some("b")), (3, None)];
    assert_eq!(all(batch(&rows, &db, &asked, &[1, 2, 3])).await, page);
    assert_eq!(runs(&asked), [vec![1], vec![2, 3]]);
}

/// A page of a hundred rows must not cost a hundred round trips.
// shows: hazard H9
#[tokio::test]
async fn batch_of_hits_is_one_socket_write() {
    let redis = Redis::start(RedisOptions::new()).await.unwrap();
    let keel = Keel::connect(&redis.url()).await.unwrap();
    let rows: Rows = keel.cache("row").ttl(Duration::from_secs(600)).open().await.unwrap();
    let (db, asked, keys) = (Db::new(), Runs::default(), (0..100).collect::<Vec<u64>>());
    all(batch(&rows, &db, &asked, &keys)).await;
    let mut trace = CommandTrace::start(&redis).await.unwrap();
    let before = reads_of(&redis).await;
    all(batch(&rows, &db, &asked, &keys)).await;
    let after = reads_of(&redis).await;
    assert!(after - before < 50, "{} reads of the sockets: not one write for all", after - before);
    let sent = trace.take(&redis).await.unwrap().from_clients().on_prefix("evenkeel:c:");
    assert_eq!(sent.names(), ["GET"; 100]);
    assert_eq!(runs(&asked).len(), 1);
}

/// What a batch sent above the limit of the link was rejected: its rows were not stored, and its invalidations failed.
// shows: hazard BW11
#[tokio::test]
async fn batch_above_the_limit_in_flight_is_whole() {
    let redis = park::redis().await.unwrap();
    let keel = Keel::connect(&format!("{}?prefix={}&in_flight_max=8", redis.url, redis.prefix)).await.unwrap();
    let rows: Rows = keel.cache("row").ttl(Duration::from_secs(600)).open().await.unwrap();
    let (db, asked, keys) = (Db::new(), Runs::default(), (0..100).collect::<Vec<u64>>());
    all(batch(&rows, &db, &asked, &keys)).await;
    all(batch(&rows, &db, &asked, &keys)).await;
    assert_eq!(runs(&asked).len(), 1);
    assert_eq!(rows.invalidate_many(&keys).await.unwrap(), Invalidated::Done);
    all(batch(&rows, &db, &asked, &keys)).await;
    assert_eq!(runs(&asked), [keys]);
}

/// How often the server has read from its sockets: as often as clients have written, as long as they write little at once.
async fn reads_of(redis: &Redis) -> u64 {
    let stats: String = redis.command(&["INFO", "stats"]).await.unwrap();
    let reads = stats.lines().find_map(|line| line.strip_prefix("total_reads_processed:")).unwrap();
    reads.trim().parse().unwrap()
}
