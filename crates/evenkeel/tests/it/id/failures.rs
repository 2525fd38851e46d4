//! A store that forgets, a store that is away, and processes that notice too late. On Redis only: the embedded store loses nothing, and has
//! the clock of its processes.

use super::{LEASE, MARGIN, MS, assert_distinct, begun, builder, narrow, take};
use crate::in_time;
use crate::rig::Fleet;
use evenkeel::Keel;
use evenkeel::id::{IdError, Layout};
use std::time::Duration;
use testkit::servers::{Redis, RedisOptions};

/// The keys of a scope.
fn keys(fleet: &Fleet) -> [String; 2] {
    ["workers", "workers:leases"].map(|ending| format!("{{{}:i:orders}}:{ending}", fleet.prefix()))
}

/// What the store has of the scope, as a replica that lags.
async fn copy(fleet: &Fleet) -> Vec<redis::Value> {
    let mut copies = Vec::new();
    for key in keys(fleet) {
        copies.push(fleet.command(key.as_bytes(), redis::cmd("DUMP").arg(&key)).await);
    }
    copies
}

/// The replica is promoted: the store has forgotten what came after the copy.
async fn promote(fleet: &Fleet, copies: &[redis::Value]) {
    for (key, copy) in keys(fleet).iter().zip(copies) {
        let redis::Value::BulkString(copy) = copy else { panic!("{copy:?}") };
        fleet.command(key.as_bytes(), redis::cmd("RESTORE").arg(key).arg(0).arg(copy).arg("REPLACE")).await;
    }
}

async fn forget(fleet: &Fleet) {
    for key in keys(fleet) {
        fleet.command(key.as_bytes(), redis::cmd("DEL").arg(&key)).await;
    }
}

/// (I1) The owner detects the loss of its lease late: it goes on within what it has reserved, next to its successor.
// shows: I1, id::Snowflake
#[tokio::test]
async fn paused_owner_and_its_successor_issue_different_ids() {
    in_time(async {
        let fleet = Fleet::redis().await;
        let paused = begun(&fleet, &fleet.process().await, narrow(0)).await;
        let mut all = take(&paused, 100);
        // Only the store's time passes, as for a paused process.
        fleet.advance_store(LEASE).await;
        let successor = builder(&fleet.process().await, narrow(0)).build().await.unwrap();
        all.extend(take(&paused, 100));
        fleet.advance_store(MARGIN + Duration::from_millis(500)).await;
        successor.extend_once().await.unwrap();
        all.extend(take(&successor, usize::MAX));
        all.extend(take(&paused, usize::MAX));
        let error = paused.extend_once().await.unwrap_err();
        assert!(matches!(error, IdError::WorkersTaken { .. }), "{error}");
        assert!(take(&paused, 1).is_empty());
        assert!(all.len() > 3_000 * 4, "{}", all.len());
        assert_distinct(all);
    })
    .await;
}

/// (I1) A promoted replica has forgotten that a worker id has another owner, and its clock is behind. The superseded owner asks first.
// shows: I1, hazard GI5
#[tokio::test]
async fn promoted_replica_that_forgot_a_successor_repeats_no_id() {
    in_time(async {
        let fleet = Fleet::redis().await;
        let superseded = begun(&fleet, &fleet.process().await, narrow(0)).await;
        let mut all = take(&superseded, 100);
        let before = copy(&fleet).await;
        fleet.advance_store(LEASE).await;
        let successor = builder(&fleet.process().await, narrow(0)).build().await.unwrap();
        fleet.advance_store(MARGIN + Duration::from_millis(500)).await;
        successor.extend_once().await.unwrap();
        all.extend(take(&successor, 500));
        promote(&fleet, &before).await;
        fleet.set_back(MARGIN).await;
        for _ in 0..4 {
            let _one_of_them = superseded.extend_once().await;
            all.extend(take(&superseded, usize::MAX));
            let _has_no_worker_id = successor.extend_once().await;
            all.extend(take(&successor, usize::MAX));
            fleet.advance_store(MARGIN).await;
        }
        assert_distinct(all);
    })
    .await;
}

/// (I1) A store that has forgotten everything gives the same worker id away again, while its owner goes on.
// shows: I1, hazard GI4
#[tokio::test]
async fn flushed_store_repeats_no_id() {
    in_time(async {
        let fleet = Fleet::redis().await;
        let first = begun(&fleet, &fleet.process().await, narrow(0)).await;
        let mut all = take(&first, 100);
        forget(&fleet).await;
        let second = builder(&fleet.process().await, narrow(0)).build().await.unwrap();
        assert_eq!((first.worker(), second.worker()), (0, 0));
        for _ in 0..5 {
            all.extend(take(&first, usize::MAX));
            all.extend(take(&second, usize::MAX));
            fleet.advance_store(Duration::from_millis(700)).await;
            let _is_taken = first.extend_once().await;
            second.extend_once().await.unwrap();
        }
        assert!(all.len() > 18_000, "{}", all.len());
        assert_distinct(all);
    })
    .await;
}

