//! Values of megabytes next to small ones, on one keel.

use super::rig::in_time;
use evenkeel::Keel;
use evenkeel::cache::{Cache, CacheBuilder, Freshness, Tier};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use testkit::memory::Growth;
use testkit::park::redis;

pub(super) const MIB: usize = 1 << 20;
const SIZES: [usize; 4] = [MIB, 2 * MIB, 8 * MIB, 20 * MIB];
/// The peak memory of the process, as a multiple of the size of all values.
const COPIES_MAX: u64 = 8;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn large_values_do_not_block_small_reads_in_memory() {
    in_time(large_and_small(Keel::memory_with(256 * MIB), SIZES.to_vec())).await;
}

/// With the real clock, so that a large reply can exceed a deadline.
// shows: hazard A29
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn large_values_do_not_block_small_reads_on_redis() {
    let server = redis().await.unwrap();
    let keel = Keel::connect(&format!("{}?prefix={}", server.url, server.prefix)).await.unwrap();
    in_time(large_and_small(keel.clone(), SIZES.to_vec())).await;
    let link = keel.link().unwrap();
    assert_eq!(link.epoch().unwrap().number(), 1, "the connections have lasted");
}

fn large(keel: &Keel) -> CacheBuilder<usize, String> {
    // Time for a load of 20 MiB on a machine that is busy with other tests.
    let builder = keel.cache("large").ttl(Duration::from_secs(600)).value_bytes_max(32 * MIB);
    builder
        .load_budget(Duration::from_secs(60))
        .load_timeout(Duration::from_secs(60))
        .store_timeout(Duration::from_secs(10))
}

/// Text that hardly compresses.
fn text(length: usize) -> String {
    let mut state = length as u64;
    let letters = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(b' ' + u8::try_from((state >> 33) % 64).unwrap_or(0)).to_ascii_lowercase()
    });
    letters.map(|letter| if letter == '"' || letter == '\\' { 'x' } else { letter }).take(length).collect()
}

async fn find(rows: &Cache<usize, String>, length: usize) -> Tier {
    let load = |length: &usize| {
        let length = *length;
        async move { Ok::<_, Infallible>(Some(text(length))) }
    };
    let found = rows.get_with(&length, Freshness::Eventual, load).await.unwrap();
    assert_eq!(found.value.unwrap().len(), length);
    found.tier
}

/// Loads, finds and invalidates values of these sizes, which differ, while small ones are read.
pub(super) async fn large_and_small(keel: Keel, sizes: Vec<usize>) {
    let growth = Growth::begin().unwrap();
    let (large, small) = (large(&keel).open().await.unwrap(), keel.cache("small").ttl(Duration::from_secs(600)));
    let small: Cache<usize, String> = small.store_timeout(Duration::from_secs(10)).open().await.unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let readers = (0..4).map(|reader| {
        let (small, is_over) = (small.clone(), Arc::clone(&is_over));
        tokio::spawn(async move {
            let mut reads = 0_u64;
            while !is_over.load(Ordering::Relaxed) {
                find(&small, reader + 1).await;
                if reads.is_multiple_of(64) {
                    small.invalidate(&(reader + 1)).await.unwrap();
                }
                reads += 1;
                tokio::task::yield_now().await;
            }
            reads
        })
    });
    let readers: Vec<_> = readers.collect();
    for length in sizes.iter().copied() {
        assert_eq!(find(&large, length).await, Tier::Loader, "{length}");
    }
    for _ in 0..2 {
        let reads: Vec<_> = sizes
            .iter()
            .map(|length| {
                let (large, length) = (large.clone(), *length);
                tokio::spawn(async move { find(&large, length).await })
            })
            .collect();
        for (read, length) in reads.into_iter().zip(&sizes) {
            assert_eq!(read.await.unwrap(), Tier::Store, "{length}");
        }
    }
    for length in &sizes {
        large.invalidate(length).await.unwrap();
    }
    is_over.store(true, Ordering::Relaxed);
    for reader in readers {
        assert!(reader.await.unwrap() > 0);
    }
    let (peak, all) = (growth.peak().unwrap(), sizes.iter().sum::<usize>() as u64);
    assert!(peak <= COPIES_MAX * all, "{} MiB for {} MiB of values", peak >> 20, all >> 20);
}
