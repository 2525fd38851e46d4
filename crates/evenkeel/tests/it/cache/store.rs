//! The embedded store stays within its bound, evicts unread entries first, and never an entry with an open update window.

use bytes::Bytes;
use evenkeel::Token;
use evenkeel::testing::TestClock;
use evenkeel_protocol::cache::header::Entry;
use evenkeel_protocol::cache::keys::CacheKeys;
use evenkeel_protocol::cache::memory::{EntryStore, MemoryCache};
use evenkeel_protocol::cache::steps::{
    BeginWrite, Begun, CacheSteps, Fill, Filled, Generation, Invalidation, Lease, Leased, Mode, Why,
};
use std::sync::Arc;
use std::time::Duration;

const HOUR_MS: u64 = 3_600_000;

fn cache(max_bytes: usize) -> (Arc<EntryStore>, MemoryCache, TestClock) {
    let store = Arc::new(EntryStore::new(max_bytes));
    let time = TestClock::default();
    let cache = MemoryCache::new(Arc::clone(&store), time.clock(), CacheKeys::new("test", "store"));
    (store, cache, time)
}

async fn load(cache: &MemoryCache, key: &[u8], bytes: usize) -> Filled {
    let ask = Lease {
        token: Token::random(),
        generation: Generation::random(),
        lease_ms: 1_000,
        life_ms: 2_000,
        why: Why::Miss,
        schema: 1,
        lag_ms_max: 0,
    };
    let Leased::Granted(grant) = cache.lease(key, &ask).await.unwrap() else { panic!("no grant for {key:?}") };
    let fill = Fill {
        grant,
        version: None,
        absent: false,
        codec: 0,
        compression: 0,
        payload: Bytes::from(vec![7; bytes]),
        soft_ms: HOUR_MS,
        hard_ms: HOUR_MS,
        spare_ms: 0,
        suspect_ms: 0,
        replica_lag_ms: 0,
    };
    cache.fill(key, &fill).await.unwrap()
}

#[tokio::test]
async fn store_stays_within_bound_and_keeps_recent_reads() {
    let (store, cache, _time) = cache(1 << 20);
    for number in 0..100 {
        load(&cache, format!("hot {number}").as_bytes(), 100).await;
    }
    let mut missed = 0;
    for number in 0..50_000 {
        load(&cache, format!("cold {number}").as_bytes(), 100).await;
        // Every hot entry is read between any two rounds of the clock hand, so each has a second chance.
        let hot = format!("hot {}", number % 100);
        if cache.read(hot.as_bytes()).await.unwrap().is_none() {
            missed += 1;
            load(&cache, hot.as_bytes(), 100).await;
        }
        assert!(store.used_bytes() <= 1 << 20, "{} bytes are used", store.used_bytes());
    }
    assert!(store.len() > 2_000, "only {} entries fit", store.len());
    assert_eq!(missed, 0, "hot entries were evicted");
}

#[tokio::test]
async fn entry_above_the_bound_is_not_kept_and_evicts_nothing() {
    let (store, cache, _time) = cache(100_000);
    load(&cache, b"small", 100).await;
    load(&cache, b"huge", 200_000).await;
    assert!(cache.read(b"small").await.unwrap().is_some());
    assert!(cache.read(b"huge").await.unwrap().is_none());
    assert_eq!(store.len(), 1);
}

#[tokio::test]
async fn open_window_is_never_evicted() {
    let (_store, cache, _time) = cache(64 * 1024);
    let begin = BeginWrite {
        token: Token::random(),
        invalidation: Invalidation { generation: Generation::random(), floor: None, mode: Mode::Purge, lag_ms_max: 0 },
        window_ms: 1_000,
        suspect_ms: 1_000,
        schema: 1,
    };
    assert_eq!(cache.begin_write(b"written", &begin).await.unwrap(), Begun::Open { remaining_ms: 1_000 });
    for number in 0..5_000 {
        load(&cache, format!("other {number}").as_bytes(), 200).await;
    }
    let entry = Entry::parse(cache.read(b"written").await.unwrap().unwrap()).unwrap();
    assert_eq!(entry.header.windows.len(), 1);
}

#[tokio::test]
async fn expired_entries_are_removed_before_the_store_is_full() {
    let (store, cache, time) = cache(1 << 30);
    for number in 0..2_000 {
        load(&cache, format!("first {number}").as_bytes(), 10).await;
    }
    time.advance(Duration::from_millis(HOUR_MS));
    for number in 0..4_000 {
        load(&cache, format!("second {number}").as_bytes(), 10).await;
    }
    // Each write checks one old entry; 8,000 writes have checked all 2,000 (and many new ones).
    assert!(store.len() < 4_500, "{} entries are kept", store.len());
}

#[tokio::test]
async fn byte_count_returns_to_zero() {
    let (store, cache, _time) = cache(1 << 20);
    for number in 0..500 {
        load(&cache, format!("{number}").as_bytes(), number).await;
    }
    store.remove(&CacheKeys::new("test", "store").key(b"7"));
    assert!(cache.read(b"7").await.unwrap().is_none());
    store.clear();
    assert!(store.is_empty());
    assert_eq!(store.used_bytes(), 0);
}
