//! Who runs when: order within a key, concurrency between keys.

use crate::log::Log;
use crate::stream::side::rig::{Case, Desk, Orders, Rig, all_settled, append, billing, open};
use evenkeel::stream::{Group, OnFailure, RetryDelay, StreamError};
use std::time::Duration;

on_both! {
    entries_of_a_key_run_one_after_the_other
    keys_run_at_the_same_time
    unordered_entries_run_at_the_same_time
    unordered_consumer_reads_no_more_than_its_free_slots
    blocked_key_waits_for_its_failed_entry
    skipped_entry_is_overtaken
    total_order_waits_for_each_entry
    total_order_requires_one_partition
    full_buffer_of_a_blocked_key_is_not_exceeded
    appended_entry_wakes_a_waiting_consumer
    group_in_another_order_is_rejected
    group_from_the_end_skips_earlier_entries
}

const MINUTE: Duration = Duration::from_secs(60);

fn per_key(orders: &Orders, on_failure: OnFailure) -> Group<String> {
    orders.group("billing").per_key(on_failure).retry_delay(RetryDelay::fixed(MINUTE))
}

// shows: T3
async fn entries_of_a_key_run_one_after_the_other(rig: Rig) {
    let orders = rig.orders(2).await;
    append(&orders, "a", &["1", "2", "3"]).await;
    let desk = Desk::new();
    let office = open(desk.consumer(per_key(&orders, OnFailure::BlockKey)));
    for expected in ["1", "2", "3"] {
        let case = desk.next().await;
        assert_eq!(case.entry.value, expected);
        assert!(desk.next_at_once().await.is_none(), "{expected} has not ended");
        case.done();
    }
    all_settled(&orders).await;
    office.close().await;
}

async fn keys_run_at_the_same_time(rig: Rig) {
    let orders = rig.orders(1).await;
    append(&orders, "a", &["a1", "a2"]).await;
    append(&orders, "b", &["b1"]).await;
    append(&orders, "c", &["c1"]).await;
    let desk = Desk::new();
    let office = open(desk.consumer(per_key(&orders, OnFailure::BlockKey)));
    let cases = [desk.next().await, desk.next().await, desk.next().await];
    assert_eq!(cases.each_ref().map(|case| case.entry.value.as_str()), ["a1", "b1", "c1"]);
    assert!(cases[0].entry.fence > 0);
    cases.into_iter().for_each(Case::done);
    assert_eq!(desk.done().await, "a2");
    office.close().await;
}

async fn unordered_entries_run_at_the_same_time(rig: Rig) {
    let orders = rig.orders(2).await;
    append(&orders, "a", &["1", "2", "3"]).await;
    let desk = Desk::new();
    let office = open(desk.consumer(orders.group("billing").unordered()));
    let cases = [desk.next().await, desk.next().await, desk.next().await];
    assert_eq!(cases[0].entry.fence, 0);
    cases.into_iter().for_each(Case::done);
    office.close().await;
    assert_eq!(billing(&orders).await.pending(), 0);
}

/// (S3) A consumer that reads more than it can run holds entries that others could run, until their leases expire.
// shows: hazard X2
async fn unordered_consumer_reads_no_more_than_its_free_slots(rig: Rig) {
    let orders = rig.orders(2).await;
    for number in 0..20 {
        append(&orders, &format!("key-{number}"), &["x"]).await;
    }
    let desk = Desk::new();
    let office = open(desk.consumer(orders.group("billing").unordered()).concurrency(3));
    let cases = [desk.next().await, desk.next().await, desk.next().await];
    assert!(desk.next_at_once().await.is_none());
    assert_eq!(billing(&orders).await.pending(), 3);
    cases.into_iter().for_each(Case::done);
    for _ in 3..20 {
        desk.done().await;
    }
    all_settled(&orders).await;
    office.close().await;
}

// shows: T3
async fn blocked_key_waits_for_its_failed_entry(rig: Rig) {
    let orders = rig.orders(1).await;
    append(&orders, "a", &["a1", "a2"]).await;
    append(&orders, "b", &["b1"]).await;
    let desk = Desk::new();
    let office = open(desk.consumer(per_key(&orders, OnFailure::BlockKey)).concurrency(1));
    let first = desk.next().await;
    assert_eq!(first.entry.value, "a1");
    first.fail();
    assert_eq!(desk.done().await, "b1", "other keys go on");
    let again = rig.while_time_passes(desk.next()).await;
    assert_eq!((again.entry.value.as_str(), again.entry.attempt), ("a1", 2));
    again.done();
    assert_eq!(desk.done().await, "a2");
    office.close().await;
}

