//! Entries of the largest size next to small ones on one keel: no call of the small stream fails, the link lasts, and the memory is bounded.

use super::rig::{Desk, Orders, Rig, open};
use std::collections::BTreeSet;
use testkit::memory::Growth;

on_both! {
    large_entries_do_not_block_small_ones
}

/// With its quotation marks a little less than the largest value.
pub(super) const LARGE: usize = 1_000_000;
const SMALL: usize = 300;
/// The peak memory of the process, as a multiple of the size of all entries, which the embedded store keeps.
const COPIES_MAX: u64 = 4;

async fn large_entries_do_not_block_small_ones(rig: Rig) {
    all_arrive(&rig, vec![LARGE; 60], SMALL).await;
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
