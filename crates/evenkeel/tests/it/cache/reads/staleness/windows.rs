//! Writes in update windows, as their users see them (C2).

use crate::cache::reads::db::{Db, DbError};
use crate::cache::reads::rig::{Rig, Rows, find_as, get, in_time, no_answer, some};
use evenkeel::cache::{CacheError, Freshness, Tier, WhileWriting, WindowEnd, WriteError};
use evenkeel::testing::{Side, Step, StepGate};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

const SECOND: Duration = Duration::from_secs(1);

on_both! {
    readers_wait_while_a_window_is_open
    readers_in_a_window_read_the_primary_if_configured
    write_requires_a_confirmed_window
    failed_write_leaves_its_window_to_expire
    rolled_back_write_closes_its_window_at_once
    dropped_write_leaves_its_window_to_expire
    window_is_renewed_during_a_long_write
    check_of_expired_window_asks_for_rollback
    late_commit_is_reported_and_invalidates_later_value
    fifth_concurrent_writer_writes_nothing
    window_over_several_rows_opens_for_all_or_none
    unconfirmed_window_end_blocks_hits
    open_window_is_renewed_and_closed_by_hand
}

/// A reader loads between the statement and the commit and stores the old row: no later event would invalidate it.
// shows: C2, hazard D6, cache::Cache::write, cache::Cache::write_with, cache::Cache::write_many
async fn readers_wait_while_a_window_is_open(rig: Rig) {
    let (reading, writing, db) = (rig.rows().await, rig.rows().await, Db::with("old"));
    get(&reading, &db).await;
    let (held, writer) = write_and_hold(&writing, &db, "new").await;
    let (rows, from) = (reading.clone(), db.clone());
    let waiting = tokio::spawn(async move { find_as(&rows, &from, Freshness::Fresh).await });
    held.notify_one();
    assert!(writer.await.unwrap().unwrap().is_closed());
    let found = rig.while_time_passes(waiting).await.unwrap().unwrap();
    assert_eq!(found.value.as_deref().cloned(), some("new"));
    assert_eq!(get(&reading, &db).await, some("new"));
}

// shows: cache::Cache::get
async fn readers_in_a_window_read_the_primary_if_configured(rig: Rig) {
    let loading = rig.rows_with(|builder| builder.while_writing(WhileWriting::Load)).await;
    let failing = rig.rows_with(|builder| builder.while_writing(WhileWriting::Fail)).await;
    let (writing, db) = (rig.rows().await, Db::with("old"));
    let (held, writer) = write_and_hold(&writing, &db, "new").await;
    let found = find_as(&loading, &db, Freshness::Fresh).await.unwrap();
    assert_eq!((found.value.as_deref().cloned(), found.tier), (some("old"), Tier::Loader), "it is not committed yet");
    let error = find_as(&failing, &db, Freshness::Fresh).await.unwrap_err();
    assert!(matches!(error, CacheError::Writing { .. }) && error.is_retryable(), "{error}");
    held.notify_one();
    writer.await.unwrap().unwrap();
    for rows in [loading, failing] {
        assert_eq!(get(&rows, &db).await, some("new"), "nothing was stored in the window");
    }
}

/// With the statement sent before the window is known to be open, a reader loads and stores the old row after it.
// shows: C2, hazard D6, cache::Cache::write, cache::Cache::write_with, cache::Cache::write_many
async fn write_requires_a_confirmed_window(rig: Rig) {
    for side in [Side::BeforeSend, Side::BeforeAnswer] {
        let gate = StepGate::default();
        let (rows, db) = (rig.rows_with(|builder| builder.gate(&gate)).await, Db::with("old"));
        let mut begins = gate.hold(Step::BeginWrite, side);
        let writer = tokio::spawn({
            let (rows, db) = (rows.clone(), db.clone());
            async move { rows.write(&1, || write(&db, "new")).await }
        });
        begins.reached().await;
        begins.fail(no_answer());
        let error = writer.await.unwrap().unwrap_err();
        assert!(matches!(error, WriteError::NotBegun(CacheError::Link(_))), "{error}");
        assert_eq!(get(&rows, &db).await, some("old"), "nothing was written, and no window is open");
    }
}

/// An error does not say whether the transaction was committed: its connection may have broken on the way back.
// shows: C2, hazard D8, cache::Cache::write, cache::Cache::write_with, cache::Cache::write_many
async fn failed_write_leaves_its_window_to_expire(rig: Rig) {
    let (rows, db) = (rig.rows_with(|builder| builder.while_writing(WhileWriting::Fail)).await, Db::with("old"));
    let failed = rows.write(&1, || async { Err::<(), _>(DbError("no answer")) }).await;
    assert!(matches!(failed, Err(WriteError::Failed(DbError("no answer")))));
    assert_expires(&rig, &rows, &db).await;
}