/// (I2) The store has forgotten the scope and its clock is behind by more than the margin, so another process could repeat ids. Those of one
/// generator rise nevertheless, also if it gets a lower worker id.
// shows: I2
#[tokio::test]
async fn ids_of_a_generator_rise_although_the_store_goes_back() {
    in_time(async {
        let fleet = Fleet::redis().await;
        let keel = fleet.process().await;
        let other = builder(&keel, narrow(1)).build().await.unwrap();
        let ids = begun(&fleet, &keel, narrow(1)).await;
        assert_eq!((other.worker(), ids.worker()), (0, 1));
        other.release().await.unwrap();
        // All but the last two of the last reserved tick.
        let last_tick = fleet.now_ms() + 2_999;
        let mut all = Vec::new();
        while let Some(id) = ids.try_next() {
            all.push(id);
            let parts = ids.parts(id);
            if (parts.unix_ms, parts.sequence) == (last_tick, 1) {
                break;
            }
        }
        forget(&fleet).await;
        fleet.set_back(Duration::from_secs(5)).await;
        ids.extend_once().await.unwrap();
        assert_eq!(ids.worker(), 0);
        for _ in 0..8 {
            fleet.advance(Duration::from_secs(1)).await;
            ids.extend_once().await.unwrap();
            all.extend(take(&ids, usize::MAX));
        }
        assert!(all.len() > 12_000, "{}", all.len());
        let falls = all.windows(2).find(|pair| pair[0] >= pair[1]);
        assert!(falls.is_none(), "{falls:?}");
    })
    .await;
}

/// The store's time stands still, so nothing more can be reserved.
// shows: I3, hazard GI9, id::Snowflake::next
#[tokio::test]
async fn caller_waits_no_longer_than_it_may() {
    in_time(async {
        let fleet = Fleet::redis().await;
        let ids = builder(&fleet.process().await, narrow(0)).wait(Duration::from_secs(2)).build().await.unwrap();
        let waiting = tokio::spawn({
            let ids = ids.clone();
            async move { ids.next().await }
        });
        while !waiting.is_finished() {
            fleet.advance_processes(Duration::from_millis(100));
            let _ = tokio::time::timeout(MS * 2, std::future::pending::<()>()).await;
        }
        let error = waiting.await.unwrap().unwrap_err();
        assert!(matches!(error, IdError::NoneInTime { .. }) && error.is_retryable(), "{error:?}");
        assert!(error.to_string().starts_with("no id within 2000 ms"), "{error}");
        while fleet.while_time_passes(ids.next()).await.is_err() {}
    })
    .await;
}

/// A mistaken time would stay reserved.
// shows: I1, hazard GI8, id::SnowflakeBuilder::build
#[tokio::test]
async fn clocks_an_hour_apart_are_rejected() {
    in_time(async {
        let fleet = Fleet::redis().await;
        let keel = fleet.process().await;
        let ids = begun(&fleet, &keel, narrow(1)).await;
        fleet.advance_store(Duration::from_secs(3_600)).await;
        let error = builder(&keel, narrow(1)).build().await.unwrap_err();
        assert!(matches!(error, IdError::ClocksApart { .. }) && error.is_retryable(), "{error}");
        // The lease is over by the store's clock, so another worker id is needed.
        let error = ids.extend_once().await.unwrap_err();
        assert!(matches!(error, IdError::ClocksApart { .. }), "{error}");
    })
    .await;
}

/// Each step is below an hour, but together they would end at a time with which no new process is accepted.
// shows: hazard GI8
#[tokio::test]
async fn steps_of_the_store_clock_do_not_add_up() {
    in_time(async {
        let fleet = Fleet::redis().await;
        let day = Duration::from_secs(86_400);
        let ids = builder(&fleet.process().await, narrow(1)).lease(day).build().await.unwrap();
        let most_of_an_hour = Duration::from_secs(3_000);
        fleet.advance_store(most_of_an_hour).await;
        ids.extend_once().await.unwrap();
        fleet.advance_store(most_of_an_hour).await;
        for _ in 0..3 {
            let error = ids.extend_once().await.unwrap_err();
            assert!(matches!(error, IdError::ClocksApart { .. }), "{error}");
        }
    })
    .await;
}

/// (I3) Without the store ids go on to the end of the reserved time; then callers get the reason, and ids again once the store is back.
// shows: I3, id::Snowflake::next
#[tokio::test]
async fn ids_go_on_without_the_store_to_the_end_of_the_reserved_time() {
    in_time(async {
        let mut redis = Redis::start(RedisOptions::new()).await.unwrap();
        let keel = Keel::connect(&redis.url()).await.unwrap();
        let hour = Duration::from_secs(3_600);
        let patient =
            keel.snowflake("patient").ahead(hour).margin(Duration::ZERO).lease(hour * 2).build().await.unwrap();
        let ahead = Duration::from_millis(100);
        let brief =
            keel.snowflake("brief").layout(Layout::js()).ahead(ahead).margin(Duration::ZERO).wait(Duration::ZERO);
        let brief = brief.build().await.unwrap();
        let mut all = vec![patient.next().await.unwrap()];
        redis.kill().unwrap();
        let mut state = keel.link().unwrap().state();
        state.wait_for(|state| !state.is_up()).await.unwrap();
        let mut of_brief = Vec::new();
        let error = loop {
            match brief.next().await {
                Ok(id) => of_brief.push(id),
                Err(error @ IdError::NoneInTime { cause: Some(_), .. }) => break error,
                Err(_) => tokio::task::yield_now().await,
            }
        };
        let IdError::NoneInTime { cause: Some(cause), .. } = &error else { panic!("{error}") };
        assert!(matches!(**cause, IdError::Link(_)) && error.is_retryable(), "{error}");
        for _ in 0..10_000 {
            all.push(patient.next().await.unwrap());
        }
        redis.restart().await.unwrap();
        let again = loop {
            match brief.next().await {
                Ok(id) => break id,
                Err(_) => tokio::task::yield_now().await,
            }
        };
        of_brief.push(again);
        assert!(all.is_sorted() && of_brief.is_sorted());
        assert_distinct(all);
        assert_distinct(of_brief);
    })
    .await;
}
