//! What users see of ids, on both backends. Time is frozen unless a test advances it.

use super::{AHEAD, LEASE, MARGIN, MS, assert_distinct, begin, begun, builder, narrow, take, wide};
use crate::rig::Fleet;
use evenkeel::id::IdError;
use std::collections::BTreeSet;
use std::time::Duration;

on_both_with! {crate::rig::Fleet:
    ids_of_one_generator_rise_with_their_time
    overflow_borrows_reserved_ticks_and_then_waits
    ids_end_with_the_reserved_time
    dropped_caller_loses_no_id
    ids_rise_from_one_worker_id_to_the_next
    clock_set_back_neither_repeats_nor_stops_ids
    restarted_process_repeats_no_id
    released_generator_issues_nothing_more
    program_with_other_settings_is_rejected
    process_beyond_the_worker_ids_is_rejected
    first_sequence_numbers_of_ticks_are_spread
}

// shows: I2
async fn ids_of_one_generator_rise_with_their_time(fleet: Fleet) {
    let ids = builder(&fleet.process().await, wide()).build().await.unwrap();
    assert!(ids.try_next().is_none(), "the first id comes after the margin");
    let first = fleet.while_time_passes(ids.next()).await.unwrap();
    let mut last = first;
    for _ in 0..1_000 {
        let next = ids.next().await.unwrap();
        assert!(next > last, "{next} after {last}");
        last = next;
    }
    let parts = ids.parts(first);
    assert_eq!((parts.worker, ids.worker()), (0, 0));
    let ahead_ms = u64::try_from((AHEAD + MARGIN).as_millis()).unwrap();
    assert!(parts.unix_ms.abs_diff(fleet.now_ms()) <= ahead_ms, "{parts:?} at {}", fleet.now_ms());
}

/// (I3) More ids than their time has: the reserved ticks are used first, then callers wait for time to pass, and no caller gets an error.
// shows: I3, hazard GI9, id::Snowflake::next
async fn overflow_borrows_reserved_ticks_and_then_waits(fleet: Fleet) {
    let ids = begun(&fleet, &fleet.process().await, narrow(10)).await;
    let borrowed = take(&ids, usize::MAX);
    let most = 4 * usize::try_from(AHEAD.as_millis()).unwrap();
    assert!((most - 4..=most).contains(&borrowed.len()), "{} of {most}", borrowed.len());
    let mut all = borrowed;
    for _ in 0..100 {
        all.push(fleet.while_time_passes_by(MS, ids.next()).await.unwrap());
    }
    assert!(all.is_sorted(), "they rise");
    assert_distinct(all);
}

/// (I1) Beyond the reserved time another owner may issue.
// shows: I1, I2
async fn ids_end_with_the_reserved_time(fleet: Fleet) {
    let ids = begun(&fleet, &fleet.process().await, narrow(0)).await;
    let until = fleet.now_ms() + 3_000;
    let last = take(&ids, usize::MAX).pop().unwrap();
    assert_eq!(ids.parts(last).unix_ms, until - 1);
    // The store's time stands still.
    fleet.advance_processes(Duration::from_secs(60));
    assert!(ids.try_next().is_none());
}

/// No id is lost between the attempt and the wait.
// shows: I3, id::Snowflake::next
async fn dropped_caller_loses_no_id(fleet: Fleet) {
    let ids = begun(&fleet, &fleet.process().await, narrow(0)).await;
    take(&ids, usize::MAX);
    for _ in 0..20 {
        let dropped = tokio::time::timeout(Duration::ZERO, ids.next()).await;
        assert!(dropped.is_err());
    }
    fleet.advance(MS).await;
    ids.extend_once().await.unwrap();
    assert_eq!(take(&ids, usize::MAX).len(), 4, "all ids of the millisecond");
}

/// (I2) The ids of one generator also rise when its worker id changes, here from 1 to 0.
// shows: I2, id::Snowflake
async fn ids_rise_from_one_worker_id_to_the_next(fleet: Fleet) {
    let other = builder(&fleet.process().await, narrow(1)).build().await.unwrap();
    let ids = begun(&fleet, &fleet.process().await, narrow(1)).await;
    let mut all = take(&ids, 50);
    assert_eq!(ids.worker(), 1);
    other.release().await.unwrap();
    fleet.advance(LEASE).await;
    ids.extend_once().await.unwrap();
    assert_eq!(ids.worker(), 0, "the lease that ended first");
    begin(&fleet, &ids).await;
    all.extend(take(&ids, 50));
    assert_eq!(all.len(), 100);
    assert!(all.is_sorted(), "they rise");
    assert_distinct(all);
}

