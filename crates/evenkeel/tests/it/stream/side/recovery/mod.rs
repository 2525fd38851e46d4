//! Streams that are registered in a database, after Redis has lost them.

mod refused;
mod shop;
mod unfinished;

use super::rig::{Case, Desk, Orders, Rig, all_settled, append, open};
use crate::sql::databases::{TestDatabase, Tested};
use bytes::Bytes;
use evenkeel::sql::sink::{Confirmed, Envelope, Order, Sink, SinkError, Sinks};
use evenkeel::stream::StreamError;
use evenkeel::stream::admin::SeekTo;
use evenkeel_protocol::stream::steps::{Append, NewEntry};
use shop::{
    checkpoints, consumer, entries, flush, handle_all, kept, log, place, process, relay, unsettled, until, values,
};
use std::time::Duration;
use testkit::proxy::{Direction, Proxy};
use tokio::sync::mpsc;

on_redis_and_each_database! {
    flush_loses_no_entry_of_a_unit_of_work
    entries_are_kept_until_the_slowest_group_has_settled_them
    checkpoints_are_stored_despite_a_sick_partition
    ids_continue_above_the_checkpoints
    ids_after_a_recovery_can_be_named
    stream_without_groups_is_recovered_once
    recovery_that_another_program_has_begun_is_not_begun_again
    checkpoint_never_goes_back
    recovery_ends_the_claims_of_relays
    stream_stays_lost_while_its_database_fails
    loss_is_detected_though_another_program_created_the_stream
    late_checkpoint_of_a_lost_incarnation_is_rejected
    late_entry_of_a_stopped_relay_hides_no_kept_entry
    kept_entries_are_sent_before_new_ones
    what_is_lost_is_counted
    program_without_the_database_does_not_create_the_stream_again
    number_of_partitions_survives_a_flush
    flushed_stream_is_recovered_when_it_is_opened
    trim_keeps_entries_while_a_registered_group_is_missing
    extreme_limits_of_losses_are_accepted
    groups_from_before_the_registration_are_registered
    group_is_unregistered_where_its_database_is_known
}

// shows: T7, hazard X11, stream::StreamBuilder::sql
async fn flush_loses_no_entry_of_a_unit_of_work<DB: Tested>(rig: Rig, database: TestDatabase<DB>) {
    let shop = process(&rig, &database).await;
    for key in ["a", "b", "c"] {
        place(&shop, &database, key, &[&format!("{key}1"), &format!("{key}2")]).await;
    }
    relay(&shop, &database).await;
    let desk = Desk::new();
    let office = open(consumer(&desk, &shop.1, "billing"));
    let settled = [desk.done().await, desk.done().await];
    let running = [desk.next().await, desk.next().await];
    until(&rig, || async { unsettled(&shop.1, "billing").await == 4 }).await;
    let before = checkpoints(&shop.1, "billing").await;
    office.kill().await;
    drop(running);
    place(&shop, &database, "a", &["a3"]).await;
    flush(&rig).await;
    relay(&shop, &database).await;
    assert_eq!(
        entries(&checkpoints(&shop.1, "billing").await),
        entries(&before),
        "how far the group has come survives"
    );
    let handled = handle_all(&rig, &shop.1).await;
    for value in ["a1", "a2", "a3", "b1", "b2", "c1", "c2"] {
        let is_settled = settled.iter().any(|settled| settled == value);
        assert!(is_settled || handled.iter().any(|handled| handled == value), "{value} is lost: {handled:?}");
    }
    for key in ["a", "b", "c"] {
        let of_key: Vec<&String> = handled.iter().filter(|value| value.starts_with(key)).collect();
        assert!(of_key.is_sorted_by(|one, next| one < next), "{of_key:?}");
    }
    assert_eq!(shop.1.admin().losses(10).await.unwrap().len(), 1, "the loss is recovered once");
}

