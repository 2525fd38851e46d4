//! The way to Redis breaks while a program appends or consumes.

use super::rig::{Desk, Orders, Rig, all_settled, append, billing, in_time, open};
use evenkeel::Keel;
use evenkeel::stream::{EntryId, OnFailure};
use std::time::Duration;
use testkit::proxy::{Direction, Proxy};
use testkit::step_command;

/// A rig on Redis, and a keel that reaches it over a proxy, with the stream `orders`.
async fn rig() -> (Rig, Proxy, Keel, Orders) {
    let rig = Rig::redis().await;
    let proxy = Proxy::start(rig.port(), 1).await.unwrap();
    let keel = rig.process_through(|url| proxy.url(url)).await;
    let orders = keel.stream("orders").partitions(1).open().await.unwrap();
    (rig, proxy, keel, orders)
}

/// The producer does not know whether its entry is in the log, and must neither lose nor duplicate it.
// shows: T3, stream::Stream::append, stream::Stream::append_many
#[tokio::test]
async fn append_whose_reply_is_lost_is_in_the_log_once() {
    in_time(async {
        let (rig, proxy, _keel, orders) = rig().await;
        let elsewhere = rig.orders(1).await;
        append(&orders, "a", &["0"]).await;
        for number in 1..=3 {
            let mut hold = proxy.hold(Direction::ToClient, step_command());
            let producer = orders.clone();
            let appending = tokio::spawn(async move { producer.append("a", &format!("{number}")).await });
            hold.reached().await.unwrap();
            proxy.cut();
            drop(hold);
            // Until the connection is back, the call is repeated, or fails without having been sent again.
            let appended = appending.await.unwrap();
            let page = elsewhere.admin().peek(0, EntryId::MIN, 100).await.unwrap();
            assert_eq!(page.len(), number + 1, "{appended:?}");
            assert_eq!(appended.unwrap().id, Some(page[number].id));
        }
    })
    .await;
}

/// The entries of a read whose reply is lost are leased to this consumer, which must ask for them: no other consumer may.
// shows: T8
#[tokio::test]
async fn entries_of_a_lost_reply_are_found_again() {
    in_time(async {
        for is_ordered in [true, false] {
            let (rig, proxy, _keel, orders) = rig().await;
            let elsewhere = rig.orders(1).await;
            let desk = Desk::new();
            let group = orders.group("billing");
            let group = if is_ordered { group.per_key(OnFailure::BlockKey) } else { group.unordered() };
            let office = open(desk.consumer(group));
            append(&elsewhere, "a", &["warm"]).await;
            assert_eq!(desk.done().await, "warm");
            all_settled(&elsewhere).await;

            // The next script in this direction is the consumer's read: the producer has another one.
            let mut hold = proxy.hold(Direction::ToClient, step_command());
            append(&elsewhere, "a", &["lost"]).await;
            hold.reached().await.unwrap();
            proxy.cut();
            drop(hold);
            let case = rig.while_time_passes(desk.next()).await;
            assert_eq!((case.entry.value.as_str(), case.entry.attempt), ("lost", 1));
            case.done();
            rig.while_time_passes(all_settled(&elsewhere)).await;
            office.close().await;
        }
    })
    .await;
}

/// (S14) The consumer waits for entries after those it has read: one that is appended between its read and its wait would lie there until
/// another one follows, if it waited for entries after the end of the log.
// shows: T8, hazard X14
#[tokio::test]
async fn entry_appended_just_before_the_wait_wakes_the_consumer() {
    in_time(async {
        let (rig, proxy, _keel, orders) = rig().await;
        let elsewhere = rig.orders(1).await;
        let desk = Desk::new();
        let mut hold = proxy.hold(Direction::ToServer, "XREAD");
        let office = open(desk.consumer(orders.group("billing").unordered()));
        hold.reached().await.unwrap();
        append(&elsewhere, "a", &["x"]).await;
        hold.release();
        assert_eq!(desk.done().await, "x");
        office.close().await;
    })
    .await;
}

/// (T3) Once the lease may be over, another process may own the partition: the handlers of this one must stop.
// shows: T3
#[tokio::test]
async fn owner_without_redis_stops_its_handlers_after_the_lease() {
    in_time(async {
        let (rig, proxy, _keel, orders) = rig().await;
        let elsewhere = rig.orders(1).await;
        let desk = Desk::new();
        let office = open(desk.consumer(orders.group("billing").per_key(OnFailure::BlockKey)));
        append(&elsewhere, "a", &["x"]).await;
        let case = desk.next().await;
        proxy.refuse(true).await.unwrap();
        proxy.cut();
        rig.while_time_passes(case.dropped()).await;
        assert_eq!(billing(&elsewhere).await.pending(), 1);
        proxy.refuse(false).await.unwrap();
        let again = rig.while_time_passes(desk.next()).await;
        assert_eq!(again.entry.value, "x");
        again.done();
        rig.while_time_passes(all_settled(&elsewhere)).await;
        office.close().await;
    })
    .await;
}

/// The outcome of a handler that ended during an outage is recorded afterwards.
// shows: T2
#[tokio::test]
async fn entry_that_ends_during_an_outage_is_settled_afterwards() {
    in_time(async {
        let (rig, proxy, _keel, orders) = rig().await;
        let elsewhere = rig.orders(1).await;
        let desk = Desk::new();
        let office = open(desk.consumer(orders.group("billing").unordered()));
        append(&elsewhere, "a", &["x"]).await;
        let case = desk.next().await;
        proxy.refuse(true).await.unwrap();
        proxy.cut();
        case.done();
        assert!(desk.next_at_once().await.is_none());
        proxy.refuse(false).await.unwrap();
        rig.while_time_passes(all_settled(&elsewhere)).await;
        assert!(desk.next_at_once().await.is_none(), "it is handled once");
        office.close().await;
    })
    .await;
}

/// A process that is stopped for longer than its lease started the next entry of its partition as soon as it went on, before it learned
/// that another consumer had it.
// shows: hazard SF9
#[tokio::test]
async fn entry_is_not_started_when_its_lease_has_passed_by_the_own_clock() {
    in_time(async {
        let (rig, proxy, _keel, orders) = rig().await;
        let elsewhere = rig.orders(1).await;
        let desk = Desk::new();
        let office = open(desk.consumer(orders.group("billing").per_key(OnFailure::BlockKey)).concurrency(1));
        append(&elsewhere, "a", &["first"]).await;
        append(&elsewhere, "b", &["second"]).await;
        let first = desk.next().await;
        assert!(desk.next_at_once().await.is_none(), "it has one slot");
        proxy.refuse(true).await.unwrap();
        proxy.cut();
        // Both happen while the process is stopped: nothing of it runs in between.
        rig.advance_processes(Duration::from_secs(31));
        first.done();
        assert!(desk.next_at_once().await.is_none());
        proxy.refuse(false).await.unwrap();
        assert_eq!(rig.while_time_passes(desk.done()).await, "first", "its end was not recorded");
        assert_eq!(rig.while_time_passes(desk.done()).await, "second");
        office.close().await;
    })
    .await;
}
