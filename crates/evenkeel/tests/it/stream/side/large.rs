//! Entries of the largest size next to small ones on one keel: no call of the small stream fails, the link lasts, and the memory is bounded.

use super::rig::{Desk, Orders, Rig, open};
use testkit::memory::Growth;

on_both! {
    large_entries_do_not_block_small_ones
}

/// With its quotation marks a little less than the largest value.
const LARGE: usize = 1_000_000;
const ENTRIES: usize = 60;
const SMALL: usize = 300;
/// The peak memory of the process, as a multiple of the size of all entries, which the embedded store keeps.
const COPIES_MAX: u64 = 4;

async fn large_entries_do_not_block_small_ones(rig: Rig) {
    let keel = rig.process().await;
    let epoch = || keel.link().map(|link| link.epoch().expect("the link is up").number());
    let began = epoch();
    let bulk: Orders = keel.stream("bulk").open().await.unwrap();
    let orders: Orders = keel.stream("orders").open().await.unwrap();
    let growth = Growth::begin().unwrap();
    let text = "x".repeat(LARGE);
    tokio::join!(
        async {
            for number in 0..ENTRIES {
                bulk.append(number.to_string(), &text).await.unwrap();
            }
        },
        async {
            for number in 0..SMALL {
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
            for _ in 0..ENTRIES {
                assert!(large.done().await == text, "an entry has changed on its way");
            }
        },
        async {
            for _ in 0..SMALL {
                assert_eq!(small.done().await, "small");
                orders.admin().groups().await.expect("a call of another stream fails");
            }
        }
    );
    for office in offices {
        office.close().await;
    }
    assert_eq!(epoch(), began, "the link broke");
    let (peak, all) = (growth.peak().unwrap(), (LARGE * ENTRIES) as u64);
    assert!(peak <= COPIES_MAX * all, "{} MiB for {} MiB of entries", peak >> 20, all >> 20);
}
