//! What operators see and change.

use super::rig::{Desk, Rig, all_settled, append, billing, open};
use evenkeel::clock::UnixMs;
use evenkeel::stream::admin::{SeekPreview, SeekTo};
use evenkeel::stream::{Appended, EntryId, StreamError};
use std::time::Duration;

on_both! {
    streams_and_groups_are_listed
    group_state_shows_lag_and_pending
    paused_group_delivers_nothing_until_resumed
    seek_to_a_time_delivers_from_there
    seek_into_the_future_is_refused
    seek_to_entries_ahead_of_the_clock_is_accepted
    seek_to_an_entry_moves_its_partition_only
    preview_of_a_seek_counts_and_changes_nothing
    encoded_value_is_appended_once_by_name
    trim_keeps_what_a_group_has_not_settled
    consumers_trim_what_all_groups_have_settled
    unknown_names_are_errors
}

// shows: stream::Keel::stream_admin, stream::Keel::streams
async fn streams_and_groups_are_listed(rig: Rig) {
    let orders = rig.orders(2).await;
    let keel = rig.process().await;
    keel.stream::<u64>("clicks").open().await.unwrap();
    let names: Vec<String> =
        keel.streams().await.unwrap().found.iter().map(|stream| stream.name().to_owned()).collect();
    assert_eq!(names, ["clicks", "orders"]);
    for group in ["shipping", "billing"] {
        open(Desk::new().consumer(orders.group(group))).close().await;
    }
    let groups = keel.stream_admin("orders").await.unwrap().groups().await.unwrap();
    assert_eq!(groups.iter().map(|group| group.name.as_str()).collect::<Vec<_>>(), ["billing", "shipping"]);
    assert!(groups.iter().all(|group| group.partitions.len() == 2 && group.partitions.iter().all(Option::is_some)));
}

async fn group_state_shows_lag_and_pending(rig: Rig) {
    let orders = rig.orders(1).await;
    let desk = Desk::new();
    append(&orders, "a", &["1", "2"]).await;
    let office = open(desk.consumer(orders.group("billing")).concurrency(1));
    let case = desk.next().await;
    rig.advance(Duration::from_secs(5)).await;
    let state = billing(&orders).await;
    assert_eq!((state.pending(), state.dead(), state.is_paused()), (1, 0, false));
    assert_eq!((state.lag_entries(), state.is_missing()), (Some(1), false));
    assert_eq!((state.lag(), state.oldest_pending()), (Some(Duration::from_secs(5)), Some(Duration::from_secs(5))));
    let page = orders.admin().peek(0, EntryId::MIN, 10).await.unwrap();
    assert_eq!(
        page.iter().map(|entry| entry.value.as_deref()).collect::<Vec<_>>(),
        [Some(&b"\"1\""[..]), Some(b"\"2\"")]
    );
    case.done();
    desk.done().await;
    office.close().await;
}

async fn paused_group_delivers_nothing_until_resumed(rig: Rig) {
    let orders = rig.orders(2).await;
    let desk = Desk::new();
    let office = open(desk.consumer(orders.group("billing")));
    append(&orders, "a", &["1"]).await;
    assert_eq!(desk.done().await, "1");
    orders.admin().pause("billing", None).await.unwrap();
    append(&orders, "a", &["2"]).await;
    assert!(desk.next_at_once().await.is_none());
    orders.admin().resume("billing").await.unwrap();
    let case = rig.while_time_passes(desk.next()).await;
    assert_eq!(case.entry.value, "2");
    case.done();
    office.close().await;
}

async fn seek_to_a_time_delivers_from_there(rig: Rig) {
    let orders = rig.orders(1).await;
    let desk = Desk::new();
    let office = open(desk.consumer(orders.group("billing")));
    append(&orders, "a", &["old"]).await;
    assert_eq!(desk.done().await, "old");
    rig.advance(Duration::from_millis(10)).await;
    let from = rig.now_ms();
    append(&orders, "a", &["new"]).await;
    assert_eq!(desk.done().await, "new");
    all_settled(&orders).await;
    orders.admin().seek("billing", SeekTo::Time(UnixMs(from))).await.unwrap();
    let case = rig.while_time_passes(desk.next()).await;
    assert_eq!(case.entry.value, "new");
    case.done();
    orders.admin().seek("billing", SeekTo::End).await.unwrap();
    append(&orders, "a", &["newest"]).await;
    let case = rig.while_time_passes(desk.next()).await;
    assert_eq!(case.entry.value, "newest");
    case.done();
    office.close().await;
}

