//! C6: a failure in a loader is an error, never a value, and the waiters do not repeat it.

use crate::cache::reads::db::{Db, DbError};
use crate::cache::reads::rig::{Rig, find, get, reader, row, some};
use evenkeel::cache::{CacheError, Tier};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

on_both! {
    loader_error_reaches_all_waiters_and_is_not_cached
    failed_load_is_not_repeated_by_its_waiters
    loader_panic_becomes_an_error
    load_that_exceeds_its_timeout_is_an_error
    loader_errors_of_any_type_are_returned
    repeatedly_failing_load_returns_failing
}

// shows: C6, cache::Cache::get
async fn loader_error_reaches_all_waiters_and_is_not_cached(rig: Rig) {
    let (rows, db) = (rig.rows().await, Db::with("a"));
    db.fail(Some(DbError("away")));
    let mut load = db.hold();
    let readers: Vec<_> = (0..10).map(|_| reader(&rows, &db)).collect();
    load.reached().await;
    load.release();
    for reader in readers {
        let error = reader.await.unwrap().unwrap_err();
        assert_eq!(error.loader_error::<DbError>(), Some(&DbError("away")));
        assert_eq!(error.to_string(), "the loader failed: away");
        assert!(error.is_retryable() && !error.outcome_unknown());
    }
    assert_eq!(db.loads(), 1);
    db.fail(None);
    assert_eq!(rig.while_time_passes(async { get(&rows, &db).await }).await, some("a"));
    assert_eq!(find(&rows, &db).await.unwrap().tier, Tier::Store);
}

/// Without a retry delay after a failure, each of a thousand waiters repeats the load that just failed, one after another.
// shows: C6, hazard D25
async fn failed_load_is_not_repeated_by_its_waiters(rig: Rig) {
    let (failing, db) = (rig.rows().await, Db::with("a"));
    db.fail(Some(DbError("away")));
    find(&failing, &db).await.unwrap_err();
    db.fail(None);
    let others = [rig.rows().await, rig.rows().await];
    let waiting: Vec<_> = others.iter().map(|rows| reader(rows, &db)).collect();
    for reader in waiting {
        assert_eq!(rig.while_time_passes(row(reader)).await, some("a"));
    }
    assert_eq!(db.loads(), 2, "one failed, one for both");
}

/// H8: a recovered panic became an empty value for every key of the batch.
// shows: C6, hazard H8, cache::Cache::get
async fn loader_panic_becomes_an_error(rig: Rig) {
    let rows = rig.rows().await;
    let error = rows.get(&1, |_| async { panicking().await }).await.unwrap_err();
    assert!(matches!(&error, CacheError::LoaderPanicked(words) if &**words == "row 1 is cursed"), "{error:?}");
    let db = Db::with("a");
    assert_eq!(rig.while_time_passes(async { get(&rows, &db).await }).await, some("a"));
}

async fn panicking() -> Result<Option<String>, Infallible> {
    panic!("row {} is cursed", 1)
}

// shows: C6, cache::Cache::get
async fn load_that_exceeds_its_timeout_is_an_error(rig: Rig) {
    let limit = Duration::from_secs(3);
    let rows = rig.rows_with(|builder| builder.load_timeout(limit)).await;
    let db = Db::with("a");
    let mut load = db.hold();
    let waiting = reader(&rows, &db);
    load.reached().await;
    let error = rig.while_time_passes(waiting).await.unwrap().unwrap_err();
    assert!(matches!(error, CacheError::LoaderTimedOut { after } if after == limit), "{error:?}");
    assert_eq!(rig.while_time_passes(async { get(&rows, &db).await }).await, some("a"));
}

// shows: cache::Cache::get
async fn loader_errors_of_any_type_are_returned(rig: Rig) {
    let rows = rig.rows_with(|builder| builder.retry_after(Duration::from_millis(1))).await;
    let text = rows.get(&1, |_| async { Err::<Option<String>, _>("plain words") }).await.unwrap_err();
    assert_eq!(text.to_string(), "the loader failed: plain words");
    let any = rows.get(&2, |_| async { anyhow::bail!("of any kind") }).await.unwrap_err();
    assert_eq!(any.to_string(), "the loader failed: of any kind");
    let shared: Arc<dyn std::error::Error + Send + Sync> = match any {
        CacheError::Loader(error) => error,
        other => panic!("{other:?}"),
    };
    assert_eq!(shared.to_string(), "of any kind");
}

// shows: cache::Cache::get
async fn repeatedly_failing_load_returns_failing(rig: Rig) {
    let long_wait = rig.rows_with(|builder| builder.wait_max(Duration::from_millis(100))).await;
    let (failing, db) = (rig.rows().await, Db::with("a"));
    db.fail(Some(DbError("away")));
    find(&failing, &db).await.unwrap_err();
    let error = rig.while_time_passes(find(&long_wait, &db)).await.unwrap_err();
    assert!(matches!(error, CacheError::Failing { .. }), "{error:?}");
    assert_eq!(db.loads(), 1, "the database was not asked again");
}