// shows: T7
async fn entries_are_kept_until_the_slowest_group_has_settled_them<DB: Tested>(rig: Rig, database: TestDatabase<DB>) {
    let shop = process(&rig, &database).await;
    let slow = Desk::new();
    let shipping = open(consumer(&slow, &shop.1, "shipping"));
    place(&shop, &database, "a", &["1"]).await;
    relay(&shop, &database).await;
    let held = slow.next().await;
    let desk = Desk::new();
    let office = open(consumer(&desk, &shop.1, "billing"));
    assert_eq!(desk.done().await, "1");
    all_settled(&shop.1).await;
    let tail = log(&shop.1).await[0].id;
    until(&rig, || async { entries(&checkpoints(&shop.1, "billing").await).contains(&tail) }).await;
    assert_eq!(kept(&shop.1).await, 1, "a group has not settled it");
    held.done();
    until(&rig, || async { kept(&shop.1).await == 0 }).await;
    office.close().await;
    shipping.close().await;
}

/// No checkpoint of the group was stored any more, and the database kept the entries of all partitions.
// shows: hazard SF13
async fn checkpoints_are_stored_despite_a_sick_partition<DB: Tested>(rig: Rig, database: TestDatabase<DB>) {
    let shop = process(&rig, &database).await;
    for key in ["a", "b"] {
        place(&shop, &database, key, &["1"]).await;
    }
    relay(&shop, &database).await;
    let desk = Desk::new();
    let office = open(consumer(&desk, &shop.1, "billing"));
    let cases = [desk.next().await, desk.next().await];
    assert_ne!(cases[0].entry.partition, cases[1].entry.partition);
    let key = format!("{}:g:billing:dead", shop.1.steps().1[0].tag());
    rig.command(key.as_bytes(), redis::cmd("SET").arg(&key).arg("another program's")).await;
    cases.into_iter().for_each(Case::done);
    until(&rig, || async { kept(&shop.1).await == 1 }).await;
    office.kill().await;
}

/// The server that takes over has a clock that is behind.
// shows: T7, hazard X11
async fn ids_continue_above_the_checkpoints<DB: Tested>(rig: Rig, database: TestDatabase<DB>) {
    let shop = process(&rig, &database).await;
    place(&shop, &database, "a", &["1"]).await;
    relay(&shop, &database).await;
    assert_eq!(handle_all(&rig, &shop.1).await, ["1"]);
    let before = log(&shop.1).await[0].id;
    flush(&rig).await;
    rig.set_back(Duration::from_secs(3_600)).await;
    place(&shop, &database, "a", &["2"]).await;
    relay(&shop, &database).await;
    assert!(log(&shop.1).await[0].id > before);
    assert_eq!(handle_all(&rig, &shop.1).await, ["2"]);
}

/// The checkpoint before a pending entry has the highest number that an id can have.
// shows: T7
async fn ids_after_a_recovery_can_be_named<DB: Tested>(rig: Rig, database: TestDatabase<DB>) {
    let shop = process(&rig, &database).await;
    place(&shop, &database, "a", &["1"]).await;
    relay(&shop, &database).await;
    let desk = Desk::new();
    let office = open(consumer(&desk, &shop.1, "billing"));
    let _running = desk.next().await;
    let before = log(&shop.1).await[0].id;
    until(&rig, || async { entries(&checkpoints(&shop.1, "billing").await).contains(&before.previous()) }).await;
    office.kill().await;
    flush(&rig).await;
    rig.set_back(Duration::from_secs(3_600)).await;
    place(&shop, &database, "a", &["2", "3"]).await;
    relay(&shop, &database).await;
    let all = log(&shop.1).await;
    assert_eq!(all.len(), 3);
    for entry in all {
        assert!(entry.id > before && entry.id.sequence < 1 << 53, "{}", entry.id);
    }
}

/// Each partition that is found missing would recover the stream again, and entries would be sent twice.
// shows: T7
async fn stream_without_groups_is_recovered_once<DB: Tested>(rig: Rig, database: TestDatabase<DB>) {
    let (_keel, orders) = process(&rig, &database).await;
    flush(&rig).await;
    let value = "x".to_owned();
    let appended = futures_util::future::join_all((0..8).map(|key| orders.append(format!("key/{key}"), &value))).await;
    assert!(appended.iter().all(Result::is_ok), "{appended:?}");
    assert_eq!(orders.admin().losses(10).await.unwrap().len(), 1);
}

