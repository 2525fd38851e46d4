//! C5, and stale values after an invalidation: one reader loads in the background, and none waits.

use crate::cache::reads::db::{Db, DbError};
use crate::cache::reads::rig::{Rig, find, get, reader, row, some};
use evenkeel::cache::{Stale, Tier};
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);

on_both! {
    value_due_for_refresh_is_served_during_its_load
    key_read_all_the_time_never_expires
    failed_refresh_keeps_the_value_until_its_expiry
    retained_value_is_served_while_one_reader_loads
    reader_of_purged_key_waits_for_the_background_load
    refresh_ahead_can_be_turned_off
}

// shows: C5
async fn value_due_for_refresh_is_served_during_its_load(rig: Rig) {
    let (one, other, db) = (rig.rows().await, rig.rows().await, Db::with("a"));
    get(&one, &db).await;
    rig.advance(10 * MINUTE - Duration::from_secs(2)).await;
    db.write(1, "b");
    let mut load = db.hold();
    for rows in [&one, &other] {
        let readers: Vec<_> = (0..100).map(|_| reader(rows, &db)).collect();
        for reader in readers {
            assert_eq!(row(reader).await, some("a"));
        }
    }
    load.reached().await;
    load.release();
    one.until_idle().await;
    other.until_idle().await;
    assert_eq!(db.loads(), 2);
    let refreshed = find(&other, &db).await.unwrap();
    assert_eq!((refreshed.tier, refreshed.age, &**refreshed.value.unwrap()), (Tier::Store, Duration::ZERO, "b"));
}

/// A miss at expiry makes every reader of a hot key wait, once per ttl.
// shows: C5
async fn key_read_all_the_time_never_expires(rig: Rig) {
    let rows = rig.rows_with(|builder| builder.ttl(Duration::from_secs(30)).ttl_jitter(0.1)).await;
    let db = Db::with("a");
    get(&rows, &db).await;
    for _ in 0..200 {
        rig.advance(Duration::from_secs(1)).await;
        assert_eq!(find(&rows, &db).await.unwrap().tier, Tier::Store);
        rows.until_idle().await;
    }
    assert!((6..=8).contains(&db.loads()), "{} loads in 200 s", db.loads());
}

async fn failed_refresh_keeps_the_value_until_its_expiry(rig: Rig) {
    let (rows, db) = (rig.rows().await, Db::with("a"));
    get(&rows, &db).await;
    db.fail(Some(DbError("away")));
    rig.advance(10 * MINUTE - Duration::from_secs(2)).await;
    for _ in 0..4 {
        assert_eq!(get(&rows, &db).await, some("a"));
        rows.until_idle().await;
        rig.advance(Duration::from_millis(499)).await;
    }
    rig.advance(Duration::from_secs(1)).await;
    find(&rows, &db).await.unwrap_err();
}

/// R3: after an invalidation of a hot key every reader blocks on one load, though the old value would do for a moment.
// shows: hazard R3
async fn retained_value_is_served_while_one_reader_loads(rig: Rig) {
    let one = rig.rows_with(|builder| builder.retain_stale(MINUTE)).await;
    let (other, db) = (rig.rows_with(|builder| builder.retain_stale(MINUTE)).await, Db::with("a"));
    get(&one, &db).await;
    db.write(1, "b");
    one.invalidate(&1).await.unwrap();
    let mut load = db.hold();
    for rows in [&one, &other] {
        for _ in 0..100 {
            let stale = find(rows, &db).await.unwrap();
            assert_eq!((stale.stale, &**stale.value.unwrap()), (Some(Stale::Invalidated), "a"));
        }
    }
    load.reached().await;
    load.release();
    one.until_idle().await;
    other.until_idle().await;
    assert_eq!((get(&one, &db).await, get(&other, &db).await), (some("b"), some("b")));
    assert_eq!(db.loads(), 2);
}

/// A refresh may give up; a reader that waits for it must then load for itself.
async fn reader_of_purged_key_waits_for_the_background_load(rig: Rig) {
    let one = rig.rows_with(|builder| builder.retain_stale(MINUTE)).await;
    let (other, db) = (rig.rows().await, Db::with("a"));
    get(&one, &db).await;
    one.invalidate(&1).await.unwrap();
    let mut load = db.hold();
    get(&one, &db).await;
    load.reached().await;
    // The load of `one` is overtaken; a reader of `one` that needs the value now joins it, and loads again.
    db.write(1, "b");
    other.purge(&1).await.unwrap();
    let needy = reader(&one, &db);
    load.release();
    assert_eq!(rig.while_time_passes(row(needy)).await, some("b"));
}

async fn refresh_ahead_can_be_turned_off(rig: Rig) {
    let rows = rig.rows_with(|builder| builder.refresh_window(Duration::ZERO)).await;
    let db = Db::with("a");
    get(&rows, &db).await;
    rig.advance(10 * MINUTE - Duration::from_millis(1)).await;
    get(&rows, &db).await;
    rows.until_idle().await;
    assert_eq!(db.loads(), 1);
}
