//! The values that are served while the database is unavailable or slow, and until when.

use crate::cache::reads::db::{Db, DbError};
use crate::cache::reads::rig::{Rig, Rows, find, get, some};
use evenkeel::cache::{CacheBuilder, CacheError, Found, Freshness, Stale, Tier};
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);

on_both! {
    failed_load_serves_the_expired_value
    fail_safe_never_extends_a_value
    fail_safe_serves_invalidated_but_not_purged_values
    repeatedly_failing_load_does_not_delay_readers
    fresh_read_gets_the_error_despite_fail_safe
    stale_if_error_is_bounded_by_store_retention
    stale_while_revalidate_accepts_expired_value
    rejected_reader_is_served_the_stale_value
    failed_load_without_fail_safe_is_an_error
    soft_timeout_serves_expired_value_and_stores_load
    batch_serves_stale_values_when_loads_fail
    batch_waits_no_longer_than_the_soft_timeout
}

type Builder = CacheBuilder<u64, String>;

/// A cache whose one value, `a`, was loaded ten minutes ago and has ended; it may be served for an hour.
async fn ended(rig: &Rig, change: impl FnOnce(Builder) -> Builder) -> (Rows, Db) {
    let (rows, db) = (rig.rows_with(|builder| change(builder.fail_safe(HOUR))).await, Db::with("a"));
    get(&rows, &db).await;
    rig.advance(10 * MINUTE).await;
    (rows, db)
}

fn away(db: &Db) {
    db.fail(Some(DbError("away")));
}

fn text(found: &Found<String>) -> (Option<&str>, Option<Stale>) {
    (found.value.as_deref().map(String::as_str), found.stale)
}

async fn failed_load_serves_the_expired_value(rig: Rig) {
    let (rows, db) = ended(&rig, |builder| builder).await;
    away(&db);
    let found = find(&rows, &db).await.unwrap();
    assert_eq!(text(&found), (Some("a"), Some(Stale::LoaderFailed)));
    assert_eq!((found.tier, found.age), (Tier::Store, 10 * MINUTE));
    db.fail(None);
    db.write(1, "b");
    rig.advance(MINUTE).await;
    assert_eq!(text(&find(&rows, &db).await.unwrap()), (Some("b"), None));
    assert_eq!(find(&rows, &db).await.unwrap().tier, Tier::Store);
}

/// H10: each failed load extended the value, so it never expired while the database was unavailable.
// shows: C6, hazard D20
async fn fail_safe_never_extends_a_value(rig: Rig) {
    let (rows, db) = ended(&rig, |builder| builder).await;
    away(&db);
    for minute in 10..60 {
        let found = find(&rows, &db).await.unwrap();
        assert_eq!((text(&found).0, found.age), (Some("a"), minute * MINUTE));
        if minute % 7 == 0 {
            rows.invalidate(&1).await.unwrap();
        }
        rig.advance(if minute == 59 { MINUTE - Duration::from_millis(1) } else { MINUTE }).await;
    }
    // The entry may still exist, for the load that failed last.
    let last = rows.get_with(&1, Freshness::Eventual, |key| db.find(*key)).await.unwrap();
    assert_eq!(last.age, HOUR - Duration::from_millis(1));
    rig.advance(Duration::from_millis(2)).await;
    let error = rig.while_time_passes(find(&rows, &db)).await.unwrap_err();
    assert!(matches!(error, CacheError::Loader(_)), "{error:?}");
}

/// A purged value must not be served by the fail-safe either.
// shows: C6, hazard D20
async fn fail_safe_serves_invalidated_but_not_purged_values(rig: Rig) {
    let (rows, db) = (rig.rows_with(|builder| builder.fail_safe(HOUR)).await, Db::with("a"));
    get(&rows, &db).await;
    rows.invalidate(&1).await.unwrap();
    assert_eq!(get(&rows, &db).await, some("a"));
    assert_eq!(db.loads(), 2, "as long as loading works, an invalidated value is not served");
    rows.invalidate(&1).await.unwrap();
    away(&db);
    assert_eq!(text(&find(&rows, &db).await.unwrap()), (Some("a"), Some(Stale::LoaderFailed)));
    rows.purge(&1).await.unwrap();
    match find(&rows, &db).await {
        Err(CacheError::Loader(_)) => {}
        other => panic!("{other:?}"),
    }
}

/// After a failure the next load is delayed; readers with a value to serve must not wait for it.
async fn repeatedly_failing_load_does_not_delay_readers(rig: Rig) {
    let (rows, db) = ended(&rig, |builder| builder).await;
    away(&db);
    for _ in 0..10 {
        // Time is frozen: a reader that waited here would wait forever.
        assert_eq!(text(&find(&rows, &db).await.unwrap()), (Some("a"), Some(Stale::LoaderFailed)));
    }
    assert_eq!(db.loads(), 2, "and the database is left alone");
}

