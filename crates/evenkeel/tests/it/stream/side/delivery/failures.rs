//! Handlers that fail, and what follows.

use crate::log::Log;
use crate::stream::side::rig::{Desk, Rig, all_settled, append, billing, letters, open, reason};
use evenkeel::codec::{MessagePack, Raw};
use evenkeel::stream::admin::{LetterFilter, LetterId, NoteKind, Replayed};
use evenkeel::stream::{Entry, Handled, OnFailure, Reaction, RetryDelay, Stream, StreamError};
use std::time::Duration;

on_both! {
    failed_entry_is_retried_after_its_delay_and_then_dead
    entry_is_retried_forever_if_configured
    snooze_uses_no_attempt
    on_error_chooses_the_reaction
    panicking_handler_is_a_failed_attempt
    handler_that_hangs_ends_in_a_dead_letter
    undecodable_entry_is_dead_and_others_go_on
    entry_is_decoded_by_its_own_codec
    handler_can_pause_the_group
    resumed_group_delivers_the_entry_that_paused_it
    later_entries_follow_a_dead_letter_of_their_sequence
    dead_letter_is_replayed_to_its_group_only
    dead_letters_of_all_partitions_are_paged_and_chosen_by_filter
    letter_of_an_unknown_partition_leaves_the_others
}

const DELAY: Duration = Duration::from_secs(10);

// shows: T4, hazard X6, hazard X15, stream::Stream
async fn failed_entry_is_retried_after_its_delay_and_then_dead(rig: Rig) {
    let orders = rig.orders(1).await;
    append(&orders, "a", &["x"]).await;
    let desk = Desk::new();
    let group = orders.group("billing").retries(1).retry_delay(RetryDelay::fixed(DELAY));
    let office = open(desk.consumer(group));
    let failed_at = rig.now_ms();
    desk.next().await.answer(Err("no route to host".to_owned()));
    let second = rig.while_time_passes(desk.next()).await;
    assert_eq!(second.entry.attempt, 2);
    assert!(rig.now_ms() >= failed_at + 10_000, "not before its delay is over");
    second.answer(Err("still none".to_owned()));
    all_settled(&orders).await;
    office.close().await;
    let letters = letters(&orders).await;
    let tries = letters[0].tries.as_ref().unwrap();
    let reported: Vec<_> =
        tries.notes.iter().map(|note| (note.kind, String::from_utf8_lossy(&note.text).into_owned())).collect();
    assert_eq!(letters.len(), 1);
    assert_eq!(
        reported,
        [(NoteKind::Failed, "no route to host".to_owned()), (NoteKind::Dead, "still none".to_owned())]
    );
}

async fn entry_is_retried_forever_if_configured(rig: Rig) {
    let orders = rig.orders(1).await;
    append(&orders, "a", &["x"]).await;
    let desk = Desk::new();
    let group = orders.group("billing").retry_forever().retry_delay(RetryDelay::fixed(Duration::from_millis(100)));
    let office = open(desk.consumer(group));
    for attempt in 1..10 {
        let case = rig.while_time_passes(desk.next()).await;
        assert_eq!(case.entry.attempt, attempt);
        case.fail();
    }
    rig.while_time_passes(desk.next()).await.done();
    office.close().await;
    assert_eq!(billing(&orders).await.dead(), 0);
}

async fn snooze_uses_no_attempt(rig: Rig) {
    let orders = rig.orders(1).await;
    append(&orders, "a", &["x", "y"]).await;
    let desk = Desk::new();
    let office = open(desk.consumer(orders.group("billing").per_key(OnFailure::BlockKey).retries(0)));
    for _ in 0..3 {
        let case = rig.while_time_passes(desk.next()).await;
        assert_eq!((case.entry.value.as_str(), case.entry.attempt), ("x", 1));
        case.answer(Ok(Handled::Snooze(DELAY)));
    }
    rig.while_time_passes(desk.next()).await.done();
    assert_eq!(desk.done().await, "y");
    office.close().await;
    assert_eq!(billing(&orders).await.dead(), 0);
}

