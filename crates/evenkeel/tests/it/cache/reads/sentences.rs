//! Documented guarantees that no other test covers.

use super::db::Db;
use super::rig::{Rig, get, some};
use evenkeel::cache::{Freshness, Stale};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3_600);

on_both! {
    stale_if_error_serves_stale_after_the_soft_timeout
}

/// A slow load is no error, but the cache is configured not to wait for it.
// shows: cache::Freshness::StaleIfError
async fn stale_if_error_serves_stale_after_the_soft_timeout(rig: Rig) {
    let soft = Duration::from_millis(100);
    let rows = rig.rows_with(|builder| builder.fail_safe(HOUR).load_soft_timeout(soft)).await;
    let db = Db::with("a");
    get(&rows, &db).await;
    rig.advance(Duration::from_secs(600)).await;
    db.write(1, "b");
    let mut load = db.hold();
    let read = rows.get_with(&1, Freshness::StaleIfError(HOUR), |key| db.find(*key));
    let found = rig.while_time_passes(read).await.unwrap();
    assert_eq!((found.value.as_deref(), found.stale), (some("a").as_ref(), Some(Stale::LoaderSlow)));
    load.reached().await;
    load.release();
    rows.until_idle().await;
    assert_eq!(get(&rows, &db).await, some("b"));
}