/// This one has read the register before the other one has written it.
// shows: T7
async fn recovery_that_another_program_has_begun_is_not_begun_again<DB: Tested>(rig: Rig, database: TestDatabase<DB>) {
    let proxy = Proxy::start(rig.port(), 1).await.unwrap();
    let keel = rig.process_through(|url| proxy.url(url)).await;
    let orders: Orders = keel.stream("orders").partitions(2).sql(&database.pool).open().await.unwrap();
    flush(&rig).await;
    let mut hold = proxy.hold(Direction::ToClient, "HGET");
    let producer = orders.clone();
    let appending = tokio::spawn(async move { producer.append("a", &"x".to_owned()).await });
    hold.reached().await.unwrap();
    let other = process(&rig, &database).await;
    hold.release();
    appending.await.unwrap().unwrap();
    assert_eq!(other.1.admin().losses(10).await.unwrap().len(), 1);
    assert_eq!(log(&other.1).await.len(), 1);
}

async fn checkpoint_never_goes_back<DB: Tested>(rig: Rig, database: TestDatabase<DB>) {
    let shop = process(&rig, &database).await;
    place(&shop, &database, "a", &["1"]).await;
    relay(&shop, &database).await;
    assert_eq!(handle_all(&rig, &shop.1).await, ["1"]);
    let before = entries(&checkpoints(&shop.1, "billing").await);
    shop.1.admin().seek("billing", SeekTo::Start).await.unwrap();
    let desk = Desk::new();
    let office = open(consumer(&desk, &shop.1, "billing"));
    let _running = rig.while_time_passes(desk.next()).await;
    until(&rig, || async { unsettled(&shop.1, "billing").await == 1 }).await;
    assert_eq!(entries(&checkpoints(&shop.1, "billing").await), before);
    office.kill().await;
}

const CLAIM: &str = "UPDATE evenkeel_outbox_keys SET due_at = due_at + 3600000, \
                     claim = (SELECT work FROM evenkeel_outbox_ordered LIMIT 1)";

/// A relay that had sent the entry before the loss must not record it as sent.
// shows: T7
async fn recovery_ends_the_claims_of_relays<DB: Tested>(rig: Rig, database: TestDatabase<DB>) {
    let shop = process(&rig, &database).await;
    place(&shop, &database, "a", &["1"]).await;
    database.run(CLAIM).await;
    flush(&rig).await;
    let shop = process(&rig, &database).await;
    relay(&shop, &database).await;
    assert_eq!(values(&shop.1).await, ["1"]);
}

async fn is_there(orders: &Orders) -> bool {
    let (steps, partitions) = orders.steps();
    let entry = NewEntry { key: Bytes::new(), record: Bytes::new(), sequenced: None };
    let append = Append { entries: vec![entry], entries_max: None, producer_window_ms: 1_000 };
    steps.run(&partitions[0], &append).await.unwrap().is_some()
}

// shows: T7, stream::StreamBuilder::open
async fn stream_stays_lost_while_its_database_fails<DB: Tested>(rig: Rig, database: TestDatabase<DB>) {
    let (_keel, orders) = process(&rig, &database).await;
    database.run("DROP TABLE evenkeel_stream_log").await;
    flush(&rig).await;
    let refused = orders.append("a", &"1".to_owned()).await.unwrap_err();
    assert!(matches!(refused, StreamError::Database { .. }), "{refused}");
    assert!(!is_there(&orders).await, "an entry that is kept would come after a new one");
}

// shows: T7
async fn loss_is_detected_though_another_program_created_the_stream<DB: Tested>(rig: Rig, database: TestDatabase<DB>) {
    let shop = process(&rig, &database).await;
    place(&shop, &database, "a", &["1"]).await;
    relay(&shop, &database).await;
    flush(&rig).await;
    let other: Orders = rig.process().await.stream("orders").partitions(2).open().await.unwrap();
    open(consumer(&Desk::new(), &other, "billing")).close().await;
    let desk = Desk::new();
    let office = open(consumer(&desk, &shop.1, "billing"));
    until(&rig, || async { shop.1.admin().losses(1).await.unwrap().len() == 1 }).await;
    relay(&shop, &database).await;
    assert_eq!(rig.while_time_passes(desk.done()).await, "1");
    office.close().await;
}