async fn rolled_back_write_closes_its_window_at_once(rig: Rig) {
    let (rows, db) = (rig.rows_with(|builder| builder.while_writing(WhileWriting::Fail)).await, Db::with("old"));
    let failed = rows
        .write_with(&1, |window| async move {
            window.rolled_back();
            Err::<(), _>(DbError("duplicate"))
        })
        .await;
    assert!(matches!(failed, Err(WriteError::Failed(DbError("duplicate")))));
    assert_eq!(get(&rows, &db).await, some("old"));
}

/// A request is canceled while its statement is in flight: the commit may happen at any time.
// shows: C2, hazard D5
async fn dropped_write_leaves_its_window_to_expire(rig: Rig) {
    let (rows, db) = (rig.rows_with(|builder| builder.while_writing(WhileWriting::Fail)).await, Db::with("old"));
    let (_held, writer) = write_and_hold(&rows, &db, "new").await;
    writer.abort();
    assert!(writer.await.unwrap_err().is_cancelled());
    assert_expires(&rig, &rows, &db).await;
}

// shows: cache::Cache::write, cache::Cache::write_with, cache::Cache::write_many
async fn window_is_renewed_during_a_long_write(rig: Rig) {
    let gate = StepGate::default();
    let rows = rig.rows_with(|builder| builder.gate(&gate)).await;
    let db = Db::with("old");
    let (held, writer) = write_and_hold(&rows, &db, "new").await;
    for _ in 0..5 {
        let mut renewed = gate.hold(Step::RenewWrite, Side::BeforeAnswer);
        // The renewal must be sleeping before the clock advances.
        settle().await;
        rig.advance(SECOND).await;
        renewed.reached().await;
        renewed.release();
    }
    held.notify_one();
    assert!(writer.await.unwrap().unwrap().is_closed(), "five seconds are longer than a window");
}

// shows: C2, cache::OpenWindow::check, cache::WriteWindow::check
async fn check_of_expired_window_asks_for_rollback(rig: Rig) {
    let (rows, db) = (rig.rows().await, Db::with("old"));
    let window = rows.begin_write(&1).await.unwrap();
    assert_eq!(window.remaining(), 3 * SECOND);
    rig.advance(2 * SECOND).await;
    assert_eq!((window.remaining(), window.check().await.unwrap()), (SECOND, 3 * SECOND));
    rig.advance(3 * SECOND).await;
    assert_eq!(window.remaining(), Duration::ZERO);
    let error = window.check().await.unwrap_err();
    assert!(matches!(error, CacheError::WindowLost) && error.is_retryable(), "{error}");
    assert_eq!(get(&rows, &db).await, some("old"), "no reader waits for it");
    assert!(matches!(window.end().await, WindowEnd::Expired));
}

/// A paused writer may commit late. The end of its window reports that, and invalidates the values stored in between.
// shows: hazard D8, cache::Cache::write, cache::Cache::write_with, cache::Cache::write_many
async fn late_commit_is_reported_and_invalidates_later_value(rig: Rig) {
    let (reading, writing, db) = (rig.rows().await, rig.rows().await, Db::with("old"));
    let window = writing.begin_write(&1).await.unwrap();
    rig.advance(3 * SECOND).await;
    assert_eq!(get(&reading, &db).await, some("old"));
    db.write(1, "new");
    let end = window.end().await;
    assert!(matches!(end, WindowEnd::Expired) && !end.is_closed());
    assert_eq!(get(&reading, &db).await, some("new"));
}

// shows: cache::Cache::write, cache::Cache::write_with, cache::Cache::write_many, cache::Cache::begin_write
// shows: cache::Cache::begin_write_many
async fn fifth_concurrent_writer_writes_nothing(rig: Rig) {
    let (rows, db) = (rig.rows().await, Db::with("old"));
    let mut windows = Vec::new();
    for _ in 0..4 {
        windows.push(rows.begin_write(&1).await.unwrap());
    }
    let error = rows.write(&1, || write(&db, "fifth")).await.unwrap_err();
    let WriteError::NotBegun(busy) = error else { panic!("{error}") };
    assert!(matches!(busy, CacheError::WritersBusy { .. }) && busy.is_retryable(), "{busy}");
    for window in windows {
        assert!(window.end().await.is_closed());
    }
    assert_eq!(get(&rows, &db).await, some("old"));
    rows.write(&1, || write(&db, "next")).await.unwrap();
    assert_eq!(get(&rows, &db).await, some("next"));
}

// shows: cache::Cache::begin_write, cache::Cache::begin_write_many
async fn window_over_several_rows_opens_for_all_or_none(rig: Rig) {
    let rows = rig.rows_with(|builder| builder.while_writing(WhileWriting::Fail)).await;
    let db = Db::with("one");
    let mut windows = Vec::new();
    for _ in 0..4 {
        windows.push(rows.begin_write(&2).await.unwrap());
    }
    let both = rows.write_many(&[1, 2], |_| write(&db, "both")).await;
    assert!(matches!(both, Err(WriteError::NotBegun(CacheError::WritersBusy { .. }))));
    assert_eq!(get(&rows, &db).await, some("one"), "its window did not stay");
    windows.pop().unwrap().abandon();
    windows.pop().unwrap().end().await;
    let both = rows.write_many(&[1, 2, 1], |_| write(&db, "both")).await.unwrap();
    assert!(both.window.is_closed());
    assert_eq!(get(&rows, &db).await, some("both"));
}

