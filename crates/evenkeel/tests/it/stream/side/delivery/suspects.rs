//! Entries that may have killed their process: they run alone, and only then is a death theirs.

use crate::stream::side::rig::{Desk, Orders, Rig, all_settled, append, billing, in_time, letters, open, reason};
use evenkeel::stream::{Group, OnFailure};
use evenkeel_protocol::stream::name::GroupName;
use evenkeel_protocol::stream::steps::{Delivered, Join, Joined, Read, Reply};
use std::time::Duration;

on_both! {
    suspect_runs_alone
    entry_that_kills_its_process_alone_is_dead
    hanging_suspect_lets_others_run_after_a_lease
}

fn unordered(orders: &Orders) -> Group<String> {
    orders.group("billing").unordered().crashes_max(2)
}

/// A process takes all entries and dies, so many times.
async fn killed(rig: &Rig, orders: &Orders, entries: usize, times: usize) {
    for _ in 0..times {
        let desk = Desk::new();
        let office = open(desk.consumer(unordered(orders)));
        let mut running = Vec::new();
        for _ in 0..entries {
            running.push(rig.while_time_passes(desk.next()).await);
        }
        office.kill().await;
    }
    rig.advance(Duration::from_secs(31)).await;
}

// shows: T4
async fn suspect_runs_alone(rig: Rig) {
    let orders = rig.orders(1).await;
    append(&orders, "a", &["1", "2"]).await;
    killed(&rig, &orders, 2, 2).await;
    let desk = Desk::new();
    let office = open(desk.consumer(unordered(&orders)));
    let first = desk.next().await;
    append(&orders, "a", &["3"]).await;
    assert!(desk.next_at_once().await.is_none(), "the other suspect and the new entry wait");
    first.done();
    for _ in 0..2 {
        rig.while_time_passes(desk.next()).await.done();
    }
    rig.while_time_passes(all_settled(&orders)).await;
    office.close().await;
    assert_eq!(billing(&orders).await.dead(), 0);
}

/// (S7) Its neighbors, which died with it, are not blamed.
// shows: T4, hazard X7
async fn entry_that_kills_its_process_alone_is_dead(rig: Rig) {
    let orders = rig.orders(1).await;
    append(&orders, "a", &["kills", "fine"]).await;
    killed(&rig, &orders, 2, 2).await;
    let mut deaths = 0;
    let mut desk = Desk::new();
    let mut office = open(desk.consumer(unordered(&orders)));
    loop {
        let next = async {
            tokio::select! {
                case = desk.next() => Some(case),
                () = all_settled(&orders) => None,
            }
        };
        match rig.while_time_passes(next).await {
            None => break,
            Some(case) if case.entry.value == "fine" => case.done(),
            Some(_running) => {
                deaths += 1;
                office.kill().await;
                rig.advance(Duration::from_secs(31)).await;
                desk = Desk::new();
                office = open(desk.consumer(unordered(&orders)));
            }
        }
    }
    office.close().await;
    assert_eq!(deaths, 2);
    let letters = letters(&orders).await;
    assert_eq!(letters.len(), 1);
    assert_eq!(reason(&letters[0]), "its process died 2 times while it ran alone");
}

// shows: T4
async fn hanging_suspect_lets_others_run_after_a_lease(rig: Rig) {
    let orders = rig.orders(1).await;
    append(&orders, "a", &["hangs"]).await;
    killed(&rig, &orders, 1, 2).await;
    let desk = Desk::new();
    let office = open(desk.consumer(orders.group("billing").unordered().crashes_max(2)));
    let hangs = desk.next().await;
    append(&orders, "b", &["fine"]).await;
    assert!(desk.next_at_once().await.is_none());
    let fine = rig.while_time_passes(desk.next()).await;
    assert_eq!(fine.entry.value, "fine");
    // The process dies while both run: that death counts for neither entry.
    office.kill().await;
    drop((hangs, fine));
    rig.advance(Duration::from_secs(31)).await;
    let (steps, partitions) = orders.steps();
    let group = GroupName::new("billing").unwrap();
    let joined = steps
        .run(
            &partitions[0],
            &Join { group: group.clone(), consumer: evenkeel::Token::random(), lease_ms: 1_000, fence_floor: 0 },
        )
        .await
        .unwrap();
    let Reply::Done(Joined::Granted { reader, .. }) = joined else { panic!("{joined:?}") };
    let read =
        steps.run(&partitions[0], &Read { group: group.clone(), reader, limit: 10, lease_ms: 1_000 }).await.unwrap();
    let Reply::Done(read) = read else { panic!("{read:?}") };
    let crashes = |entry: &Delivered| entry.tries.as_ref().map_or(0, |tries| tries.crashes);
    let crashes: Vec<u8> = read.entries.iter().map(crashes).collect();
    assert_eq!(crashes, [0, 0]);
}

/// In an ordered group the suspects are those of the former owner's buffer.
#[tokio::test]
async fn suspects_of_an_ordered_group_run_alone() {
    in_time(async {
        let rig = Rig::memory();
        let orders = rig.orders(1).await;
        for key in ["a", "b", "c"] {
            append(&orders, key, &[key]).await;
        }
        let group = |orders: &Orders| orders.group("billing").per_key(OnFailure::BlockKey);
        for _ in 0..2 {
            let desk = Desk::new();
            let office = open(desk.consumer(group(&orders)));
            let _running = rig.while_time_passes(desk.next()).await;
            office.kill().await;
            rig.advance(Duration::from_secs(31)).await;
        }
        let desk = Desk::new();
        let office = open(desk.consumer(group(&orders)));
        for _ in 0..3 {
            let case = rig.while_time_passes(desk.next()).await;
            assert!(desk.next_at_once().await.is_none());
            case.done();
        }
        rig.while_time_passes(all_settled(&orders)).await;
        office.close().await;
    })
    .await;
}