// shows: stream::Stream::save_late
async fn late_checkpoint_of_a_lost_incarnation_is_rejected<DB: Tested>(rig: Rig, database: TestDatabase<DB>) {
    let shop = process(&rig, &database).await;
    place(&shop, &database, "a", &["1"]).await;
    relay(&shop, &database).await;
    handle_all(&rig, &shop.1).await;
    flush(&rig).await;
    let (_keel, orders) = process(&rig, &database).await;
    assert!(!orders.save_late("billing", 1).await.unwrap());
    assert!(orders.save_late("billing", 2).await.unwrap());
}

struct Recorder(mpsc::UnboundedSender<Envelope>);

impl Sink for Recorder {
    async fn publish(&self, message: &Envelope) -> Result<Confirmed, SinkError> {
        let _ = self.0.send(message.clone());
        Err(SinkError::Busy("it only looks".to_owned()))
    }
}

/// It would count as the last entry of its key, and those before it as duplicates.
// shows: T7
async fn late_entry_of_a_stopped_relay_hides_no_kept_entry<DB: Tested>(rig: Rig, database: TestDatabase<DB>) {
    let shop = process(&rig, &database).await;
    let (sender, mut seen) = mpsc::unbounded_channel();
    place(&shop, &database, "a", &["1"]).await;
    shop.0
        .relay(&database.pool)
        .sinks(Sinks::none().route("evenkeel.stream/", Recorder(sender)))
        .run_once()
        .await
        .unwrap();
    let mut late = seen.recv().await.unwrap();
    place(&shop, &database, "a", &["2"]).await;
    relay(&shop, &database).await;
    flush(&rig).await;
    let shop = process(&rig, &database).await;
    late.order = Some(Order { key: "a".to_owned(), sequence: 2 });
    assert_eq!(Sinks::none().streams(&shop.0).publish_all(&[late]).await, [Ok(Confirmed::Accepted)]);
    relay(&shop, &database).await;
    assert!(values(&shop.1).await.ends_with(&["1".to_owned(), "2".to_owned()]), "{:?}", values(&shop.1).await);
}

// shows: T7
async fn kept_entries_are_sent_before_new_ones<DB: Tested>(rig: Rig, database: TestDatabase<DB>) {
    let shop = process(&rig, &database).await;
    place(&shop, &database, "a", &["1", "2"]).await;
    relay(&shop, &database).await;
    place(&shop, &database, "a", &["3"]).await;
    flush(&rig).await;
    relay(&shop, &database).await;
    assert_eq!(values(&shop.1).await, ["1", "2", "3"]);
}

// shows: T7, stream::StreamBuilder::sql, stream::StreamAdmin::checkpoints, stream::StreamAdmin::kept_entries
// shows: stream::StreamAdmin::losses
async fn what_is_lost_is_counted<DB: Tested>(rig: Rig, database: TestDatabase<DB>) {
    let shop = process(&rig, &database).await;
    append(&shop.1, "b", &["1", "2", "3"]).await;
    place(&shop, &database, "a", &["4"]).await;
    relay(&shop, &database).await;
    let desk = Desk::new();
    let office = open(consumer(&desk, &shop.1, "billing"));
    let _running = desk.next().await;
    until(&rig, || async { unsettled(&shop.1, "billing").await == 4 }).await;
    office.kill().await;
    flush(&rig).await;
    let (_keel, orders) = process(&rig, &database).await;
    let losses = orders.admin().losses(10).await.unwrap();
    let loss = &losses[0];
    assert_eq!((loss.incarnation, loss.sent_again, loss.unsettled, loss.dead_letters), (2, 1, 4, 0));
    assert_eq!(kept(&orders).await, 0, "the outbox has it again");
}

async fn program_without_the_database_does_not_create_the_stream_again<DB: Tested>(
    rig: Rig,
    database: TestDatabase<DB>,
) {
    let _shop = process(&rig, &database).await;
    let other: Orders = rig.process().await.stream("orders").open().await.unwrap();
    flush(&rig).await;
    let refused = other.append("a", &"1".to_owned()).await.unwrap_err();
    assert!(refused.to_string().contains("a program that opens it with `sql`"), "{refused}");
    assert!(!is_there(&other).await);
    let (_keel, orders) = process(&rig, &database).await;
    append(&other, "a", &["1"]).await;
    assert_eq!(values(&orders).await, ["1"]);
}

