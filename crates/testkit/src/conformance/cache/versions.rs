//! What is too old to be stored: versions, floors, and answers of replicas.

use super::Backend;
use super::player::{LAG_MS, LEASE_MS, LIFE_MS, Player, Served, asked, expiring, granted, hit, loaded};
use evenkeel_protocol::cache::steps::{Fill, Filled, Grant, Invalidation, Lease, Why};

fn versioned(grant: Grant, version: u64) -> Fill {
    Fill { version: Some(version), ..loaded(grant, &format!("v{version}")) }
}

/// Invalidated at a version, a key is loaded from a database that does not have that version yet.
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

fn with_replicas() -> Lease {
    Lease { lag_ms_max: LAG_MS, ..asked(Why::Miss) }
}

fn from_replica(grant: Grant, value: &str) -> Fill {
    Fill { from_replica: true, ..loaded(grant, value) }
}

/// The entry was evicted together with what it knew of the last invalidation; the next loader asks a replica that lags, and
/// the row of yesterday is cached for a full ttl.
pub async fn created_entry_requires_a_primary_read<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    let grant = granted(cache.lease_with(&with_replicas()).await);
    assert!(grant.primary_required);
    assert_eq!(cache.fill_with(from_replica(grant, "old")).await, Filled::BelowFloor);
    assert_eq!(cache.fill(grant, "new").await, Filled::Stored);
    cache.purge().await;
    let grant = granted(cache.lease_with(&with_replicas()).await);
    assert!(!grant.primary_required);
    assert_eq!(cache.fill_with(from_replica(grant, "new")).await, Filled::Stored);
    cache.evict().await;
    assert!(!cache.grant().await.primary_required, "a caller that reads the primary anyway needs no demand");
}

/// A key is invalidated, and loaded from a replica that does not have the write yet.
pub async fn invalidation_requires_primary_read_for_replica_lag<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    cache.load("old").await;
    cache.invalidate_with(&Invalidation { lag_ms_max: LAG_MS, ..expiring() }).await;
    let grant = granted(cache.lease_with(&with_replicas()).await);
    assert!(grant.primary_required);
    assert_eq!(cache.fill_with(from_replica(grant, "old")).await, Filled::BelowFloor);
    cache.advance(LAG_MS).await;
    let grant = granted(cache.lease_with(&with_replicas()).await);
    assert!(!grant.primary_required);
    assert_eq!(cache.fill_with(from_replica(grant, "new")).await, Filled::Stored);
}

/// The time in which replicas may lag is longer than the entry would have lived: the entry must not forget before.
pub async fn entry_outlives_the_replica_lag<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    cache.load("old").await;
    let before = cache.header().await.granted;
    let long = LIFE_MS * 100;
    cache.invalidate_with(&Invalidation { lag_ms_max: long, ..expiring() }).await;
    cache.advance(long - 1).await;
    let grant = granted(cache.lease_with(&with_replicas()).await);
    assert!(grant.primary_required);
    assert_eq!(grant.ordinal, before + 2, "the entry was created anew");
    assert_eq!(cache.read().await, Served::Miss);
}