async fn fresh_read_gets_the_error_despite_fail_safe(rig: Rig) {
    let (rows, db) = ended(&rig, |builder| builder).await;
    away(&db);
    for freshness in [Freshness::Fresh, Freshness::Bounded(HOUR)] {
        let read = rows.get_with(&1, freshness, |key| db.find(*key));
        let error = rig.while_time_passes(read).await.unwrap_err();
        assert!(matches!(error, CacheError::Loader(_)), "{freshness:?}: {error:?}");
    }
}

// shows: cache::Freshness::StaleIfError
async fn stale_if_error_is_bounded_by_store_retention(rig: Rig) {
    let (rows, db) = ended(&rig, |builder| builder).await;
    away(&db);
    let read = async |age_max| rows.get_with(&1, Freshness::StaleIfError(age_max), |key| db.find(*key)).await;
    rig.while_time_passes(async { read(10 * MINUTE - Duration::from_millis(1)).await.unwrap_err() }).await;
    let found = rig.while_time_passes(read(20 * MINUTE)).await.unwrap();
    assert_eq!(text(&found), (Some("a"), Some(Stale::LoaderFailed)));
    rig.advance(50 * MINUTE).await;
    rig.while_time_passes(async { read(24 * HOUR).await.unwrap_err() }).await;
}

// shows: cache::Freshness::StaleWhileRevalidate
async fn stale_while_revalidate_accepts_expired_value(rig: Rig) {
    let (rows, db) = ended(&rig, |builder| builder).await;
    db.write(1, "b");
    let found = rows.get_with(&1, Freshness::StaleWhileRevalidate, |key| db.find(*key)).await.unwrap();
    assert_eq!(text(&found), (Some("a"), Some(Stale::Expired)));
    rows.until_idle().await;
    assert_eq!(get(&rows, &db).await, some("b"));
}

async fn rejected_reader_is_served_the_stale_value(rig: Rig) {
    let (rows, db) = ended(&rig, |builder| builder.loads_max(1).wait_max(Duration::from_secs(1))).await;
    let mut load = db.hold();
    let other = tokio::spawn({
        let (rows, db) = (rows.clone(), db.clone());
        async move { rows.get(&2, |key| db.find(*key)).await }
    });
    load.reached().await;
    let found = rig.while_time_passes(find(&rows, &db)).await.unwrap();
    assert_eq!(text(&found), (Some("a"), Some(Stale::LoaderFailed)));
    load.release();
    other.await.unwrap().unwrap();
}

async fn failed_load_without_fail_safe_is_an_error(rig: Rig) {
    let (rows, db) = (rig.rows().await, Db::with("a"));
    get(&rows, &db).await;
    rig.advance(10 * MINUTE).await;
    away(&db);
    find(&rows, &db).await.unwrap_err();
}

/// A slow database makes every reader slow, although a value from a moment ago would do.
async fn soft_timeout_serves_expired_value_and_stores_load(rig: Rig) {
    let (rows, db) = ended(&rig, |builder| builder.load_soft_timeout(Duration::from_millis(100))).await;
    db.write(1, "b");
    let mut load = db.hold();
    let found = rig.while_time_passes(find(&rows, &db)).await.unwrap();
    assert_eq!(text(&found), (Some("a"), Some(Stale::LoaderSlow)));
    let found = rig.while_time_passes(find(&rows, &db)).await.unwrap();
    assert_eq!(text(&found), (Some("a"), Some(Stale::LoaderSlow)), "a reader that joins waits no longer");
    load.reached().await;
    load.release();
    rows.until_idle().await;
    let found = find(&rows, &db).await.unwrap();
    assert_eq!((text(&found), found.tier, db.loads()), ((Some("b"), None), Tier::Store, 2));
}

// shows: cache::Cache::get_many, cache::Cache::get_many_from
async fn batch_serves_stale_values_when_loads_fail(rig: Rig) {
    let (rows, db) = ended(&rig, |builder| builder).await;
    away(&db);
    for _ in 0..2 {
        let partial = rows.get_many(&[1, 2], |missing| db.find_many(missing));
        let partial = rig.while_time_passes(partial).await.unwrap_err();
        assert_eq!(partial.found[&1].as_deref(), some("a").as_ref());
        assert!(matches!(partial.failed[&2], CacheError::Loader(_)), "{partial:?}");
    }
}

async fn batch_waits_no_longer_than_the_soft_timeout(rig: Rig) {
    let (rows, db) = ended(&rig, |builder| builder.load_soft_timeout(Duration::from_millis(100))).await;
    db.write(1, "b");
    let mut load = db.hold();
    let found = rig.while_time_passes(rows.get_many(&[1], |missing| db.find_many(missing))).await.unwrap();
    assert_eq!(found[&1].as_deref(), some("a").as_ref());
    load.reached().await;
    load.release();
    rows.until_idle().await;
    assert_eq!(get(&rows, &db).await, some("b"));
    assert_eq!(db.loads(), 2);
}