// shows: stream::StreamBuilder::sql
async fn number_of_partitions_survives_a_flush<DB: Tested>(rig: Rig, database: TestDatabase<DB>) {
    let _shop = process(&rig, &database).await;
    flush(&rig).await;
    let keel = rig.process().await;
    let refused = keel.stream::<String>("orders").partitions(3).sql(&database.pool).open().await;
    assert!(matches!(refused, Err(StreamError::Settings { .. })));
    let orders: Orders = keel.stream("orders").sql(&database.pool).open().await.unwrap();
    assert_eq!(orders.admin().partitions(), 2);
}

// shows: stream::StreamBuilder::sql
async fn flushed_stream_is_recovered_when_it_is_opened<DB: Tested>(rig: Rig, database: TestDatabase<DB>) {
    let shop = process(&rig, &database).await;
    place(&shop, &database, "a", &["1", "2"]).await;
    relay(&shop, &database).await;
    assert_eq!(kept(&shop.1).await, 2);
    flush(&rig).await;
    let shop = process(&rig, &database).await;
    assert_eq!(values(&shop.1).await, [""; 0]);
    relay(&shop, &database).await;
    assert_eq!(values(&shop.1).await, ["1", "2"]);
}

/// Redis has lost the register, and another program has destroyed the group.
// shows: T6
async fn trim_keeps_entries_while_a_registered_group_is_missing<DB: Tested>(rig: Rig, database: TestDatabase<DB>) {
    let shop = process(&rig, &database).await;
    place(&shop, &database, "a", &["1"]).await;
    relay(&shop, &database).await;
    handle_all(&rig, &shop.1).await;
    for partition in shop.1.steps().1 {
        let log = format!("{}:log", partition.tag());
        rig.command(log.as_bytes(), redis::cmd("XGROUP").arg("DESTROY").arg(&log).arg("billing")).await;
    }
    let register = format!("{}:s:groups", rig.prefix());
    rig.command(register.as_bytes(), redis::cmd("DEL").arg(&register)).await;
    assert_eq!(shop.1.admin().trim(Duration::ZERO).await.unwrap(), 0);
    assert_eq!(values(&shop.1).await, ["1"]);
}

// shows: stream::StreamAdmin::checkpoints, stream::StreamAdmin::kept_entries, stream::StreamAdmin::losses
async fn extreme_limits_of_losses_are_accepted<DB: Tested>(rig: Rig, database: TestDatabase<DB>) {
    let _shop = process(&rig, &database).await;
    flush(&rig).await;
    let (_keel, orders) = process(&rig, &database).await;
    for (limit, count) in [(0, 0), (1, 1), (usize::MAX, 1)] {
        assert_eq!(orders.admin().losses(limit).await.unwrap().len(), count);
    }
}

async fn groups_from_before_the_registration_are_registered<DB: Tested>(rig: Rig, database: TestDatabase<DB>) {
    let before: Orders = rig.process().await.stream("orders").partitions(2).open().await.unwrap();
    open(consumer(&Desk::new(), &before, "billing")).close().await;
    let (_keel, orders) = process(&rig, &database).await;
    assert_eq!(checkpoints(&orders, "billing").await.len(), 2);
}

/// A group that only the register in Redis forgets comes back from the database.
// shows: stream::StreamAdmin::unregister
async fn group_is_unregistered_where_its_database_is_known<DB: Tested>(rig: Rig, database: TestDatabase<DB>) {
    let (_keel, orders) = process(&rig, &database).await;
    open(Desk::new().consumer(orders.group("billing"))).close().await;
    let other: Orders = rig.process().await.stream("orders").open().await.unwrap();
    let refused = other.admin().unregister("billing").await.unwrap_err();
    assert!(refused.to_string().contains("in a program that opens the stream with `sql`"), "{refused}");
    assert_eq!(other.admin().groups().await.unwrap().len(), 1);
    assert!(orders.admin().unregister("billing").await.unwrap());
    assert_eq!(orders.admin().groups().await.unwrap(), []);
}
