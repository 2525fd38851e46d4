//! Which readers may wait for a load, how many, and for how long.

use crate::cache::reads::db::Db;
use crate::cache::reads::rig::{Rig, Rows, find, reader, row, some};
use evenkeel::cache::{AfterWait, CacheError, Tier};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

const SECOND: Duration = Duration::from_secs(1);

on_both! {
    reader_above_waiters_max_is_rejected
    readers_waiting_for_a_permit_count_as_waiters
    readers_waiting_for_another_process_count_as_waiters
    reader_loads_for_itself_after_wait_max
    reader_fails_after_wait_max_if_configured
    reader_waiting_for_another_process_fails_if_configured
    batch_loads_missing_keys_after_wait_max
    batch_fails_after_wait_max_if_configured
    rejected_batch_returns_its_hits
}

type Crowd = JoinSet<Result<Option<Arc<String>>, CacheError>>;

/// Readers in tasks of their own, one for each key.
fn crowd(rows: &Rows, db: &Db, keys: &[u64]) -> Crowd {
    keys.iter()
        .map(|key| {
            let (rows, db, key) = (rows.clone(), db.clone(), *key);
            async move { rows.get(&key, |key| db.find(*key)).await }
        })
        .collect()
}

/// The first reader that returns was rejected, and its error says what to do.
async fn turned_away(crowd: &mut Crowd, limit: usize) {
    let error = crowd.join_next().await.unwrap().unwrap().unwrap_err();
    assert!(matches!(error, CacheError::Busy { limit: of } if of == limit), "{error:?}");
    assert!(error.is_retryable() && error.to_string().contains("raise waiters_max"), "{error}");
}

async fn all_are_served(crowd: Crowd) {
    for served in crowd.join_all().await {
        served.unwrap();
    }
}

/// A database that hangs collects every request of the program, until memory ends.
// shows: C6, C9, hazard D26, cache::Cache::get
async fn reader_above_waiters_max_is_rejected(rig: Rig) {
    let (rows, db) = (rig.rows_with(|builder| builder.waiters_max(2)).await, Db::with("a"));
    let mut load = db.hold();
    let leader = reader(&rows, &db);
    load.reached().await;
    let mut waiting = crowd(&rows, &db, &[1, 1, 1]);
    turned_away(&mut waiting, 2).await;
    load.release();
    assert_eq!(row(leader).await, some("a"));
    all_are_served(waiting).await;
    assert_eq!(db.loads(), 1);
    // Waiters have left.
    rows.purge(&1).await.unwrap();
    all_are_served(crowd(&rows, &db, &[1, 1, 1])).await;
}

async fn readers_waiting_for_a_permit_count_as_waiters(rig: Rig) {
    let (rows, db) = (rig.rows_with(|builder| builder.waiters_max(1).loads_max(1)).await, Db::with("a"));
    let mut load = db.hold();
    let leader = reader(&rows, &db);
    load.reached().await;
    let mut waiting = crowd(&rows, &db, &[2, 3]);
    turned_away(&mut waiting, 1).await;
    load.release();
    row(leader).await;
    all_are_served(waiting).await;
    assert_eq!(db.loads(), 2);
}

async fn readers_waiting_for_another_process_count_as_waiters(rig: Rig) {
    let (rows, elsewhere) = (rig.rows_with(|builder| builder.waiters_max(1)).await, rig.rows().await);
    let db = Db::with("a");
    let held = [db.hold(), db.hold()];
    let loading = crowd(&elsewhere, &db, &[1, 2]);
    db.until_loads(2).await;
    let mut waiting = crowd(&rows, &db, &[1, 2]);
    turned_away(&mut waiting, 1).await;
    held.into_iter().for_each(crate::cache::reads::db::HeldLoad::release);
    all_are_served(loading).await;
    rig.while_time_passes(all_are_served(waiting)).await;
    assert_eq!(db.loads(), 2);
}

/// A loader that hangs must not block readers that only wait for it.
async fn reader_loads_for_itself_after_wait_max(rig: Rig) {
    let (rows, db) = (rig.rows_with(|builder| builder.wait_max(SECOND)).await, Db::with("a"));
    let mut load = db.hold();
    let leader = reader(&rows, &db);
    load.reached().await;
    db.write(1, "b");
    let found = rig.while_time_passes(find(&rows, &db)).await.unwrap();
    assert_eq!((found.tier, found.value.as_deref()), (Tier::Loader, some("b").as_ref()));
    load.release();
    assert_eq!(row(leader).await, some("a"));
    assert_eq!(db.loads(), 2);
}

