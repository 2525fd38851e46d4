//! No load beats an invalidation that came after its beginning (C1).

use super::Backend;
use super::player::{Player, Served, asked, expiring, granted, hit, loaded, stale};
use evenkeel_protocol::cache::steps::{Fill, Filled, Why};

/// The classical stale fill: a reader reads the row and pauses; a writer commits and invalidates; the reader stores what it
/// read. The old value is then served until its ttl, with nobody left to correct it.
pub async fn a_load_that_began_before_an_invalidation_is_not_stored<B: Backend>(backend: &B) {
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

/// The same through a hole: the entry is evicted, the writer finds nothing to invalidate, another reader creates the entry
/// again, and the slow reader meets an entry that knows nothing of it. A token per client (rueidisaside) or a counter that
/// begins anew lets it in.
pub async fn a_load_is_not_stored_in_an_entry_created_after_it<B: Backend>(backend: &B) {
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

/// A fence that is a tombstone is gone when the tombstone is evicted, and the slow loader wins. Here the permission lives in
/// the entry: whatever takes the entry away takes the permission with it.
pub async fn a_fill_finds_no_permission_where_the_entry_is_gone<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    let slow = cache.grant().await;
    cache.evict().await;
    assert_eq!(cache.fill(slow, "v1").await, Filled::Gone);
    assert_eq!(cache.bytes().await, None);
}

/// A loader whose lease was stolen is slower than the thief, and stores an older value over a newer one, while the
/// invalidation between the two is still on its way.
pub async fn a_slow_loader_does_not_overwrite_a_newer_value<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    let slow = cache.grant().await;
    cache.advance(super::player::LEASE_MS).await;
    let thief = cache.grant().await;
    assert_eq!(cache.fill(thief, "v2").await, Filled::Stored);
    assert_eq!(cache.fill(slow, "v1").await, Filled::Superseded);
    assert_eq!(cache.read().await, hit("v2"));
}

/// A reply is lost, the loader repeats its fill, and is told that it was superseded by itself.
pub async fn a_repeated_fill_is_stored<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    let grant = cache.grant().await;
    assert_eq!(cache.fill(grant, "v1").await, Filled::Stored);
    let before = cache.bytes().await;
    assert_eq!(cache.fill(grant, "v1").await, Filled::Stored);
    assert_eq!(cache.bytes().await, before);
}

/// A failover loses the last lease. Its loader comes back to an entry that will give the same number to somebody else, and
/// must not be taken for that one.
pub async fn a_grant_that_a_failover_took_back_is_refused<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    let first = cache.grant().await;
    let replicated = cache.bytes().await.unwrap();
    cache.advance(super::player::LEASE_MS).await;
    let lost = cache.grant().await;
    cache.put(replicated).await;
    assert_eq!(cache.fill(lost, "v1").await, Filled::Superseded);
    assert_eq!(cache.fill(first, "v1").await, Filled::Stored);
}

/// An invalidation is sent again after a time-out, and both copies arrive, the second one long after: in between others have
/// invalidated too. The generation of the first copy is back, and with it, if only the generation counted, the permission of
/// a load that saw it first.
pub async fn a_late_duplicate_of_an_invalidation_brings_no_permission_back<B: Backend>(backend: &B) {
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

/// A lease is sent again after a time-out, and the second copy arrives when the entry has been evicted and the writer found
/// nothing to invalidate: it creates the entry again, under the same generation, and the load of the first copy fits.
pub async fn a_late_duplicate_of_a_lease_brings_no_permission_back<B: Backend>(backend: &B) {
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
/// fence cannot see that.) The process drives its recent invalidations again before anything else, and that ends the load.
pub async fn an_invalidation_driven_again_after_a_failover_ends_the_load_it_had_ended<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    let slow = cache.grant().await;
    let replicated = cache.bytes().await.unwrap();
    cache.expire().await;
    cache.put(replicated).await;
    cache.expire().await;
    assert_eq!(cache.fill(slow, "v1").await, Filled::Superseded);
}

/// A row was absent, that is cached, and then the row is inserted: the insert must end the absence like any other value.
pub async fn an_insert_ends_the_absence_of_its_row<B: Backend>(backend: &B) {
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

/// Tombstones for keys that nobody caches fill a cache with nothing. A load needs its entry to store anything, so an
/// invalidation has nothing to leave behind where there is none.
pub async fn an_invalidation_creates_no_entry<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    cache.expire().await;
    cache.purge().await;
    assert_eq!(cache.bytes().await, None);
    assert_eq!(cache.read().await, Served::Miss);
}

/// A refresh runs while the value is still good; an invalidation must cut it like any other load.
pub async fn a_refresh_that_began_before_an_invalidation_is_not_stored<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    cache.load("v1").await;
    cache.advance(super::player::SOFT_MS).await;
    let refresh = granted(cache.lease_with(&asked(Why::Refresh)).await);
    cache.purge().await;
    assert_eq!(cache.fill(refresh, "v1").await, Filled::Superseded);
    assert_eq!(cache.read().await, Served::Miss);
}