async fn on_error_chooses_the_reaction(rig: Rig) {
    let orders = rig.orders(1).await;
    for value in ["retry", "later", "snooze", "dead"] {
        append(&orders, value, &[value]).await;
    }
    let desk = Desk::new();
    let group = orders.group("billing").retries(1).retry_delay(RetryDelay::fixed(Duration::from_secs(1)));
    let consumer = desk.consumer(group).on_error(|error| match error.as_str() {
        "dead" => Reaction::Dead,
        "later" => Reaction::RetryAfter(Duration::from_secs(60)),
        "snooze" => Reaction::Snooze(Duration::from_secs(90)),
        _ => Reaction::Retry,
    });
    let office = open(consumer);
    for _ in 0..4 {
        let case = desk.next().await;
        let error = case.entry.value.clone();
        case.answer(Err(error));
    }
    let mut order = Vec::new();
    for _ in 0..3 {
        let case = rig.while_time_passes(desk.next()).await;
        order.push((case.entry.value.clone(), case.entry.attempt));
        case.done();
    }
    assert_eq!(order, [("retry".to_owned(), 2), ("later".to_owned(), 2), ("snooze".to_owned(), 1)]);
    office.close().await;
    assert_eq!(letters(&orders).await.len(), 1);
}

async fn panicking_handler_is_a_failed_attempt(rig: Rig) {
    let orders = rig.orders(1).await;
    append(&orders, "a", &["boom", "fine"]).await;
    let (done, mut is_done) = tokio::sync::mpsc::unbounded_channel();
    let group = orders.group("billing").per_key(OnFailure::BlockKey).retries(0);
    let consumer = group.handle(move |entry: Entry<String>| {
        let done = done.clone();
        async move {
            assert_ne!(entry.value, "boom", "on purpose");
            done.send(entry.value).map_err(|_| "the receiver is closed".to_owned())
        }
    });
    let office = open(consumer.concurrency(1));
    assert_eq!(is_done.recv().await.unwrap(), "fine");
    office.close().await;
    let letters = letters(&orders).await;
    let reason = reason(&letters[0]);
    assert!(reason.contains("the handler panicked") && reason.contains("on purpose"), "{reason}");
}

/// In an ordered group it would hold back every later entry of its key.
// shows: T4, stream::Consumer::handler_timeout
async fn handler_that_hangs_ends_in_a_dead_letter(rig: Rig) {
    let orders = rig.orders(1).await;
    append(&orders, "a", &["hang", "fine"]).await;
    let (done, mut is_done) = tokio::sync::mpsc::unbounded_channel();
    let group = orders.group("billing").per_key(OnFailure::BlockKey).retries(1).retry_delay(RetryDelay::fixed(DELAY));
    let consumer = group.handle(move |entry: Entry<String>| {
        let done = done.clone();
        async move {
            if entry.value == "hang" {
                let (cancellation, done) = (entry.cancellation(), done.clone());
                tokio::spawn(async move {
                    cancellation.cancelled().await;
                    done.send("canceled".to_owned())
                });
                std::future::pending::<()>().await;
            }
            done.send(entry.value).map_err(|_| "the receiver is closed".to_owned())
        }
    });
    let office = open(consumer.concurrency(1).handler_timeout(Duration::from_secs(5)));
    for expected in ["canceled", "canceled", "fine"] {
        assert_eq!(rig.while_time_passes(is_done.recv()).await.unwrap(), expected);
    }
    all_settled(&orders).await;
    office.close().await;
    let letters = letters(&orders).await;
    let errors = letters[0].tries.as_ref().unwrap().errors;
    assert_eq!((letters.len(), errors, reason(&letters[0]).as_str()), (1, 2, "the handler did not end within 5s"));
}

/// (T5) An entry that cannot be decoded stopped the consumers of others forever.
// shows: T5, hazard X7
async fn undecodable_entry_is_dead_and_others_go_on(rig: Rig) {
    let keel = rig.process().await;
    let raw: Stream<Vec<u8>> = keel.stream("orders").codec(Raw).open().await.unwrap();
    let orders = rig.orders(1).await;
    let bad = raw.append("a", &b"\xff\xfe not JSON".to_vec()).await.unwrap();
    append(&orders, "a", &["fine"]).await;
    let desk = Desk::new();
    let office = open(desk.consumer(orders.group("billing").per_key(OnFailure::BlockKey)));
    assert_eq!(desk.done().await, "fine");
    all_settled(&orders).await;
    office.close().await;
    let letters = letters(&orders).await;
    assert_eq!((letters.len(), Some(letters[0].origin)), (1, bad.id));
    assert!(reason(&letters[0]).starts_with("undecodable: "), "{}", reason(&letters[0]));
}

