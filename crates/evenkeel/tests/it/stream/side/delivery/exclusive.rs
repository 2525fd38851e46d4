//! Groups in which each entry is handled while a lock is held that is named by its key.

use crate::stream::side::rig::{Case, Desk, Office, Orders, Rig, all_settled, append, billing, letters, open, reason};
use evenkeel::Keel;
use evenkeel::lock::{Fence, LockTerms};
use evenkeel::stream::{Group, PerKeyExclusive};
use std::time::Duration;

on_both! {
    entry_whose_lock_is_taken_waits_without_using_an_attempt
    entries_of_a_key_run_one_at_a_time_in_all_processes
    handler_is_canceled_when_its_lock_is_lost
    suspect_whose_lock_is_taken_stays_a_suspect
    handler_that_hangs_with_a_lock_ends_in_a_dead_letter
    entry_whose_lock_has_an_invalid_name_is_dead
    extreme_delays_of_a_busy_lock_are_rejected
}

/// A process with the stream, and its group.
async fn process(rig: &Rig) -> (Keel, Orders) {
    let keel = rig.process().await;
    let orders = keel.stream("orders").open().await.unwrap();
    (keel, orders)
}

fn locks(keel: &Keel) -> PerKeyExclusive {
    PerKeyExclusive::new(keel.clone(), |key| format!("stock/{}", String::from_utf8_lossy(key)))
}

fn group(keel: &Keel, orders: &Orders) -> Group<String> {
    orders.group("billing").per_key_exclusive(locks(keel))
}

fn consume(keel: &Keel, orders: &Orders) -> (std::sync::Arc<Desk>, Office) {
    let desk = Desk::new();
    let office = open(desk.consumer(group(keel, orders)));
    (desk, office)
}

fn fence(case: &Case) -> Fence {
    case.entry.lock().and_then(|lock| lock.fence()).unwrap()
}

/// Another program works on the same product.
// shows: T9, stream::Group::per_key_exclusive
async fn entry_whose_lock_is_taken_waits_without_using_an_attempt(rig: Rig) {
    let (keel, orders) = process(&rig).await;
    let other = rig.process().await.lock("stock/a").max_hold(None).acquire().await.unwrap();
    append(&orders, "a", &["x"]).await;
    append(&orders, "b", &["y"]).await;
    let (desk, office) = consume(&keel, &orders);
    assert_eq!(desk.done().await, "y", "another key is not held back");
    for _ in 0..30 {
        rig.advance(Duration::from_millis(100)).await;
        assert!(desk.next_at_once().await.is_none(), "its lock is taken");
    }
    let former = other.fence();
    other.release().await.unwrap();
    let case = rig.while_time_passes(desk.next()).await;
    assert_eq!((case.entry.value.as_str(), case.entry.attempt), ("x", 1));
    assert!(fence(&case) > former, "the handler has the fence of its lock");
    assert!(rig.process().await.lock("stock/a").try_acquire().await.unwrap().is_none(), "the handler holds the lock");
    case.done();
    rig.while_time_passes(all_settled(&orders)).await;
    let after = rig.process().await.lock("stock/a").try_acquire().await.unwrap();
    assert!(after.is_some(), "the lock is free once the entry is settled");
    office.close().await;
}

// shows: T9, stream::Group::per_key_exclusive
async fn entries_of_a_key_run_one_at_a_time_in_all_processes(rig: Rig) {
    let (here, there) = (process(&rig).await, process(&rig).await);
    append(&here.1, "a", &["1", "2", "3", "4"]).await;
    let consumers = [consume(&here.0, &here.1), consume(&there.0, &there.1)];
    let mut fences = Vec::new();
    for _ in 0..4 {
        let next = async {
            tokio::select! {
                case = consumers[0].0.next() => case,
                case = consumers[1].0.next() => case,
            }
        };
        let case = rig.while_time_passes(next).await;
        rig.advance(Duration::from_secs(1)).await;
        for (desk, _) in &consumers {
            assert!(desk.next_at_once().await.is_none(), "one entry of the key runs");
        }
        fences.push(fence(&case));
        case.done();
    }
    assert!(fences.is_sorted_by(|one, next| one < next), "{fences:?}");
    rig.while_time_passes(all_settled(&here.1)).await;
    for (_, office) in consumers {
        office.close().await;
    }
}