async fn skipped_entry_is_overtaken(rig: Rig) {
    let orders = rig.orders(1).await;
    append(&orders, "a", &["1", "2"]).await;
    let desk = Desk::new();
    let office = open(desk.consumer(per_key(&orders, OnFailure::Skip)));
    desk.next().await.fail();
    assert_eq!(desk.done().await, "2");
    let again = rig.while_time_passes(desk.next()).await;
    assert_eq!((again.entry.value.as_str(), again.entry.attempt), ("1", 2));
    again.done();
    office.close().await;
}

async fn total_order_waits_for_each_entry(rig: Rig) {
    let orders = rig.orders(1).await;
    append(&orders, "a", &["1"]).await;
    append(&orders, "b", &["2"]).await;
    let desk = Desk::new();
    let group = orders.group("billing").total().retry_delay(RetryDelay::fixed(MINUTE));
    let office = open(desk.consumer(group));
    desk.next().await.fail();
    assert!(desk.next_at_once().await.is_none(), "another key waits, too");
    let again = rig.while_time_passes(desk.next()).await;
    assert_eq!(again.entry.value, "1");
    again.done();
    assert_eq!(desk.done().await, "2");
    office.close().await;
}

// shows: stream::Consumer::run
async fn total_order_requires_one_partition(rig: Rig) {
    let orders = rig.orders(2).await;
    let refused = Desk::new().consumer(orders.group("billing").total()).run(std::future::pending()).await;
    assert!(matches!(refused, Err(StreamError::Settings { .. })), "{refused:?}");
}

/// A key that is retried for a long time must not fill the memory of the process.
// shows: hazard SF11
async fn full_buffer_of_a_blocked_key_is_not_exceeded(rig: Rig) {
    let orders = rig.orders(1).await;
    append(&orders, "a", &["1", "2", "3", "4", "5", "6"]).await;
    let desk = Desk::new();
    let log = Log::begin();
    let office = open(desk.consumer(per_key(&orders, OnFailure::BlockKey)).buffer(3));
    desk.next().await.fail();
    assert!(desk.next_at_once().await.is_none());
    assert_eq!(billing(&orders).await.pending(), 3);
    for _ in 0..2 {
        let again = rig.while_time_passes(desk.next()).await;
        assert_eq!(again.entry.value, "1");
        again.fail();
    }
    let again = rig.while_time_passes(desk.next()).await;
    assert_eq!((again.entry.value.as_str(), again.entry.attempt), ("1", 4));
    again.done();
    // Once, not for each attempt.
    log.each_says("block so many others", &["billing"]);
    log.each_says("the handler failed", &["attempt=1", "attempt=2", "attempt=3"]);
    for expected in ["2", "3", "4", "5", "6"] {
        assert_eq!(desk.done().await, expected);
    }
    office.close().await;
}

/// Without a wake-up the entry waits for the next poll, and the clock of this test stands still.
// shows: hazard X13
async fn appended_entry_wakes_a_waiting_consumer(rig: Rig) {
    let orders = rig.orders(2).await;
    let desk = Desk::new();
    let office = open(desk.consumer(orders.group("billing").unordered()));
    for number in 0..10 {
        let value = format!("{number}");
        append(&orders, &value, &[&value]).await;
        assert_eq!(desk.done().await, value);
    }
    office.close().await;
}

/// A consumer that leases entries would overtake the owner of a partition.
// shows: stream::Consumer::run
async fn group_in_another_order_is_rejected(rig: Rig) {
    let orders = rig.orders(1).await;
    let desk = Desk::new();
    open(desk.consumer(per_key(&orders, OnFailure::Skip))).close().await;
    let refused = desk.consumer(orders.group("billing").unordered()).run(std::future::pending()).await;
    assert!(matches!(&refused, Err(StreamError::Settings { reason, .. }) if reason.contains("billing")), "{refused:?}");
}

/// Only a new group begins at the end: one that exists loses nothing that was appended while it had no consumer.
async fn group_from_the_end_skips_earlier_entries(rig: Rig) {
    let orders = rig.orders(1).await;
    append(&orders, "a", &["before"]).await;
    let desk = Desk::new();
    let from_end = || orders.group("billing").from_end().unordered();
    let office = open(desk.consumer(from_end()));
    // Entries that are appended before the group exists are also skipped.
    while !orders.admin().groups().await.unwrap().iter().any(|group| group.partitions[0].is_some()) {
        tokio::task::yield_now().await;
    }
    append(&orders, "a", &["after"]).await;
    assert_eq!(desk.done().await, "after");
    all_settled(&orders).await;
    office.close().await;
    append(&orders, "a", &["without a consumer"]).await;
    let office = open(desk.consumer(from_end()));
    assert_eq!(desk.done().await, "without a consumer");
    office.close().await;
}