/// The JSON text `5` is the number 53 in MessagePack.
// shows: hazard A3
async fn entry_is_decoded_by_its_own_codec(rig: Rig) {
    let json: Stream<u64> = rig.process().await.stream("orders").open().await.unwrap();
    let log = Log::begin();
    let packed: Stream<u64> = rig.process().await.stream("orders").codec(MessagePack).open().await.unwrap();
    log.each_says("opened with another codec", &["orders"]);
    json.append("a", &5).await.unwrap();
    packed.append("a", &7).await.unwrap();
    let (done, mut is_done) = tokio::sync::mpsc::unbounded_channel();
    let consumer = packed.group("billing").handle(move |entry: Entry<u64>| {
        let sent = done.send(entry.value).map_err(|_| "the receiver is closed".to_owned());
        async move { sent }
    });
    let office = open(consumer.concurrency(1));
    assert_eq!((is_done.recv().await, is_done.recv().await), (Some(5), Some(7)));
    office.close().await;
}

async fn handler_can_pause_the_group(rig: Rig) {
    let orders = rig.orders(1).await;
    append(&orders, "a", &["1"]).await;
    let desk = Desk::new();
    let consumer = desk.consumer(orders.group("billing").unordered().retries(0));
    let office = open(consumer.on_error(|_| Reaction::PauseGroup(Duration::from_secs(60))));
    let paused_at = rig.now_ms();
    desk.next().await.fail();
    while !billing(&orders).await.is_paused() {
        tokio::task::yield_now().await;
    }
    append(&orders, "b", &["2"]).await;
    assert!(desk.next_at_once().await.is_none());
    let case = rig.while_time_passes(desk.next()).await;
    assert!(rig.now_ms() >= paused_at + 60_000);
    assert_eq!(case.entry.attempt, 1);
    case.done();
    desk.done().await;
    office.close().await;
}

/// The entry that met the outage waited for the span of the pause, also after an operator had ended the pause.
// shows: hazard T16, stream::Reaction::PauseGroup
async fn resumed_group_delivers_the_entry_that_paused_it(rig: Rig) {
    let orders = rig.orders(1).await;
    append(&orders, "a", &["1"]).await;
    let desk = Desk::new();
    let consumer = desk.consumer(orders.group("billing").unordered().retries(0));
    let office = open(consumer.on_error(|_| Reaction::PauseGroup(Duration::from_secs(3_600))));
    let paused_at = rig.now_ms();
    desk.next().await.fail();
    while !billing(&orders).await.is_paused() {
        tokio::task::yield_now().await;
    }
    assert!(desk.next_at_once().await.is_none(), "the pause holds it back");
    orders.admin().resume("billing").await.unwrap();
    let again = rig.while_time_passes(desk.next()).await;
    assert_eq!((&*again.entry.value, again.entry.attempt), ("1", 1));
    assert!(rig.now_ms() < paused_at + 3_600_000);
    again.done();
    office.close().await;
}

/// What follows in the same key was made for a state that never came to be.
// shows: T4
async fn later_entries_follow_a_dead_letter_of_their_sequence(rig: Rig) {
    let orders = rig.orders(1).await;
    append(&orders, "a", &["a1", "a2"]).await;
    append(&orders, "b", &["b1"]).await;
    let desk = Desk::new();
    let group = orders.group("billing").per_key(OnFailure::DeadLetterSequence).retries(0);
    let office = open(desk.consumer(group).concurrency(1));
    let first = desk.next().await;
    assert_eq!(first.entry.value, "a1");
    first.fail();
    assert_eq!(desk.done().await, "b1");
    append(&orders, "a", &["a3"]).await;
    all_settled(&orders).await;
    let dead = letters(&orders).await;
    assert_eq!(dead.len(), 3);
    assert!(reason(&dead[2]).contains("an earlier entry of its key"), "{}", reason(&dead[2]));
    let admin = orders.admin().dead("billing").unwrap();
    assert_eq!(admin.replay(0, &[dead[0].id]).await.unwrap(), [Replayed::Parked]);
    let all: Vec<_> = dead.iter().map(|letter| letter.id).collect();
    assert_eq!(admin.remove(0, &all).await.unwrap(), [true; 3]);
    append(&orders, "a", &["a4"]).await;
    assert_eq!(desk.done().await, "a4", "the key is free again");
    office.close().await;
}

