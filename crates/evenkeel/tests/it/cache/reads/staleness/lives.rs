//! The lifetime of values.

use crate::cache::reads::db::{Db, DbError};
use crate::cache::reads::rig::{Rig, find, get, row, some};
use evenkeel::cache::{CacheError, Stale, Tier};
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);

on_both! {
    reads_do_not_extend_the_ttl
    absence_expires_after_its_own_ttl
    ttl_below_a_second_is_exact
    ttl_counts_from_before_the_load
    purged_value_is_never_served_again
    invalidated_value_is_served_only_if_retained
    failed_loads_do_not_extend_a_retained_value
}

/// If reads extended a value's ttl, it would never end on the hottest keys, and a lost invalidation there would last
/// forever.
// shows: hazard D21
async fn reads_do_not_extend_the_ttl(rig: Rig) {
    let rows = rig.rows_with(|builder| builder.refresh_window(Duration::ZERO)).await;
    let db = Db::with("a");
    get(&rows, &db).await;
    db.write(1, "b");
    for _ in 0..9 {
        rig.advance(MINUTE).await;
        assert_eq!(get(&rows, &db).await, some("a"));
    }
    rig.advance(MINUTE).await;
    assert_eq!(get(&rows, &db).await, some("b"));
}

// shows: hazard D17
async fn absence_expires_after_its_own_ttl(rig: Rig) {
    let rows = rig.rows_with(|builder| builder.absent_ttl(MINUTE).refresh_window(Duration::ZERO)).await;
    let db = Db::new();
    assert_eq!(get(&rows, &db).await, None);
    db.write(1, "a");
    rig.advance(MINUTE - Duration::from_millis(1)).await;
    assert_eq!(get(&rows, &db).await, None);
    rig.advance(Duration::from_millis(1)).await;
    assert_eq!(get(&rows, &db).await, some("a"));
}

/// H6: with whole seconds, or a ttl that jitter makes negative, a cache silently stored nothing.
// shows: hazard H6
async fn ttl_below_a_second_is_exact(rig: Rig) {
    let rows = rig.rows_with(|builder| builder.ttl(Duration::from_millis(400)).refresh_window(Duration::ZERO)).await;
    let db = Db::with("a");
    get(&rows, &db).await;
    rig.advance(Duration::from_millis(399)).await;
    assert_eq!(find(&rows, &db).await.unwrap().tier, Tier::Store);
    rig.advance(Duration::from_millis(1)).await;
    assert_eq!(find(&rows, &db).await.unwrap().tier, Tier::Loader);
}

async fn ttl_counts_from_before_the_load(rig: Rig) {
    let rows = rig
        .rows_with(|builder| builder.load_budget(MINUTE).load_timeout(2 * MINUTE).refresh_window(Duration::ZERO))
        .await;
    let db = Db::with("a");
    let mut load = db.hold();
    let reader = crate::cache::reads::rig::reader(&rows, &db);
    load.reached().await;
    rig.advance(MINUTE).await;
    load.release();
    row(reader).await;
    assert_eq!(find(&rows, &db).await.unwrap().age, MINUTE);
    rig.advance(9 * MINUTE).await;
    assert_eq!(find(&rows, &db).await.unwrap().tier, Tier::Loader);
}

async fn invalidated_value_is_served_only_if_retained(rig: Rig) {
    let (rows, db) = (rig.rows().await, Db::with("a"));
    get(&rows, &db).await;
    db.write(1, "b");
    rows.invalidate(&1).await.unwrap();
    assert_eq!(get(&rows, &db).await, some("b"));
}

/// H20: the fail-safe must not serve a purged value, such as a revoked permission.
// shows: hazard D20
async fn purged_value_is_never_served_again(rig: Rig) {
    let rows = rig.rows_with(|builder| builder.retain_stale(MINUTE)).await;
    let db = Db::with("a");
    get(&rows, &db).await;
    db.delete(1);
    rows.purge(&1).await.unwrap();
    db.fail(Some(DbError("away")));
    let error = find(&rows, &db).await.unwrap_err();
    assert_eq!(error.loader_error::<DbError>(), Some(&DbError("away")));
}

/// H10: a failed load that extends the stale value makes it permanent while the database is down.
// shows: hazard H10
async fn failed_loads_do_not_extend_a_retained_value(rig: Rig) {
    let rows = rig.rows_with(|builder| builder.retain_stale(MINUTE)).await;
    let db = Db::with("a");
    get(&rows, &db).await;
    rows.invalidate(&1).await.unwrap();
    db.fail(Some(DbError("away")));
    for loads in 1..=6 {
        assert_eq!(db.loads(), loads);
        let stale = find(&rows, &db).await.unwrap();
        assert_eq!(stale.stale, Some(Stale::Invalidated));
        rows.until_idle().await;
        rig.advance(Duration::from_secs(10)).await;
    }
    match find(&rows, &db).await {
        Err(CacheError::Loader(_)) => {}
        other => panic!("{other:?}"),
    }
}
