//! Disabling reads and fills at run time.

use crate::cache::reads::db::Db;
use crate::cache::reads::rig::{Rig, find, get, reader, row, some};
use evenkeel::cache::Tier;
use std::time::Duration;

on_both! {
    bypassed_reads_do_not_use_the_store
    bypassed_reads_keep_loads_within_loads_max
    bypassed_reads_do_not_stop_invalidations
    bypassed_fills_store_nothing
    load_is_not_stored_once_fills_are_bypassed
}

async fn bypassed_reads_do_not_use_the_store(rig: Rig) {
    let (rows, db) = (rig.rows().await, Db::with("a"));
    get(&rows, &db).await;
    rows.bypass_reads(true);
    db.write(1, "b");
    let found = find(&rows, &db).await.unwrap();
    assert_eq!((found.tier, found.value.as_deref()), (Tier::Loader, some("b").as_ref()));
    let many = rows.get_many(&[1, 2], |missing| db.find_many(missing)).await.unwrap();
    assert_eq!(many[&1].as_deref(), some("b").as_ref());
    assert_eq!(db.loads(), 3);
    rows.bypass_reads(false);
    let found = find(&rows, &db).await.unwrap();
    assert_eq!((found.tier, found.value.as_deref()), (Tier::Store, some("a").as_ref()), "it was not invalidated");
}

async fn bypassed_reads_keep_loads_within_loads_max(rig: Rig) {
    let (rows, db) = (rig.rows_with(|builder| builder.loads_max(4)).await, Db::new());
    rows.bypass_reads(true);
    let held: Vec<_> = (0..12).map(|_| db.hold()).collect();
    let readers: tokio::task::JoinSet<_> = (0..12_u64)
        .map(|key| {
            let (rows, db) = (rows.clone(), db.clone());
            async move { rows.get(&key, |key| db.find(*key)).await.unwrap() }
        })
        .collect();
    for mut load in held {
        load.reached().await;
        load.release();
    }
    readers.join_all().await;
    assert_eq!((db.loads(), db.peak()), (12, 4));
}

/// Invalidations must continue while reads are disabled; otherwise outdated values are served afterwards.
// shows: C7
async fn bypassed_reads_do_not_stop_invalidations(rig: Rig) {
    let (rows, elsewhere, db) = (rig.rows().await, rig.rows().await, Db::with("a"));
    get(&rows, &db).await;
    rows.bypass_reads(true);
    rows.bypass_fills(true);
    db.write(1, "b");
    rows.invalidate(&1).await.unwrap();
    assert_eq!(get(&elsewhere, &db).await, some("b"));
    rows.bypass_reads(false);
    rows.bypass_fills(false);
    assert_eq!(get(&rows, &db).await, some("b"));
}

async fn bypassed_fills_store_nothing(rig: Rig) {
    let (rows, db) = (rig.rows().await, Db::with("a"));
    get(&rows, &db).await;
    rows.bypass_fills(true);
    assert_eq!(find(&rows, &db).await.unwrap().tier, Tier::Store, "what is there is served on");
    for loads in 2..=3 {
        assert_eq!(rows.get(&2, |key| db.find(*key)).await.unwrap(), None);
        assert_eq!(db.loads(), loads);
    }
    rig.advance(Duration::from_secs(599)).await;
    assert_eq!(find(&rows, &db).await.unwrap().tier, Tier::Store);
    rows.until_idle().await;
    assert_eq!(db.loads(), 3, "a refresh would be for nothing");
    rows.bypass_fills(false);
    get(&rows, &db).await;
    rows.until_idle().await;
    assert_eq!(db.loads(), 4);
}

async fn load_is_not_stored_once_fills_are_bypassed(rig: Rig) {
    let (rows, db) = (rig.rows().await, Db::with("a"));
    let mut load = db.hold();
    let first = reader(&rows, &db);
    load.reached().await;
    rows.bypass_fills(true);
    load.release();
    assert_eq!(row(first).await, some("a"));
    rows.bypass_fills(false);
    assert_eq!(find(&rows, &db).await.unwrap().tier, Tier::Loader);
}