/// (I1, I3) The clocks of the store and of the processes are set back, by half an hour.
// shows: I1, I3, hazard GI1
async fn clock_set_back_neither_repeats_nor_stops_ids(fleet: Fleet) {
    let keel = fleet.process().await;
    let ids = begun(&fleet, &keel, narrow(1)).await;
    let mut all = take(&ids, usize::MAX);
    fleet.set_back(Duration::from_secs(1_800)).await;
    // The time since the extension before it is lost with the step.
    ids.extend_once().await.unwrap();
    assert!(take(&ids, 1).is_empty());
    for _ in 0..5 {
        fleet.advance(Duration::from_secs(1)).await;
        ids.extend_once().await.unwrap();
        let more = take(&ids, usize::MAX);
        assert!(more.len() > 3_000, "{}", more.len());
        all.extend(more);
    }
    let another = begun(&fleet, &fleet.process().await, narrow(1)).await;
    all.extend(take(&another, usize::MAX));
    assert_distinct(all);
}

/// (I1) The process ends without a release, and starts again at once or after its lease.
// shows: I1, hazard GI2, id::Snowflake
async fn restarted_process_repeats_no_id(fleet: Fleet) {
    let mut all = Vec::new();
    let mut workers = BTreeSet::new();
    for pause in [Duration::ZERO, LEASE, Duration::ZERO, LEASE] {
        let ids = begun(&fleet, &fleet.process().await, narrow(1)).await;
        workers.insert(ids.worker());
        all.extend(take(&ids, usize::MAX));
        drop(ids);
        fleet.advance(pause).await;
    }
    assert_eq!(workers, BTreeSet::from([0, 1]));
    assert_distinct(all);
}

// shows: hazard GI6, id::Snowflake::next, id::Snowflake::release
async fn released_generator_issues_nothing_more(fleet: Fleet) {
    let ids = begun(&fleet, &fleet.process().await, narrow(0)).await;
    let mut all = take(&ids, 10);
    let clone = ids.clone();
    ids.release().await.unwrap();
    ids.release().await.unwrap();
    assert!(clone.try_next().is_none());
    let error = clone.next().await.unwrap_err();
    assert!(matches!(&error, IdError::Released { scope } if scope == "orders"), "{error}");
    assert!(!error.is_retryable());
    // It does not lease the worker id again, which is free at once.
    clone.extend_once().await.unwrap();
    fleet.advance(AHEAD + MARGIN).await;
    clone.extend_once().await.unwrap();
    assert!(clone.try_next().is_none());
    let next = begun(&fleet, &fleet.process().await, narrow(0)).await;
    all.extend(take(&next, usize::MAX));
    assert_distinct(all);
}

/// Two programs with different settings of one scope must not disagree about what is reserved.
// shows: I1, hazard GI7, id::SnowflakeBuilder::build
async fn program_with_other_settings_is_rejected(fleet: Fleet) {
    let _first = builder(&fleet.process().await, narrow(3)).build().await.unwrap();
    let keel = fleet.process().await;
    for other in [
        builder(&keel, narrow(4)),
        builder(&keel, narrow(3)).ahead(AHEAD + MS),
        builder(&keel, narrow(3)).margin(Duration::ZERO),
        builder(&keel, narrow(3)).lease(LEASE * 2),
    ] {
        let error = other.build().await.unwrap_err();
        assert!(matches!(error, IdError::Differs { .. }), "{error}");
        assert!(!error.is_retryable() && error.to_string().contains("use the same in every program"), "{error}");
    }
    let another = keel.snowflake("invoices").layout(narrow(4)).build().await.unwrap();
    assert_eq!(another.worker(), 0);
    let same = builder(&keel, narrow(3)).wait(Duration::ZERO).build().await.unwrap();
    assert_eq!(same.worker(), 1, "how long callers wait is not shared");
}

// shows: hazard GI3, id::Snowflake::release, id::SnowflakeBuilder::build
async fn process_beyond_the_worker_ids_is_rejected(fleet: Fleet) {
    let keel = fleet.process().await;
    let first = builder(&keel, narrow(1)).build().await.unwrap();
    let _second = builder(&keel, narrow(1)).build().await.unwrap();
    let error = builder(&keel, narrow(1)).build().await.unwrap_err();
    assert!(matches!(error, IdError::WorkersTaken { workers: 2, free_in, .. } if free_in == LEASE), "{error}");
    assert!(error.is_retryable());
    first.release().await.unwrap();
    assert_eq!(builder(&keel, narrow(1)).build().await.unwrap().worker(), 0);
}

/// At a low rate each tick has one id: with the sequence number 0, all would fall on one shard of `id % 4`.
// shows: hazard GI12
async fn first_sequence_numbers_of_ticks_are_spread(fleet: Fleet) {
    let ids = begun(&fleet, &fleet.process().await, wide()).await;
    let mut seen = BTreeSet::new();
    for _ in 0..60 {
        fleet.advance(Duration::from_millis(50)).await;
        ids.extend_once().await.unwrap();
        seen.insert(ids.parts(ids.next().await.unwrap()).sequence);
    }
    assert!(seen.len() > 4 && seen.iter().all(|sequence| *sequence < 16), "{seen:?}");
}
