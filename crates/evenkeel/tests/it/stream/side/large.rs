//! Entries of the largest size next to small ones on one keel: no call of the small stream fails, the link lasts, and the memory is bounded.

use super::rig::{Desk, Orders, Rig, all_settled, in_time, letters, open};
use evenkeel::Keel;
use evenkeel::stream::EntryId;
use evenkeel::stream::admin::Replayed;
use std::collections::BTreeSet;
use testkit::memory::Growth;
use testkit::servers::{Redis, RedisOptions};

on_both! {
    large_entries_do_not_block_small_ones
}

/// With its quotation marks a little less than the largest value.
pub(super) const LARGE: usize = 1_000_000;
const SMALL: usize = 300;
/// The peak memory of the process, as a multiple of the size of all entries, which the embedded store keeps.
const COPIES_MAX: u64 = 4;

// shows: hazard A29, hazard SF2
async fn large_entries_do_not_block_small_ones(rig: Rig) {
    all_arrive(&rig, vec![LARGE; 60], SMALL).await;
}

/// One call read the values of all letters that it named: 500 of 1 MB, and all other calls of the server waited.
// shows: hazard SF2
#[tokio::test]
async fn large_letters_are_replayed_and_removed_in_several_calls() {
    in_time(async {
        let redis = Redis::start(RedisOptions::new()).await.unwrap();
        let keel = Keel::connect(&redis.url()).await.unwrap();
        let orders: Orders = keel.stream("orders").partitions(1).open().await.unwrap();
        let desk = Desk::new();
        let office = open(desk.consumer(orders.group("billing").unordered().retries(0)));
        for number in 0..22 {
            orders.append(number.to_string(), &"x".repeat(LARGE)).await.unwrap();
            desk.next().await.fail();
        }
        all_settled(&orders).await;
        office.close().await;
        let calls = async || {
            let stats: String = redis.command(&["INFO", "commandstats"]).await.unwrap();
            let prefix = format!("cmdstat_{}:calls=", testkit::step_command().to_lowercase());
            let calls = stats.lines().find_map(|line| line.strip_prefix(&prefix)).unwrap();
            calls.split(',').next().unwrap().parse::<u64>().unwrap()
        };
        let ids: Vec<EntryId> = letters(&orders).await.iter().map(|letter| letter.id).collect();
        let (replayed, removed) = ids.split_at(11);
        let dead = orders.admin().dead("billing").unwrap();
        let before = calls().await;
        let replayed = dead.replay(0, replayed).await.unwrap();
        assert!(replayed.len() == 11 && replayed.iter().all(|reply| matches!(reply, Replayed::Appended(_))));
        let between = calls().await;
        assert_eq!(dead.remove(0, removed).await.unwrap(), [true; 11]);
        // The process reports itself now and then, too.
        assert!(between - before > 2 && calls().await - between > 2);
        assert!(letters(&orders).await.is_empty());
    })
    .await;
}

/// Appends values of these sizes, each at least 100, and small ones to another stream of the keel; then all are handled.
pub(super) async fn all_arrive(rig: &Rig, sizes: Vec<usize>, smalls: usize) {
    let keel = rig.process().await;
    let epoch = || keel.link().map(|link| link.epoch().expect("the link is up").number());
    let began = epoch();
    let bulk: Orders = keel.stream("bulk").open().await.unwrap();
    let orders: Orders = keel.stream("orders").open().await.unwrap();
    let growth = Growth::begin().unwrap();
    let text = |number: usize| format!("{}{number:010}", "x".repeat(sizes[number] - 10));
    tokio::join!(
        async {
            for number in 0..sizes.len() {
                bulk.append(number.to_string(), &text(number)).await.unwrap();
            }
        },
        async {
            for number in 0..smalls {
                orders.append(number.to_string(), &"small".to_owned()).await.expect("a call of another stream fails");
            }
        }
    );
    let (large, small) = (Desk::new(), Desk::new());
    let offices = [
        open(large.consumer(bulk.group("billing").unordered())),
        open(small.consumer(orders.group("billing").unordered())),
    ];
    tokio::join!(
        async {
            let mut missing: BTreeSet<usize> = (0..sizes.len()).collect();
            while !missing.is_empty() {
                let arrived = large.done().await;
                let number = arrived[arrived.len() - 10..].parse().unwrap();
                assert!(arrived == text(number), "entry {number} has changed on its way");
                assert!(missing.remove(&number), "entry {number} has come twice");
            }
        },
        async {
            for _ in 0..smalls {
                assert_eq!(small.done().await, "small");
                orders.admin().groups().await.expect("a call of another stream fails");
            }
        }
    );
    for office in offices {
        office.close().await;
    }
    assert_eq!(epoch(), began, "the link broke");
    let (peak, all) = (growth.peak().unwrap(), sizes.iter().sum::<usize>() as u64);
    assert!(peak <= COPIES_MAX * all, "{} MiB for {} MiB of entries", peak >> 20, all >> 20);
}
