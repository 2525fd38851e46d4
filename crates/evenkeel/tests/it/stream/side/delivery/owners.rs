//! Which process handles a partition, and what happens when it dies, stops or shares.

use crate::stream::side::rig::{Case, Desk, Orders, Rig, all_settled, append, billing, open};
use evenkeel::stream::{Group, OnFailure};
use evenkeel_protocol::stream::name::{GroupName, partition_of};
use evenkeel_protocol::stream::steps::{Join, Joined, Leave, ReadStats, Reader, Reply};
use std::collections::BTreeSet;
use std::time::Duration;

on_both! {
    entries_of_a_dead_consumer_are_handled_by_another
    pending_entries_of_a_dead_owner_come_first
    new_consumer_gets_its_share_of_the_partitions
    partition_is_drained_before_it_is_handed_over
    partitions_of_a_consumer_that_ends_are_free_at_once
    consumer_extends_the_leases_of_its_entries
    owner_extends_the_lease_of_its_partition
    seek_cancels_handlers_and_delivers_again
    slow_owner_settles_nothing_of_the_next
    unordered_handlers_that_hang_are_released_at_the_shutdown
    ordered_handlers_that_hang_are_released_at_the_shutdown
    entry_in_the_buffer_at_the_shutdown_is_not_a_suspect
}

const LEASE: Duration = Duration::from_secs(30);

fn ordered(orders: &Orders) -> Group<String> {
    orders.group("billing").per_key(OnFailure::BlockKey)
}

/// One key for each partition.
async fn keys(orders: &Orders) -> Vec<String> {
    let mut keys = vec![None; usize::from(orders.admin().partitions())];
    for number in 0.. {
        let key = format!("key-{number}");
        let partition = partition_of(key.as_bytes(), orders.admin().partitions());
        keys[usize::from(partition)].get_or_insert(key);
        if keys.iter().all(Option::is_some) {
            break;
        }
    }
    keys.into_iter().flatten().collect()
}

/// (T8) Nothing is lost with a process.
// shows: T8, hazard X10, stream::Stream
async fn entries_of_a_dead_consumer_are_handled_by_another(rig: Rig) {
    let (here, there) = (rig.orders(2).await, rig.orders(2).await);
    append(&here, "a", &["1", "2", "3"]).await;
    let (dies, survives) = (Desk::new(), Desk::new());
    let office = open(dies.consumer(here.group("billing").unordered()));
    let _running = [dies.next().await, dies.next().await, dies.next().await];
    office.kill().await;
    let office = open(survives.consumer(there.group("billing").unordered()));
    assert!(survives.next_at_once().await.is_none(), "the leases have not passed");
    let mut again = BTreeSet::new();
    for _ in 0..3 {
        let case = rig.while_time_passes(survives.next()).await;
        assert_eq!(case.entry.attempt, 1, "a death is not an error");
        again.insert(case.entry.value.clone());
        case.done();
    }
    assert_eq!(again.into_iter().collect::<Vec<_>>(), ["1", "2", "3"]);
    all_settled(&there).await;
    office.close().await;
}

/// (T3) The next owner handles what the former one had before what it had not read.
// shows: T3, stream::Stream
async fn pending_entries_of_a_dead_owner_come_first(rig: Rig) {
    let (here, there) = (rig.orders(1).await, rig.orders(1).await);
    append(&here, "a", &["1", "2"]).await;
    let (dies, survives) = (Desk::new(), Desk::new());
    let office = open(dies.consumer(ordered(&here)));
    let former = dies.next().await;
    office.kill().await;
    append(&here, "a", &["3"]).await;
    let office = open(survives.consumer(ordered(&there)));
    let first = rig.while_time_passes(survives.next()).await;
    assert_eq!(first.entry.value, "1");
    assert!(first.entry.fence > former.entry.fence);
    first.done();
    assert_eq!(survives.done().await, "2");
    assert_eq!(survives.done().await, "3");
    office.close().await;
}

