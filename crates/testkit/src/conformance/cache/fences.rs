//! No fill of a load survives an invalidation that came after the load's beginning (C1).

use super::Backend;
use super::player::{Player, Served, asked, expiring, granted, hit, loaded, stale};
use evenkeel_protocol::cache::steps::{Fill, Filled, Why};

/// The classical stale fill: a reader reads the row and pauses; a writer commits and invalidates; the reader stores what it
/// read. The old value is then served until its ttl, and no later step corrects it.
// shows: C1, hazard R1
pub async fn invalidation_rejects_fill_from_earlier_load<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    cache.load("v1").await;
    cache.expire().await;
    let slow = cache.grant().await;
    cache.expire().await;
    assert_eq!(cache.fill(slow, "v2").await, Filled::Superseded);
    assert_eq!(cache.read().await, stale("v1"));
    cache.load("v3").await;
    assert_eq!(cache.fill(slow, "v2").await, Filled::Superseded);
    assert_eq!(cache.read().await, hit("v3"));
}

/// The same stale fill across an eviction: the entry is evicted, the writer finds nothing to invalidate, and another reader creates
/// the entry again. A token per client (rueidisaside) or a counter that begins anew then accepts the slow reader.
// shows: C1, hazard R1
pub async fn recreated_entry_rejects_fill_from_earlier_load<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    let slow = cache.grant().await;
    cache.evict().await;
    cache.expire().await;
    let other = cache.grant().await;
    assert_eq!(slow.ordinal, other.ordinal);
    assert_eq!(cache.fill(slow, "v1").await, Filled::Superseded);
    assert_eq!(cache.fill(other, "v2").await, Filled::Stored);
    assert_eq!(cache.read().await, hit("v2"));
}

/// A fence that is a tombstone is gone when the tombstone is evicted, and the slow loader wins. Here the grant is in the
/// entry: without the entry there is no grant.
// shows: C1, hazard D4
pub async fn fill_is_rejected_after_entry_was_evicted<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    let slow = cache.grant().await;
    cache.evict().await;
    assert_eq!(cache.fill(slow, "v1").await, Filled::Gone);
    assert_eq!(cache.bytes().await, None);
}

/// A loader whose lease was stolen is slower than the thief, and stores an older value over a newer one, while the
/// invalidation between the two is still on its way.
// shows: hazard R2
pub async fn slow_fill_does_not_overwrite_newer_value<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    let slow = cache.grant().await;
    cache.advance(super::player::LEASE_MS).await;
    let thief = cache.grant().await;
    assert_eq!(cache.fill(thief, "v2").await, Filled::Stored);
    assert_eq!(cache.fill(slow, "v1").await, Filled::Superseded);
    assert_eq!(cache.read().await, hit("v2"));
}

/// A loader that repeats its fill after a lost reply must not be rejected as superseded by its own fill.
// shows: spec/cache.md
pub async fn repeated_fill_is_accepted<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    let grant = cache.grant().await;
    assert_eq!(cache.fill(grant, "v1").await, Filled::Stored);
    let before = cache.bytes().await;
    assert_eq!(cache.fill(grant, "v1").await, Filled::Stored);
    assert_eq!(cache.bytes().await, before);
}

/// A failover loses the last lease. Its loader returns to an entry that will give the same number to another loader, and
/// must not be taken for that one.
// shows: hazard H13
pub async fn fill_with_grant_lost_in_failover_is_rejected<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    let first = cache.grant().await;
    let replicated = cache.bytes().await.unwrap();
    cache.advance(super::player::LEASE_MS).await;
    let lost = cache.grant().await;
    cache.put(replicated).await;
    assert_eq!(cache.fill(lost, "v1").await, Filled::Superseded);
    assert_eq!(cache.fill(first, "v1").await, Filled::Stored);
}

/// An invalidation is sent twice because of a timeout, and another invalidation is applied between the two copies. The second copy
/// restores the generation of the first. If only the generations were compared, a load that began between them could store its
/// outdated value.
// shows: C1, hazard D3, spec/cache.md
pub async fn duplicate_invalidation_does_not_revive_a_rejected_fill<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    cache.load("v1").await;
    let sent_twice = expiring();
    cache.invalidate_with(&sent_twice).await;
    let slow = cache.grant().await;
    cache.expire().await;
    cache.invalidate_with(&sent_twice).await;
    assert_eq!(cache.header().await.generation, slow.generation);
    assert_eq!(cache.fill(slow, "v2").await, Filled::Superseded);
    let next = cache.grant().await;
    assert_ne!(next.ordinal, slow.ordinal);
    assert_eq!(cache.fill(slow, "v2").await, Filled::Superseded);
    assert_eq!(cache.fill(next, "v3").await, Filled::Stored);
}

/// A lease is sent twice because of a timeout. Before the second copy arrives, the entry is evicted, and an invalidation finds no
/// entry. The second copy creates the entry again, with the generation that the load of the first copy saw.
// shows: hazard D3
pub async fn duplicate_lease_does_not_revive_a_rejected_fill<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    let sent_twice = asked(Why::Miss);
    let slow = granted(cache.lease_with(&sent_twice).await);
    cache.advance(1_000).await;
    cache.evict().await;
    cache.expire().await;
    let again = granted(cache.lease_with(&sent_twice).await);
    assert_eq!(again.generation, slow.generation);
    assert_eq!(cache.fill(slow, "v1").await, Filled::Superseded);
    assert_eq!(cache.fill(again, "v2").await, Filled::Stored);
}

/// A failover loses an invalidation and keeps the lease before it: the entry accepts the old load again. (A presence-only
/// fence cannot see that.) The process replays its recent invalidations before anything else, and that rejects the load.
// shows: hazard H13
pub async fn replayed_invalidation_rejects_fill_after_failover<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    let slow = cache.grant().await;
    let replicated = cache.bytes().await.unwrap();
    cache.expire().await;
    cache.put(replicated).await;
    cache.expire().await;
    assert_eq!(cache.fill(slow, "v1").await, Filled::Superseded);
}

/// A row was absent, that is cached, and then the row is inserted: the insert must end the absence like any other value.
// shows: hazard D17
pub async fn invalidation_after_insert_ends_cached_absence<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    let absent = |grant| Fill { absent: true, payload: bytes::Bytes::new(), ..loaded(grant, "") };
    let grant = cache.grant().await;
    assert_eq!(cache.fill_with(absent(grant)).await, Filled::Stored);
    cache.advance(super::player::SOFT_MS).await;
    let slow = granted(cache.lease(Why::Refresh).await);
    cache.purge().await;
    assert_eq!(cache.fill_with(absent(slow)).await, Filled::Superseded);
    assert_eq!(cache.read().await, Served::Miss);
}

/// A tombstone for each uncached key would fill the cache with useless entries. A load can store only into its own entry, so the
/// invalidation of a missing key need not leave one.
pub async fn invalidation_of_a_missing_key_creates_no_entry<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    cache.expire().await;
    cache.purge().await;
    assert_eq!(cache.bytes().await, None);
    assert_eq!(cache.read().await, Served::Miss);
}

/// A refresh runs while the value is still good; an invalidation must cut it like any other load.
// shows: C1
pub async fn invalidation_rejects_fill_from_earlier_refresh<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    cache.load("v1").await;
    cache.advance(super::player::SOFT_MS).await;
    let refresh = granted(cache.lease_with(&asked(Why::Refresh)).await);
    cache.purge().await;
    assert_eq!(cache.fill(refresh, "v1").await, Filled::Superseded);
    assert_eq!(cache.read().await, Served::Miss);
}