/// The commit is done, the store does not receive the end of the window, and the process still has the old row.
// shows: cache::Cache::write, cache::Cache::write_with, cache::Cache::write_many
async fn unconfirmed_window_end_blocks_hits(rig: Rig) {
    let gate = StepGate::default();
    let rows = rig.rows_with(|builder| builder.gate(&gate).retain_stale(60 * SECOND)).await;
    let db = Db::with("old");
    get(&rows, &db).await;
    let mut ends = gate.hold(Step::EndWrite, Side::BeforeSend);
    let mut driven = gate.hold(Step::Invalidate, Side::BeforeSend);
    let writer = tokio::spawn({
        let (rows, db) = (rows.clone(), db.clone());
        async move { rows.write(&1, || write(&db, "new")).await }
    });
    ends.reached().await;
    ends.fail(no_answer());
    let written = writer.await.unwrap().unwrap();
    assert!(matches!(written.window, WindowEnd::Unconfirmed(CacheError::Link(_))), "{:?}", written.window);
    assert_eq!(get(&rows, &db).await, some("new"), "eventual, and yet not the old row that the store keeps");
    driven.reached().await;
    driven.release();
}

// shows: cache::WriteWindow::renew
async fn open_window_is_renewed_and_closed_by_hand(rig: Rig) {
    let (rows, db) = (rig.rows_with(|builder| builder.version(|row| row.parse().unwrap())).await, Db::with("7"));
    get(&rows, &db).await;
    let window = rows.begin_write(&1).await.unwrap();
    rig.advance(2 * SECOND).await;
    assert_eq!(window.renew().await.unwrap(), 3 * SECOND);
    db.write(1, "8");
    assert!(window.end_at(8).await.is_closed());
    assert_eq!(find_as(&rows, &db, Freshness::AtLeast(8)).await.unwrap().version, Some(8));
}

/// The published protocols have no update windows, so a strong write is rejected.
// shows: cache::Cache::get_with, cache::Cache::get_from, cache::Cache::begin_write, cache::Cache::begin_write_many
// shows: cache::CacheProtocol::open
#[tokio::test]
async fn published_protocols_reject_windows() {
    in_time(async {
        let rig = Rig::memory();
        let rows = rig.rows_with(|builder| builder.protocol(evenkeel_published::Protocol::Lease)).await;
        let db = Db::with("old");
        let error = rows.write(&1, || write(&db, "new")).await.unwrap_err();
        assert!(matches!(error, WriteError::NotBegun(CacheError::Unsupported(_))), "{error}");
        let error = find_as(&rows, &db, Freshness::Fresh).await.unwrap_err();
        assert!(matches!(error, CacheError::Unsupported(_)), "{error}");
        assert_eq!(get(&rows, &db).await, some("old"));
    })
    .await;
}

/// Commits a row.
async fn write(db: &Db, row: &str) -> Result<(), DbError> {
    db.write(1, row);
    Ok(())
}

type Writer = tokio::task::JoinHandle<Result<WindowEnd, WriteError<DbError>>>;

/// A writer inside its window, before its commit.
async fn write_and_hold(rows: &Rows, db: &Db, row: &'static str) -> (Arc<Notify>, Writer) {
    let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let writer = tokio::spawn({
        let (rows, db, begun, go) = (rows.clone(), db.clone(), Arc::clone(&begun), Arc::clone(&go));
        async move {
            let writing = async {
                begun.notify_one();
                go.notified().await;
                write(&db, row).await
            };
            rows.write(&1, || writing).await.map(|written| written.window)
        }
    });
    begun.notified().await;
    (go, writer)
}

/// No value is stored before the window has expired, and a value stored then gets a short ttl.
async fn assert_expires(rig: &Rig, rows: &Rows, db: &Db) {
    for _ in 0..3 {
        let error = find_as(rows, db, Freshness::Fresh).await.unwrap_err();
        assert!(matches!(error, CacheError::Writing { .. }), "{error}");
        rig.advance(SECOND).await;
    }
    assert_eq!(get(rows, db).await, some("old"));
    assert_eq!(find_as(rows, db, Freshness::Fresh).await.unwrap().tier, Tier::Store);
    db.write(1, "late");
    rig.advance(SECOND).await;
    assert_eq!(get(rows, db).await, some("late"), "the transaction was committed after all");
}

/// Lets every ready task run; all of them run on this thread.
async fn settle() {
    for _ in 0..16 {
        tokio::task::yield_now().await;
    }
}