// shows: T8
async fn new_consumer_gets_its_share_of_the_partitions(rig: Rig) {
    let (here, there) = (rig.orders(4).await, rig.orders(4).await);
    let keys = keys(&here).await;
    let (first, second) = (Desk::new(), Desk::new());
    let offices = [open(first.consumer(ordered(&here))), open(second.consumer(ordered(&there)))];
    // Owners, by the tokens in the state of the group.
    let shares = async {
        loop {
            // Until a consumer has created the group there is none.
            let groups = here.admin().groups().await.unwrap();
            let owners: Vec<_> =
                groups.iter().flat_map(|group| &group.partitions).flatten().filter_map(|stats| stats.owner).collect();
            let tokens: BTreeSet<_> = owners.iter().map(|(token, _, _)| *token.as_bytes()).collect();
            let of_each =
                tokens.iter().map(|token| owners.iter().filter(|(owner, _, _)| owner.as_bytes() == token).count());
            if of_each.collect::<Vec<_>>() == [2, 2] {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    rig.while_time_passes(shares).await;
    for key in &keys {
        append(&here, key, &["x"]).await;
    }
    for desk in [&first, &second] {
        rig.while_time_passes(desk.next()).await.done();
        rig.while_time_passes(desk.next()).await.done();
    }
    all_settled(&here).await;
    for office in offices {
        office.close().await;
    }
}

/// A key must not run in two processes, so its partition changes hands only after what runs has ended and was settled.
// shows: T3, hazard X12
async fn partition_is_drained_before_it_is_handed_over(rig: Rig) {
    let (here, there) = (rig.orders(2).await, rig.orders(2).await);
    let keys = keys(&here).await;
    for key in &keys {
        append(&here, key, &["1", "2"]).await;
    }
    let (first, second) = (Desk::new(), Desk::new());
    let holder = open(first.consumer(ordered(&here)).drain(Duration::from_secs(3_600)));
    let running = [rig.while_time_passes(first.next()).await, rig.while_time_passes(first.next()).await];
    let joiner = open(second.consumer(ordered(&there)));
    for _ in 0..100 {
        rig.advance(Duration::from_millis(100)).await;
        assert!(second.next_at_once().await.is_none(), "both partitions have an entry that runs");
    }
    running.into_iter().for_each(Case::done);
    let handed_over = rig.while_time_passes(second.next()).await;
    assert_eq!((handed_over.entry.value.as_str(), handed_over.entry.attempt), ("2", 1));
    handed_over.done();
    assert_eq!(rig.while_time_passes(first.next()).await.entry.value, "2", "the other partition stays");
    joiner.close().await;
    holder.kill().await;
}

// shows: hazard X16
async fn partitions_of_a_consumer_that_ends_are_free_at_once(rig: Rig) {
    let (here, there) = (rig.orders(2).await, rig.orders(2).await);
    let (first, second) = (Desk::new(), Desk::new());
    append(&here, "a", &["1"]).await;
    let office = open(first.consumer(ordered(&here)));
    assert_eq!(first.done().await, "1");
    office.close().await;
    append(&here, "a", &["2"]).await;
    let office = open(second.consumer(ordered(&there)));
    // Without time: the lease was returned, not left to expire.
    assert_eq!(second.done().await, "2");
    office.close().await;
}

/// (S2) A handler that runs longer than the lease keeps its entry.
// shows: T2, hazard X2
async fn consumer_extends_the_leases_of_its_entries(rig: Rig) {
    keeps_its_entry(rig, |orders| orders.group("billing").unordered()).await;
}

async fn owner_extends_the_lease_of_its_partition(rig: Rig) {
    keeps_its_entry(rig, ordered).await;
}

/// The remaining lease of the only partition, if it is leased as a whole.
async fn lease_left_ms(orders: &Orders) -> Option<u64> {
    billing(orders).await.partitions.first()?.as_ref()?.owner.map(|(_, _, left_ms)| left_ms)
}

async fn keeps_its_entry(rig: Rig, group: fn(&Orders) -> Group<String>) {
    let (here, there) = (rig.orders(1).await, rig.orders(1).await);
    append(&here, "a", &["x"]).await;
    let (first, second) = (Desk::new(), Desk::new());
    let office = open(first.consumer(group(&here).lease(LEASE)));
    let case = first.next().await;
    let other = open(second.consumer(group(&there).lease(LEASE)));
    for _ in 0..100 {
        assert!(second.next_at_once().await.is_none());
        // A heartbeat is due after a third of the lease: one that was made is seen in the remaining lease of the partition. Entries have no
        // such figure; their heartbeat's thread needs time to call.
        while lease_left_ms(&here).await.is_some_and(|left| u128::from(left) < LEASE.as_millis() / 2) {
            tokio::task::yield_now().await;
        }
        for _ in 0..8 {
            billing(&here).await;
        }
        rig.advance(LEASE / 30).await;
    }
    case.done();
    rig.while_time_passes(all_settled(&here)).await;
    office.close().await;
    other.close().await;
}

/// Deliveries before the seek have no effect.
// shows: T2
async fn seek_cancels_handlers_and_delivers_again(rig: Rig) {
    let orders = rig.orders(1).await;
    append(&orders, "a", &["1", "2"]).await;
    let desk = Desk::new();
    let office = open(desk.consumer(ordered(&orders)));
    assert_eq!(desk.done().await, "1");
    let second = desk.next().await;
    orders.admin().seek("billing", evenkeel::stream::admin::SeekTo::Start).await.unwrap();
    rig.while_time_passes(second.dropped()).await;
    let first = rig.while_time_passes(desk.next()).await;
    assert_eq!(first.entry.value, "1");
    first.done();
    assert_eq!(desk.done().await, "2");
    all_settled(&orders).await;
    office.close().await;
}

/// (S1) A process that was stopped wakes up after another one has its partition.
// shows: T2, hazard X12
async fn slow_owner_settles_nothing_of_the_next(rig: Rig) {
    let orders = rig.orders(1).await;
    append(&orders, "a", &["1"]).await;
    let desk = Desk::new();
    let office = open(desk.consumer(ordered(&orders)));
    let slow = desk.next().await;
    // Its lease is over, and another program was faster to join.
    let (steps, partitions) = orders.steps();
    let group = GroupName::new("billing").unwrap();
    let Reply::Done(stats) = steps.run(&partitions[0], &ReadStats { group: group.clone() }).await.unwrap() else {
        panic!("the group is missing")
    };
    let (consumer, fence, _) = stats.owner.unwrap();
    let owner = Reader { consumer, fence, epoch: stats.epoch };
    steps.run(&partitions[0], &Leave { group: group.clone(), reader: owner }).await.unwrap();
    let joined = steps
        .run(
            &partitions[0],
            &Join { group: group.clone(), consumer: evenkeel::Token::random(), lease_ms: 3_600_000, fence_floor: 0 },
        )
        .await
        .unwrap();
    assert!(matches!(joined, Reply::Done(Joined::Granted { .. })), "{joined:?}");
    slow.done();
    rig.advance(Duration::from_secs(15)).await;
    assert!(desk.next_at_once().await.is_none());
    assert_eq!(billing(&orders).await.pending(), 1, "the entry is not settled");
    office.kill().await;
}

async fn unordered_handlers_that_hang_are_released_at_the_shutdown(rig: Rig) {
    releases_what_hangs(rig, |orders| orders.group("billing").unordered()).await;
}

// shows: hazard X16
async fn ordered_handlers_that_hang_are_released_at_the_shutdown(rig: Rig) {
    releases_what_hangs(rig, ordered).await;
}

async fn releases_what_hangs(rig: Rig, group: fn(&Orders) -> Group<String>) {
    let (here, there) = (rig.orders(1).await, rig.orders(1).await);
    append(&here, "a", &["x"]).await;
    let (hangs, next) = (Desk::new(), Desk::new());
    let office = open(hangs.consumer(group(&here)).drain(Duration::from_secs(1)));
    let case = hangs.next().await;
    rig.while_time_passes(office.close()).await;
    case.dropped().await;
    let office = open(next.consumer(group(&there)));
    // Without time: neither the entry nor the partition waits for the end of a lease.
    let case = next.next().await;
    assert_eq!((case.entry.value.as_str(), case.entry.attempt), ("x", 1));
    case.done();
    office.close().await;
}

/// A deployment must not make suspects of the entries that its processes had, nor of those that they had not begun.
async fn entry_in_the_buffer_at_the_shutdown_is_not_a_suspect(rig: Rig) {
    let orders = rig.orders(1).await;
    append(&orders, "a", &["1", "2"]).await;
    append(&orders, "b", &["3"]).await;
    for _ in 0..4 {
        let desk = Desk::new();
        let office = open(desk.consumer(ordered(&orders)).drain(Duration::from_secs(1)));
        let _running = [desk.next().await, desk.next().await];
        rig.while_time_passes(office.close()).await;
    }
    let desk = Desk::new();
    let office = open(desk.consumer(ordered(&orders)));
    let both = [desk.next().await, desk.next().await];
    assert_eq!(both.each_ref().map(|case| case.entry.value.as_str()), ["1", "3"], "neither runs alone");
    both.into_iter().for_each(Case::done);
    assert_eq!(desk.done().await, "2");
    all_settled(&orders).await;
    office.close().await;
}