// shows: T9, stream::Group::per_key_exclusive
async fn handler_is_canceled_when_its_lock_is_lost(rig: Rig) {
    let (keel, orders) = process(&rig).await;
    append(&orders, "a", &["x"]).await;
    let desk = Desk::new();
    let terms = LockTerms::default().ttl(Duration::from_secs(3)).max_hold(Duration::from_secs(5));
    let locks = locks(&keel).terms(terms);
    let office = open(desk.consumer(orders.group("billing").per_key_exclusive(locks)));
    let first = desk.next().await;
    let former = fence(&first);
    let cancellation = first.entry.cancellation();
    rig.while_time_passes(first.dropped()).await;
    assert!(cancellation.is_cancelled(), "threads of the handler are notified");
    let again = rig.while_time_passes(desk.next()).await;
    assert_eq!(again.entry.attempt, 1, "the loss is not an error of the entry");
    assert!(fence(&again) > former);
    again.done();
    rig.while_time_passes(all_settled(&orders)).await;
    office.close().await;
}

// shows: T9
async fn handler_that_hangs_with_a_lock_ends_in_a_dead_letter(rig: Rig) {
    let (keel, orders) = process(&rig).await;
    append(&orders, "a", &["x"]).await;
    let desk = Desk::new();
    let consumer = desk.consumer(group(&keel, &orders).retries(0)).handler_timeout(Duration::from_secs(5));
    let office = open(consumer);
    // The handler alone has the lock: with it the lock is released.
    let handler = desk.next().await.without_entry();
    rig.while_time_passes(handler.dropped()).await;
    rig.while_time_passes(all_settled(&orders)).await;
    let letters = letters(&orders).await;
    assert_eq!((letters.len(), reason(&letters[0]).as_str()), (1, "the handler did not end within 5s"));
    let lock = rig.process().await.lock("stock/a");
    drop(rig.while_time_passes(lock.acquire()).await.unwrap());
    office.close().await;
}

/// A snooze is an outcome, and an outcome clears the suspicion: an entry that kills its process would never run alone.
// shows: T9
async fn suspect_whose_lock_is_taken_stays_a_suspect(rig: Rig) {
    let (keel, orders) = process(&rig).await;
    append(&orders, "a", &["kills"]).await;
    for _ in 0..2 {
        let (desk, office) = consume(&keel, &orders);
        let _running = rig.while_time_passes(desk.next()).await;
        office.kill().await;
    }
    let other = rig.process().await.lock("stock/a").ttl(Duration::from_secs(600)).acquire().await.unwrap();
    let (desk, office) = consume(&keel, &orders);
    rig.advance(Duration::from_secs(31)).await;
    for _ in 0..30 {
        rig.advance(Duration::from_millis(100)).await;
        assert!(desk.next_at_once().await.is_none(), "its lock is taken");
    }
    other.release().await.unwrap();
    let _running = rig.while_time_passes(desk.next()).await;
    append(&orders, "b", &["waits"]).await;
    assert!(desk.next_at_once().await.is_none(), "the suspect runs alone");
    office.kill().await;
}

// shows: T9
async fn entry_whose_lock_has_an_invalid_name_is_dead(rig: Rig) {
    let (keel, orders) = process(&rig).await;
    append(&orders, "a", &["x"]).await;
    append(&orders, "b", &["y"]).await;
    let desk = Desk::new();
    let name = |key: &[u8]| if key == b"a" { String::new() } else { panic!("no name for this key") };
    let group = orders.group("billing").retries(0).per_key_exclusive(PerKeyExclusive::new(keel.clone(), name));
    let office = open(desk.consumer(group));
    rig.while_time_passes(all_settled_when_open(&orders)).await;
    let reasons: Vec<String> = letters(&orders).await.iter().map(reason).collect();
    assert_eq!(reasons.len(), 2);
    assert!(reasons.iter().all(|reason| reason.contains("the lock of the key could not be acquired")), "{reasons:?}");
    office.close().await;
}

async fn extreme_delays_of_a_busy_lock_are_rejected(rig: Rig) {
    let (keel, orders) = process(&rig).await;
    for delay in [Duration::ZERO, Duration::from_secs(3_601), Duration::MAX] {
        let desk = Desk::new();
        let group = orders.group("billing").per_key_exclusive(locks(&keel).busy_delay(delay));
        let refused = open(desk.consumer(group)).result().await.unwrap_err();
        assert!(refused.to_string().contains("`busy_delay`"), "{refused}");
    }
    assert!(orders.admin().groups().await.unwrap().is_empty());
    let (_, office) = consume(&keel, &orders);
    rig.while_time_passes(all_settled_when_open(&orders)).await;
    office.close().await;
    assert_eq!(billing(&orders).await.dead(), 0);
}

async fn all_settled_when_open(orders: &Orders) {
    while orders.admin().groups().await.unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    all_settled(orders).await;
}