// shows: T4
async fn dead_letter_is_replayed_to_its_group_only(rig: Rig) {
    let orders = rig.orders(1).await;
    append(&orders, "a", &["x"]).await;
    let (billing_desk, shipping_desk) = (Desk::new(), Desk::new());
    let billing = open(billing_desk.consumer(orders.group("billing").retries(0)));
    let shipping = open(shipping_desk.consumer(orders.group("shipping")));
    assert_eq!(shipping_desk.done().await, "x");
    billing_desk.next().await.fail();
    all_settled(&orders).await;
    let letter = letters(&orders).await.remove(0);
    let admin = orders.admin().dead("billing").unwrap();
    let replayed = admin.replay(0, &[letter.id, letter.id]).await.unwrap();
    assert!(matches!(replayed[..], [Replayed::Appended(_), Replayed::Unknown]), "{replayed:?}");
    let again = billing_desk.next().await;
    assert_eq!((again.entry.value.as_str(), again.entry.attempt, again.entry.origin), ("x", 1, Some(letter.origin)));
    again.done();
    assert!(shipping_desk.next_at_once().await.is_none());
    billing.close().await;
    shipping.close().await;
}

// shows: stream::DeadLetters::replay, stream::DeadLetters::remove, stream::DeadLetters::replay_all
// shows: stream::DeadLetters::remove_all
async fn dead_letters_of_all_partitions_are_paged_and_chosen_by_filter(rig: Rig) {
    let orders = rig.orders(4).await;
    let desk = Desk::new();
    let office = open(desk.consumer(orders.group("billing").retries(0)));
    for number in 0..10 {
        orders.append(format!("order/{number}"), &format!("value {number}")).await.unwrap();
        let error = if number % 2 == 0 { "no route to host" } else { "bad address" };
        desk.next().await.answer(Err(error.to_owned()));
    }
    all_settled(&orders).await;
    let dead = orders.admin().dead("billing").unwrap();
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let page = dead.page(&LetterFilter::default(), after, 3).await.unwrap();
        assert!(page.letters.len() == 3 || page.next.is_none());
        all.extend(page.letters.into_iter().map(|(id, _)| id));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!((all.len(), all.is_sorted()), (10, true));
    let of = async |filter: LetterFilter| -> Vec<LetterId> {
        dead.page(&filter, None, 500).await.unwrap().letters.into_iter().map(|(id, _)| id).collect()
    };
    let routes = of(LetterFilter { error_contains: Some("no route".to_owned()), ..LetterFilter::default() }).await;
    assert_eq!(routes.len(), 5);
    let one = LetterFilter { value_contains: Some("value 3".to_owned()), ..LetterFilter::default() };
    assert_eq!(of(LetterFilter { key: Some("order/3".into()), ..LetterFilter::default() }).await, of(one).await);
    let now = rig.now_ms();
    assert_eq!(of(LetterFilter { died_until: Some(now - 1), ..LetterFilter::default() }).await, []);
    assert_eq!(of(LetterFilter { died_from: Some(now), ..LetterFilter::default() }).await.len(), 10);
    let text = routes[0].to_string();
    assert_eq!(text.parse::<LetterId>().unwrap(), routes[0]);
    assert!("0-1".parse::<LetterId>().is_err());

    let replayed = dead.replay_all(&routes).await.unwrap();
    assert!(replayed.iter().all(|replayed| matches!(replayed, Replayed::Appended(_))), "{replayed:?}");
    for _ in 0..5 {
        desk.done().await;
    }
    assert_eq!(dead.replay_all(&routes).await.unwrap(), [Replayed::Unknown; 5]);
    assert_eq!(dead.remove_all(&all).await.unwrap().iter().filter(|existed| **existed).count(), 5);
    office.close().await;
}

/// An operator's list has a letter with a wrong partition: the others were deleted, and the error did not say so.
// shows: stream::StreamAdmin::groups, stream::StreamAdmin::peek, stream::StreamAdmin::trim, stream::StreamAdmin::dead
// shows: stream::DeadLetters::list, stream::DeadLetters::page, stream::DeadLetters::replay, stream::DeadLetters::remove
// shows: stream::DeadLetters::replay_all, stream::DeadLetters::remove_all
async fn letter_of_an_unknown_partition_leaves_the_others(rig: Rig) {
    let orders = rig.orders(1).await;
    append(&orders, "a", &["x"]).await;
    let desk = Desk::new();
    let office = open(desk.consumer(orders.group("billing").retries(0)));
    desk.next().await.fail();
    all_settled(&orders).await;
    office.close().await;
    let (dead, id) = (orders.admin().dead("billing").unwrap(), letters(&orders).await.remove(0).id);
    let both = [LetterId { partition: 0, id }, LetterId { partition: 1, id }];
    for refused in [dead.replay_all(&both).await.err(), dead.remove_all(&both).await.err()] {
        assert!(matches!(refused, Some(StreamError::Invalid(_))), "{refused:?}");
    }
    assert_eq!(letters(&orders).await.len(), 1);
    assert_eq!(dead.remove_all(&both[..1]).await.unwrap(), [true]);
}
