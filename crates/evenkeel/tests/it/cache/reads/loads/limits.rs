//! How many loads run at once, and which readers are rejected.

use crate::cache::reads::db::Db;
use crate::cache::reads::rig::{Rig, Rows, find, get, some};
use evenkeel::cache::CacheError;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;

on_both! {
    concurrent_loads_never_exceed_loads_max
    reader_without_a_load_permit_is_rejected
    refresh_does_not_wait_for_a_load_permit
}

type Reader = JoinHandle<Result<Option<Arc<String>>, CacheError>>;

/// A reader of row `key`.
fn reader_of(rows: &Rows, db: &Db, key: u64) -> Reader {
    let (rows, db) = (rows.clone(), db.clone());
    tokio::spawn(async move { rows.get(&key, |key| db.find(*key)).await })
}

/// After a flush every key is loaded from the database at once.
// shows: C9, hazard D26
async fn concurrent_loads_never_exceed_loads_max(rig: Rig) {
    let (rows, db) = (rig.rows_with(|builder| builder.loads_max(4)).await, Db::new());
    let held: Vec<_> = (0..12).map(|_| db.hold()).collect();
    let readers: Vec<Reader> = (0..12).map(|key| reader_of(&rows, &db, key)).collect();
    db.until_loads(4).await;
    for mut load in held {
        load.reached().await;
        load.release();
    }
    for reader in readers {
        assert_eq!(reader.await.unwrap().unwrap(), None);
    }
    assert_eq!((db.loads(), db.peak()), (12, 4));
}

// shows: cache::Cache::get
async fn reader_without_a_load_permit_is_rejected(rig: Rig) {
    let rows = rig.rows_with(|builder| builder.loads_max(1).wait_max(Duration::from_secs(1))).await;
    let db = Db::new();
    let mut load = db.hold();
    let first = reader_of(&rows, &db, 1);
    load.reached().await;
    let second = reader_of(&rows, &db, 2);
    let error = rig.while_time_passes(second).await.unwrap().unwrap_err();
    assert!(matches!(error, CacheError::Overloaded { limit: 1, .. }), "{error:?}");
    assert!(error.is_retryable());
    assert_eq!(db.loads(), 1, "the database was not asked");
    load.release();
    first.await.unwrap().unwrap();
}

/// A refresh does not compete with waiting readers for a busy database.
async fn refresh_does_not_wait_for_a_load_permit(rig: Rig) {
    let rows = rig.rows_with(|builder| builder.loads_max(1)).await;
    let db = Db::with("a");
    get(&rows, &db).await;
    rig.advance(Duration::from_secs(599)).await;
    let mut load = db.hold();
    let other = reader_of(&rows, &db, 2);
    load.reached().await;
    assert_eq!(find(&rows, &db).await.unwrap().value.as_deref(), some("a").as_ref());
    load.release();
    other.await.unwrap().unwrap();
    rows.until_idle().await;
    assert_eq!(db.loads(), 2, "no refresh ran");
}