// shows: stream::StreamAdmin::seek
async fn seek_into_the_future_is_refused(rig: Rig) {
    let orders = rig.orders(2).await;
    open(Desk::new().consumer(orders.group("billing"))).close().await;
    append(&orders, "a", &["x"]).await;
    let id = EntryId::at(rig.now_ms() + 1);
    for to in [SeekTo::Time(UnixMs(id.ms)), SeekTo::Entry { partition: 0, id }] {
        let answers =
            [orders.admin().preview_seek("billing", to).await.err(), orders.admin().seek("billing", to).await.err()];
        assert!(answers.iter().all(|answer| matches!(answer, Some(StreamError::Invalid(_)))), "{to:?}: {answers:?}");
    }
    orders.admin().seek("billing", SeekTo::Time(UnixMs(rig.now_ms()))).await.unwrap();
}

/// An operator has set the clock back: the entries that there are can be handled again.
// shows: stream::StreamAdmin::seek
async fn seek_to_entries_ahead_of_the_clock_is_accepted(rig: Rig) {
    let orders = rig.orders(1).await;
    let desk = Desk::new();
    let office = open(desk.consumer(orders.group("billing")));
    append(&orders, "a", &["x"]).await;
    assert_eq!(desk.done().await, "x");
    all_settled(&orders).await;
    let id = orders.admin().peek(0, EntryId::MIN, 1).await.unwrap()[0].id;
    rig.set_back(Duration::from_secs(3_600)).await;
    for to in [SeekTo::Time(UnixMs(id.ms)), SeekTo::Entry { partition: 0, id }] {
        orders.admin().seek("billing", to).await.unwrap();
        assert_eq!(rig.while_time_passes(desk.done()).await, "x");
        rig.while_time_passes(all_settled(&orders)).await;
    }
    assert!(orders.admin().seek("billing", SeekTo::Time(UnixMs(id.ms + 1))).await.is_err());
    office.close().await;
}

async fn seek_to_an_entry_moves_its_partition_only(rig: Rig) {
    let orders = rig.orders(2).await;
    let desk = Desk::new();
    let office = open(desk.consumer(orders.group("billing")));
    let mut first = None;
    for number in 0..8 {
        let appended = orders.append(format!("key {number}"), &number.to_string()).await.unwrap();
        first.get_or_insert((appended.partition, appended.id.unwrap()));
        desk.done().await;
    }
    all_settled(&orders).await;
    let (partition, id) = first.unwrap();
    let of_partition = orders.admin().peek(partition, EntryId::MIN, 100).await.unwrap();
    assert!(of_partition.len() < 8, "the keys are in both partitions");
    orders.admin().seek("billing", SeekTo::Entry { partition, id }).await.unwrap();
    let mut again = Vec::new();
    for _ in &of_partition {
        let case = rig.while_time_passes(desk.next()).await;
        again.push(case.entry.id);
        case.done();
    }
    again.sort();
    assert_eq!(again, of_partition.iter().map(|entry| entry.id).collect::<Vec<_>>());
    all_settled(&orders).await;
    assert!(desk.next_at_once().await.is_none());
    office.close().await;
}

// shows: stream::StreamAdmin::pause, stream::StreamAdmin::resume, stream::StreamAdmin::seek
// shows: stream::StreamAdmin::preview_seek
async fn preview_of_a_seek_counts_and_changes_nothing(rig: Rig) {
    let orders = rig.orders(1).await;
    let (desk, admin) = (Desk::new(), orders.admin());
    let office = open(desk.consumer(orders.group("billing")).concurrency(1));
    append(&orders, "a", &["1", "2", "3"]).await;
    desk.done().await;
    let case = desk.next().await;
    // The first is settled with the call that reads the second, or before.
    while billing(&orders).await.pending() != 1 {
        tokio::task::yield_now().await;
    }
    let preview = async |to| admin.preview_seek("billing", to).await.unwrap().all().unwrap();
    let expected = SeekPreview { partition: 0, again: 0, skipped: 1, pending: 1, is_cut: false };
    assert_eq!(preview(SeekTo::End).await, [expected]);
    let back = SeekPreview { again: 2, skipped: 0, ..expected };
    assert_eq!(preview(SeekTo::Start).await, [back]);
    let entries = admin.peek(0, EntryId::MIN, 10).await.unwrap();
    let to = SeekTo::Entry { partition: 0, id: entries[1].id };
    assert_eq!(preview(to).await, [SeekPreview { again: 1, ..back }]);
    let none = admin.preview_seek("billing", SeekTo::Entry { partition: 1, id: entries[1].id }).await;
    assert!(matches!(none, Err(StreamError::Invalid(_))), "{none:?}");
    case.done();
    desk.done().await;
    office.close().await;
}

