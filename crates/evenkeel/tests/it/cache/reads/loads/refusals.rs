//! R2: a rejected fill is reported, though not to the reader, which has its value.

use crate::cache::reads::db::Db;
use crate::cache::reads::rig::{Rig, Rows, reader, row, some};
use crate::counts::Counts;
use crate::log::Log;
use evenkeel::testing::StepGate;
use std::time::Duration;

on_both! {
    rejected_fill_is_counted_by_reason
    load_over_its_budget_is_logged_once
}

/// A load of row 1 while `meanwhile` runs; its reader receives the row in any case.
async fn load_with(rows: &Rows, meanwhile: impl AsyncFnOnce()) {
    let db = Db::with("a");
    let (mut load, reader) = (db.hold(), reader(rows, &db));
    load.reached().await;
    meanwhile().await;
    load.release();
    assert_eq!(row(reader).await, some("a"));
    rows.until_idle().await;
}

/// A cache whose values are rejected at every load, without a report of the reason, looks like one that is never hit.
// shows: hazard R2
async fn rejected_fill_is_counted_by_reason(rig: Rig) {
    let refusals = Counts::of("evenkeel_cache_refused_fills_total", "reason");
    let _local = metrics::set_default_local_recorder(&refusals);
    let gate = StepGate::default();
    let rows = rig.rows_with(|builder| builder.gate(&gate)).await;
    let writing = rig.rows().await;
    let once = |reason: &str| vec![(reason.to_owned(), 1)];

    load_with(&rows, async || {
        writing.invalidate(&1).await.unwrap();
    })
    .await;
    assert_eq!(refusals.take(), once("superseded"));
    rig.evict(1).await;
    load_with(&rows, async || rig.evict(1).await).await;
    assert_eq!(refusals.take(), once("gone"));
    load_with(&rows, async || rig.advance(Duration::from_millis(1_600)).await).await;
    assert_eq!(refusals.take(), once("over_budget"));
    load_with(&rows, async || gate.next_epoch()).await;
    assert_eq!(refusals.take(), once("epoch"));
    rig.evict(1).await;
    load_with(&rows, async || {}).await;
    assert_eq!(refusals.take(), [], "this one was stored");
}

/// A query that always takes longer than the budget is never cached, and a metric alone does not say what to do.
// shows: hazard S16
async fn load_over_its_budget_is_logged_once(rig: Rig) {
    let log = Log::begin();
    let rows = rig.rows().await;
    for _ in 0..2 {
        load_with(&rows, async || rig.advance(Duration::from_millis(1_600)).await).await;
    }
    log.says(&["raise CacheBuilder::load_budget"]);
}
