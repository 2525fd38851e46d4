//! The memory of a process with a near cache stays within the bytes that the cache counts, whatever the values are.

use evenkeel::Keel;
use std::convert::Infallible;
use std::time::Duration;
use testkit::memory::Growth;

/// What a process may take in addition to the bound: the allocator's remainders, a quarter of the bound; and the embedded store and the tasks.
const EXTRA: u64 = 12 << 20;

/// Whether the process grows by about `bound` while so many values of this length are read through a near cache of that size.
async fn grows_by(bound: usize, values: u64, length: usize) {
    // The store keeps little, so that what grows is the near cache.
    let keel = Keel::memory_with(1 << 20);
    let builder = keel.cache::<u64, String>("user").ttl(Duration::from_secs(600));
    let users = builder.near_bytes(bound).open().await.unwrap();
    let growth = Growth::begin().unwrap();
    for key in 0..values {
        // One character: a store that compresses keeps next to nothing.
        let found = users.get(&key, move |_| async move { Ok::<_, Infallible>(Some("x".repeat(length))) }).await;
        assert_eq!(found.unwrap().map(|value| value.len()), Some(length));
    }
    users.until_idle().await;
    let (grown, bound) = (growth.peak().unwrap(), bound as u64);
    assert!(grown < bound + bound / 4 + EXTRA, "{grown} bytes, the bound is {bound}");
    assert!(grown > bound / 3, "{grown} bytes: the bound of {bound} is used");
}

/// 32 MiB of compressed bytes were 309 MB of decoded values.
// shows: hazard A33
#[tokio::test]
async fn large_near_values_take_as_much_memory_as_they_count() {
    grows_by(32 << 20, 2_000, 64 << 10).await;
}

/// An entry counts more than its value: what surrounds it takes most of the memory.
// shows: hazard A33
#[tokio::test]
async fn small_near_values_take_as_much_memory_as_they_count() {
    grows_by(8 << 20, 80_000, 20).await;
}