// shows: C6, cache::Cache::get
async fn reader_fails_after_wait_max_if_configured(rig: Rig) {
    let rows = rig.rows_with(|builder| builder.wait_max(SECOND).after_wait(AfterWait::Fail)).await;
    let db = Db::with("a");
    let mut load = db.hold();
    let leader = reader(&rows, &db);
    load.reached().await;
    let error = rig.while_time_passes(find(&rows, &db)).await.unwrap_err();
    assert!(matches!(error, CacheError::WaitedTooLong { waited } if waited >= SECOND), "{error:?}");
    assert!(error.is_retryable());
    load.release();
    assert_eq!((row(leader).await, db.loads()), (some("a"), 1));
}

async fn reader_waiting_for_another_process_fails_if_configured(rig: Rig) {
    let lease = Duration::from_secs(30);
    let slow = rig.rows_with(|builder| builder.lease(lease).load_budget(lease).load_timeout(2 * lease)).await;
    let rows = rig.rows_with(|builder| builder.wait_max(SECOND).after_wait(AfterWait::Fail)).await;
    let db = Db::with("a");
    let mut load = db.hold();
    let elsewhere = reader(&slow, &db);
    load.reached().await;
    let error = rig.while_time_passes(find(&rows, &db)).await.unwrap_err();
    assert!(matches!(error, CacheError::WaitedTooLong { .. }), "{error:?}");
    load.release();
    assert_eq!((row(elsewhere).await, db.loads()), (some("a"), 1));
}

async fn batch_loads_missing_keys_after_wait_max(rig: Rig) {
    let (rows, db) = (rig.rows_with(|builder| builder.wait_max(SECOND)).await, Db::with("a"));
    let held = [db.hold(), db.hold()];
    let loading = crowd(&rows, &db, &[1, 2]);
    db.until_loads(2).await;
    db.write(2, "b");
    let waiting = rows.get_many(&[1, 2, 3], |missing| db.find_many(missing));
    let found = rig.while_time_passes(waiting).await.unwrap();
    assert_eq!(found[&2].as_deref(), some("b").as_ref());
    assert_eq!((found[&1].as_deref(), &found[&3]), (some("a").as_ref(), &None));
    assert_eq!(db.loads(), 4, "two that hang, one for its own key, one for both others");
    held.into_iter().for_each(crate::cache::reads::db::HeldLoad::release);
    all_are_served(loading).await;
}

async fn batch_fails_after_wait_max_if_configured(rig: Rig) {
    let rows = rig.rows_with(|builder| builder.wait_max(SECOND).after_wait(AfterWait::Fail)).await;
    let db = Db::with("a");
    let mut load = db.hold();
    let leader = reader(&rows, &db);
    load.reached().await;
    let waiting = rows.get_many(&[1, 2], |missing| db.find_many(missing));
    let partial = rig.while_time_passes(waiting).await.unwrap_err();
    assert!(matches!(partial.failed[&1], CacheError::WaitedTooLong { .. }), "{partial:?}");
    assert_eq!((&partial.found[&2], partial.failed.len()), (&None, 1));
    load.release();
    row(leader).await;
}

// shows: cache::Cache::get_many, cache::Cache::get_many_from
async fn rejected_batch_returns_its_hits(rig: Rig) {
    let (rows, db) = (rig.rows_with(|builder| builder.waiters_max(1)).await, Db::with("a"));
    let mut load = db.hold();
    let leader = reader(&rows, &db);
    load.reached().await;
    let mut waiting = crowd(&rows, &db, &[1, 1]);
    turned_away(&mut waiting, 1).await;
    let partial = rows.get_many(&[1, 2], |missing| db.find_many(missing)).await.unwrap_err();
    assert!(matches!(partial.failed[&1], CacheError::Busy { limit: 1 }), "{partial:?}");
    assert_eq!(partial.found[&2], None);
    load.release();
    row(leader).await;
    all_are_served(waiting).await;
}
