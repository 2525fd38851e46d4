//! The embedded store stays within its bound, evicts unread entries first, and never an entry with an open update window.

use bytes::Bytes;
use evenkeel::Token;
use evenkeel::testing::TestClock;
use evenkeel_protocol::cache::header::Entry;
use evenkeel_protocol::cache::keys::CacheKeys;
use evenkeel_protocol::cache::memory::{EntryStore, MemoryCache};
use evenkeel_protocol::cache::steps::{
    BeginWrite, Begun, CacheSteps, Ended, Fill, Filled, Generation, Invalidation, Lease, Leased, Mode, Renewed, Why,
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

fn ask() -> Lease {
    Lease {
        token: Token::random(),
        generation: Generation::random(),
        lease_ms: 1_000,
        life_ms: 2_000,
        why: Why::Miss,
        schema: 1,
        lag_ms_max: 0,
    }
}

fn invalidation() -> Invalidation {
    Invalidation { generation: Generation::random(), floor: None, mode: Mode::Purge, lag_ms_max: 0 }
}

async fn load(cache: &MemoryCache, key: &[u8], bytes: usize) -> Filled {
    let Leased::Granted(grant) = cache.lease(key, &ask()).await.unwrap() else { panic!("no grant for {key:?}") };
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

// shows: spec/cache.md
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

// shows: spec/cache.md
#[tokio::test]
async fn entry_above_the_bound_is_not_kept_and_evicts_nothing() {
    let (store, cache, _time) = cache(100_000);
    load(&cache, b"small", 100).await;
    load(&cache, b"huge", 200_000).await;
    assert!(cache.read(b"small").await.unwrap().is_some());
    assert!(cache.read(b"huge").await.unwrap().is_none());
    assert_eq!(store.len(), 1);
}

async fn open_window(cache: &MemoryCache, token: Token) {
    let begin = BeginWrite { token, invalidation: invalidation(), window_ms: 1_000, suspect_ms: 1_000, schema: 1 };
    assert_eq!(cache.begin_write(b"written", &begin).await.unwrap(), Begun::Open { remaining_ms: 1_000 });
}

// shows: hazard D24, spec/cache.md
#[tokio::test]
async fn open_window_is_never_evicted() {
    let (_store, cache, _time) = cache(64 * 1024);
    open_window(&cache, Token::random()).await;
    for number in 0..5_000 {
        load(&cache, format!("other {number}").as_bytes(), 200).await;
    }
    let entry = Entry::parse(cache.read(b"written").await.unwrap().unwrap()).unwrap();
    assert_eq!(entry.header.windows.len(), 1);
}

/// A program may give the store no room at all, so that nothing is cached. Windows were then lost where they began: readers loaded, as the
/// newest, a row that was being written.
// shows: C2, hazard T34
#[tokio::test]
async fn open_window_is_kept_where_no_entry_fits() {
    for bound in [0, 150] {
        let (store, cache, time) = cache(bound);
        let token = Token::random();
        open_window(&cache, token).await;
        let asked = ask();
        assert!(matches!(cache.lease(b"written", &asked).await.unwrap(), Leased::Writing { .. }), "{bound}");
        let confirmed = cache.renew_write(b"written", token, 1_000).await.unwrap();
        assert_eq!(confirmed, Renewed::Open { remaining_ms: 1_000 }, "{bound}");
        let ended = cache.end_write(b"written", token, &invalidation()).await.unwrap();
        assert_eq!(ended, Ended::Closed, "{bound}");
        assert!(matches!(cache.lease(b"written", &asked).await.unwrap(), Leased::Granted(_)), "{bound}");
        time.advance(Duration::from_secs(10));
        assert_eq!(store.used_bytes(), 0, "nothing else is kept");
    }
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