// shows: hazard SF4, stream::StreamAdmin::append
async fn encoded_value_is_appended_once_by_name(rig: Rig) {
    let orders = rig.orders(4).await;
    let admin = orders.admin();
    let append = async |name| admin.append(b"order/7", "\"paid\"".into(), name).await.unwrap();
    let first = append(Some("payment 1")).await;
    assert!(first.is_new);
    assert_eq!(append(Some("payment 1")).await, Appended { is_new: false, ..first });
    assert!(append(None).await.is_new && append(None).await.is_new);
    let page = admin.peek(first.partition, EntryId::MIN, 10).await.unwrap();
    assert_eq!(page.len(), 3);
    let desk = Desk::new();
    let office = open(desk.consumer(orders.group("billing")));
    assert_eq!(desk.done().await, "paid");
    let empty = admin.append(b"order/7", "\"paid\"".into(), Some("")).await;
    assert!(matches!(empty, Err(StreamError::Invalid(_))), "{empty:?}");
    for never_decoded in ["paid", "\"\\ud800\"", "1e999"] {
        let refused = admin.append(b"order/7", never_decoded.into(), None).await;
        assert!(matches!(refused, Err(StreamError::Codec(_))), "{never_decoded}: {refused:?}");
    }
    let too_large = admin.append(b"order/7", format!("\"{}\"", "x".repeat(2 << 20)).into(), None).await;
    assert!(matches!(too_large, Err(StreamError::TooLarge { .. })), "{too_large:?}");
    desk.done().await;
    desk.done().await;
    office.close().await;
}

/// (T6) A group that is behind, or whose handler runs, holds the log back.
// shows: T6
async fn trim_keeps_what_a_group_has_not_settled(rig: Rig) {
    let orders = rig.orders(1).await;
    let (billing, shipping) = (Desk::new(), Desk::new());
    let office = open(billing.consumer(orders.group("billing")));
    let slow = open(shipping.consumer(orders.group("shipping")).concurrency(1));
    append(&orders, "a", &["1", "2"]).await;
    billing.done().await;
    billing.done().await;
    let case = shipping.next().await;
    all_settled(&orders).await;
    rig.advance(Duration::from_millis(1)).await;
    assert_eq!(orders.admin().trim(Duration::ZERO).await.unwrap(), 0);
    case.done();
    let second = shipping.next().await;
    // The first is settled with the call that reads the second, or before.
    while orders.admin().trim(Duration::ZERO).await.unwrap() == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(orders.admin().peek(0, EntryId::MIN, 10).await.unwrap().len(), 1);
    second.done();
    office.close().await;
    slow.close().await;
    assert_eq!(orders.admin().trim(Duration::from_secs(60)).await.unwrap(), 0, "it is young");
    assert_eq!(orders.admin().trim(Duration::ZERO).await.unwrap(), 1);
}

// shows: T6
async fn consumers_trim_what_all_groups_have_settled(rig: Rig) {
    let orders = rig.orders_with(|builder| builder.retention(Duration::from_secs(60))).await;
    let desk = Desk::new();
    let office = open(desk.consumer(orders.group("billing")));
    append(&orders, "a", &["1", "2"]).await;
    desk.done().await;
    desk.done().await;
    let trimmed = async {
        while !orders.admin().peek(0, EntryId::MIN, 10).await.unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    let began = rig.now_ms();
    rig.while_time_passes(trimmed).await;
    assert!(rig.now_ms() >= began + 60_000);
    office.close().await;
}

// shows: stream::Keel::stream_admin, stream::Keel::streams, stream::StreamAdmin::groups, stream::StreamAdmin::peek
// shows: stream::StreamAdmin::trim, stream::StreamAdmin::dead, stream::DeadLetters::list, stream::DeadLetters::page
// shows: stream::DeadLetters::replay, stream::DeadLetters::remove, stream::StreamAdmin::pause
// shows: stream::StreamAdmin::resume, stream::StreamAdmin::seek, stream::StreamAdmin::preview_seek
async fn unknown_names_are_errors(rig: Rig) {
    let orders = rig.orders(1).await;
    let keel = rig.process().await;
    let unknown = keel.stream_admin("nothing").await.err().unwrap();
    assert!(matches!(&unknown, StreamError::Unknown { stream } if stream == "nothing"), "{unknown}");
    let admin = orders.admin();
    for refused in [admin.pause("nobody", None).await, admin.seek("nobody", SeekTo::End).await] {
        assert!(matches!(&refused, Err(StreamError::UnknownGroup { group, .. }) if group == "nobody"), "{refused:?}");
    }
    assert!(!admin.unregister("nobody").await.unwrap());
    let page = admin.peek(1, EntryId::MIN, 10).await;
    assert!(matches!(page, Err(StreamError::Invalid(_))), "{page:?}");
}
