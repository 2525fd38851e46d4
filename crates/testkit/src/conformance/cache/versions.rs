//! What is too old to be stored: versions, floors, and answers of replicas.

use super::Backend;
use super::player::{LAG_MS, LEASE_MS, Player, asked, expiring, granted, hit, loaded};
use evenkeel_protocol::cache::steps::{Fill, Filled, Grant, Invalidation, Lease, Why};

fn versioned(grant: Grant, version: u64) -> Fill {
    Fill { version: Some(version), ..loaded(grant, &format!("v{version}")) }
}

/// Invalidated at a version, a key is loaded from a database that does not have that version yet.
// shows: hazard H14, hazard D7, cache::Cache::invalidate_at
pub async fn fill_below_the_version_floor_is_rejected<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    cache.load("old").await;
    cache.invalidate_with(&Invalidation { floor: Some(5), ..expiring() }).await;
    let grant = cache.grant().await;
    assert_eq!(cache.fill_with(versioned(grant, 4)).await, Filled::BelowFloor);
    assert_eq!(cache.fill_with(versioned(grant, 5)).await, Filled::Stored);
    assert_eq!(cache.read().await, hit("v5"));
}

/// Invalidations arrive out of order; an older one must not lower the floor.
// shows: cache::Cache::invalidate_at
pub async fn version_floor_only_rises<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    cache.load("old").await;
    for floor in [9, 6] {
        cache.invalidate_with(&Invalidation { floor: Some(floor), ..expiring() }).await;
        assert_eq!(cache.header().await.floor, 9);
    }
    cache.expire().await;
    assert_eq!(cache.header().await.floor, 9);
}

/// A later loader reads a slower replica, and puts an older row in the place of a newer one.
// shows: hazard D7
pub async fn stored_version_raises_the_floor<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    let first = cache.grant().await;
    cache.advance(LEASE_MS).await;
    let second = cache.grant().await;
    assert_eq!(cache.fill_with(versioned(first, 8)).await, Filled::Stored);
    assert_eq!(cache.fill_with(versioned(second, 7)).await, Filled::BelowFloor);
    assert_eq!(cache.read().await, hit("v8"));
}

/// Numbers in Lua are exact to 2^53 only, so that 2^53 and 2^53 + 1 are the same; and its strings are compared by the locale.
pub async fn versions_above_2_53_are_compared_exactly<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    for floor in [1 << 53, 0x0000_0001_0000_0000, 0x7FFF_FFFF_FFFF_FFFF, u64::MAX - 1] {
        cache.evict().await;
        cache.load("old").await;
        cache.invalidate_with(&Invalidation { floor: Some(floor + 1), ..expiring() }).await;
        let grant = cache.grant().await;
        assert_eq!(cache.fill_with(versioned(grant, floor)).await, Filled::BelowFloor, "{floor:#x}");
        assert_eq!(cache.fill_with(versioned(grant, floor + 1)).await, Filled::Stored, "{floor:#x}");
        assert_eq!(cache.header().await.value.unwrap().version, Some(floor + 1));
    }
}

/// A lease for a loader that reads replicas.
fn with_replicas(why: Why) -> Lease {
    Lease { lag_ms_max: LAG_MS, ..asked(why) }
}

fn from_replica(grant: Grant, value: &str) -> Fill {
    Fill { replica_lag_ms: LAG_MS, ..loaded(grant, value) }
}

/// The loads of a cache until the lag has passed since now: each must read the primary. The first one after that need not.
async fn primary_is_read_for_the_lag<B: Backend>(cache: &Player<'_, B>) {
    for (after_ms, why) in [(0, Why::Miss), (LAG_MS - 1, Why::Older(0))] {
        cache.advance(after_ms).await;
        let grant = granted(cache.lease_with(&with_replicas(why)).await);
        assert!(grant.primary_required, "{after_ms} ms later");
        assert_eq!(cache.fill_with(from_replica(grant, "old")).await, Filled::BelowFloor);
        assert_eq!(cache.fill(grant, "new").await, Filled::Stored);
    }
    cache.advance(1).await;
    let grant = granted(cache.lease_with(&with_replicas(Why::Older(0))).await);
    assert!(!grant.primary_required);
    assert_eq!(cache.fill_with(from_replica(grant, "new")).await, Filled::Stored);
}

/// The entry was evicted together with what it knew of the last invalidation; the next loader asks a replica that lags, and
/// the row of yesterday is cached for a full ttl. A load of the primary in between does not change what the replica has.
// shows: hazard H14, hazard BC1, cache::Cache::invalidate_at
pub async fn created_entry_requires_a_primary_read<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    primary_is_read_for_the_lag(&cache).await;
    cache.evict().await;
    cache.purge().await;
    primary_is_read_for_the_lag(&cache).await;
    cache.evict().await;
    assert!(!cache.grant().await.primary_required, "a caller that reads the primary anyway needs no demand");
}

/// A key is invalidated, and loaded from a replica that does not have the write yet. A version protects neither against an absent
/// row, which has none, nor against a later write without one; and the writer may know nothing of replicas.
// shows: hazard H14, hazard BC1, cache::CacheBuilder::reads_replicas
pub async fn invalidation_requires_primary_read_for_replica_lag<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    for (lag_ms_max, floor) in [(LAG_MS, None), (LAG_MS, Some(5)), (0, Some(6)), (0, None)] {
        cache.invalidate_with(&Invalidation { lag_ms_max, floor, ..expiring() }).await;
        primary_is_read_for_the_lag(&cache).await;
    }
}

/// Programs that read no replicas keep an entry alive without a record of its invalidations, and one that reads them joins.
// shows: hazard BC1, cache::CacheBuilder::reads_replicas
pub async fn entry_of_primary_readers_requires_a_primary_read<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    cache.load("old").await;
    cache.advance(2 * LAG_MS).await;
    cache.purge().await;
    primary_is_read_for_the_lag(&cache).await;
}

/// Two programs read replicas that lag differently: what is enough for one is not for the other.
// shows: hazard BC1
pub async fn each_lag_counts_from_the_invalidation<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    primary_is_read_for_the_lag(&cache).await;
    let slow = Lease { lag_ms_max: 3 * LAG_MS, ..asked(Why::Older(0)) };
    cache.advance(LEASE_MS).await;
    let grant = granted(cache.lease_with(&slow).await);
    assert!(grant.primary_required);
    let fill = Fill { replica_lag_ms: 3 * LAG_MS, ..loaded(grant, "old") };
    assert_eq!(cache.fill_with(fill).await, Filled::BelowFloor);
}
