//! Large values and small calls on one keel: no other call fails.

use super::rig::{Rig, in_time};
use bytes::Bytes;
use std::time::Duration;
use testkit::memory::Growth;

/// As large as a body that an application keeps in Redis itself.
const BIG: usize = 20 << 20;
/// The memory limit for a full pool with the longest metadata in this process, its guards and twenty inspections included.
const PEAK_MAX: u64 = 16 << 20;

/// Twenty mebibytes go both ways on the connection over which locks are acquired, renewed and released.
// shows: hazard AL13
#[tokio::test]
async fn values_of_twenty_mebibytes_do_not_block_locks() {
    in_time(Box::pin(async {
        let rig = Rig::redis().await;
        // A busy machine may take its time to copy them.
        let slow = |url: &str| format!("{url}{}response_timeout_ms=15000", if url.contains('?') { '&' } else { '?' });
        let keel = rig.process_through(slow).await;
        let (link, key) = (keel.link().unwrap().clone(), rig.key_of("big"));
        let big = async {
            for _ in 0..3 {
                let value = vec![b'x'; BIG];
                link.command(key.as_bytes(), redis::cmd("SET").arg(&key).arg(value)).await.unwrap();
                let found: Option<Bytes> = link.get(key.as_bytes()).await.unwrap();
                assert_eq!(found.map(|found| found.len()), Some(BIG));
            }
        };
        let small = async {
            for round in 0..300 {
                let guard =
                    keel.lock(&format!("small/{}", round % 7)).metadata("x".repeat(1024)).acquire().await.unwrap();
                guard.release().await.unwrap();
                keel.semaphore("small", 3).acquire().await.unwrap().release().await.unwrap();
            }
        };
        tokio::join!(big, small);
    }))
    .await;
}

/// As many holders as a pool admits, each with the longest metadata: half a megabyte to inspect.
// shows: hazard AL13
#[tokio::test]
async fn inspect_of_a_full_pool_does_not_block_locks() {
    in_time(Box::pin(async {
        for rig in [Rig::memory(), Rig::redis().await] {
            let keel = rig.process().await;
            let growth = Growth::begin().unwrap();
            let mut held = Vec::new();
            for _ in 0..500 {
                let permit = keel.semaphore("full", 500).take(1).metadata("x".repeat(1024)).acquire();
                held.push(permit.await.unwrap());
            }
            let full = keel.semaphore("full", 500);
            let looks = async {
                for _ in 0..20 {
                    assert_eq!(full.inspect().await.unwrap().unwrap().holders.len(), 500);
                    assert!(full.take(1).try_acquire().await.unwrap().is_none());
                }
            };
            let small = async {
                for _ in 0..100 {
                    keel.lock("small").wait(Duration::from_secs(5)).acquire().await.unwrap().release().await.unwrap();
                }
            };
            tokio::join!(looks, small);
            assert_eq!(full.break_holds(None).await.unwrap().len(), 500);
            let peak = growth.peak().unwrap();
            assert!(peak <= PEAK_MAX, "{} KiB for a pool with half a megabyte of metadata", peak >> 10);
        }
    }))
    .await;
}
