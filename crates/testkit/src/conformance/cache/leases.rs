//! One load at a time (C3), and every lease expires.

use super::Backend;
use super::player::{LEASE_MS, LIFE_MS, Player, SOFT_MS, asked, granted, hit, loaded};
use evenkeel::Token;
use evenkeel_protocol::cache::header::Entry;
use evenkeel_protocol::cache::steps::{Fill, Filled, Lease, Leased, Why};

/// A hot key goes missing and every reader loads it at once: a cache stampede.
// shows: C3
pub async fn lease_is_granted_to_one_loader_at_a_time<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    let first = cache.grant().await;
    cache.advance(10_000).await;
    for why in [Why::Miss, Why::Refresh, Why::Stale, Why::Below(1)] {
        assert_eq!(cache.lease(why).await, Leased::Wait { retry_after_ms: LEASE_MS - 10_000 });
    }
    cache.advance(LEASE_MS - 10_000).await;
    let next = cache.grant().await;
    assert_eq!((next.generation, next.ordinal), (first.generation, first.ordinal + 1));
}

/// The reply to a lease is lost and the caller asks again: it would wait for itself.
// shows: spec/cache.md
pub async fn repeated_lease_returns_the_same_grant<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    let ask = asked(Why::Miss);
    let first = granted(cache.lease_with(&ask).await);
    cache.advance(LEASE_MS - 1).await;
    assert_eq!(granted(cache.lease_with(&ask).await), first);
}

/// A reader misses, is paused, and asks for a lease after the value has been stored: a lease would make it load needlessly, and
/// other readers wait for it.
pub async fn lease_after_fill_returns_the_value<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    cache.load("v1").await;
    for why in [Why::Miss, Why::Stale] {
        assert_eq!(cache.lease(why).await, Leased::AlreadyStored(cache.bytes().await.unwrap()));
    }
    cache.expire().await;
    let Leased::Granted(_) = cache.lease(Why::Stale).await else { panic!("a stale value is not accepted") };
}

/// A client with a wrong estimate of the server's time would otherwise refresh a value repeatedly.
// shows: hazard D16
pub async fn refresh_is_granted_only_when_due<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    cache.load("v1").await;
    cache.advance(SOFT_MS - 1).await;
    assert_eq!(cache.lease(Why::Refresh).await, Leased::AlreadyStored(cache.bytes().await.unwrap()));
    cache.advance(1).await;
    let grant = granted(cache.lease(Why::Refresh).await);
    assert_eq!(cache.fill(grant, "v2").await, Filled::Stored);
    assert_eq!(cache.read().await, hit("v2"));
}

/// rockscache takes the lease for the fence: a load that takes longer than the lease is refused, the next one too, and a hot
/// key with a slow query is never cached again.
// shows: hazard H2
pub async fn load_longer_than_its_lease_is_stored<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    let slow = cache.grant().await;
    cache.advance(LEASE_MS * 2).await;
    let thief = cache.grant().await;
    cache.advance(LEASE_MS * 2).await;
    assert_eq!(cache.fill(slow, "v1").await, Filled::Stored);
    assert_eq!(cache.fill(thief, "v2").await, Filled::Stored);
    assert_eq!(cache.read().await, hit("v2"));
}

/// A value is about to expire when its refresh begins; the entry expires during the load, whose value is then lost.
// shows: hazard D4
pub async fn lease_extends_entry_ttl_to_the_load_budget<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    let grant = cache.grant().await;
    let short = Fill { soft_ms: 30_000, hard_ms: 31_000, ..loaded(grant, "v1") };
    assert_eq!(cache.fill_with(short).await, Filled::Stored);
    cache.advance(30_000).await;
    let refresh = granted(cache.lease(Why::Refresh).await);
    cache.advance(LIFE_MS - 1).await;
    assert_eq!(cache.fill(refresh, "v2").await, Filled::Stored);
}

/// A short lease after a long one takes the entry from under the first loader.
pub async fn lease_never_shortens_the_entry_ttl<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    let slow = cache.grant().await;
    cache.advance(LEASE_MS).await;
    let hasty = Lease { life_ms: LEASE_MS, ..asked(Why::Miss) };
    granted(cache.lease_with(&hasty).await);
    cache.advance(LIFE_MS - LEASE_MS - 1).await;
    assert_eq!(cache.fill(slow, "v1").await, Filled::Stored);
}

/// A loader dies. rockscache's key stays without an expiry forever; here the entry expires and the next one begins anew.
// shows: hazard H4
pub async fn entry_of_a_dead_loader_expires<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    let dead = cache.grant().await;
    assert_eq!(cache.header().await.ends_at_ms, dead.at_ms + LIFE_MS);
    cache.advance(LIFE_MS).await;
    assert_eq!(cache.fill(dead, "v1").await, Filled::Gone);
    let next = cache.grant().await;
    assert_ne!(next.generation, dead.generation);
}

/// A failing load is repeated by one waiter after the other, each with its own full timeout.
// shows: hazard D25
pub async fn lease_after_failed_load_is_delayed<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    let ask = asked(Why::Miss);
    let failed = granted(cache.lease_with(&ask).await);
    cache.abandon(ask.token, 5_000).await;
    cache.advance(1_000).await;
    cache.abandon(ask.token, 5_000).await; // a repeat does not extend the delay
    assert_eq!(cache.lease(Why::Miss).await, Leased::Failing { retry_after_ms: 4_000 });
    cache.advance(4_000).await;
    let next = cache.grant().await;
    assert_eq!(next.ordinal, failed.ordinal + 1);
}

/// A loader whose lease another loader has taken fails, and would release that loader's lease.
pub async fn abandon_leaves_lease_of_another_owner<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    granted(cache.lease(Why::Miss).await);
    cache.abandon(Token::random(), 0).await;
    assert_eq!(cache.lease(Why::Miss).await, Leased::Wait { retry_after_ms: LEASE_MS });
}

/// Redis's clock is set back by a day, and a lease of a dead loader blocks all others for a day.
// shows: hazard H4, hazard D16
pub async fn lease_from_the_future_does_not_block_loads<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    cache.advance(86_400_000).await;
    let before = cache.grant().await;
    backend.set_back(86_400_000).await;
    let after = cache.grant().await;
    assert_eq!(after.ordinal, before.ordinal + 1);
    assert_eq!(cache.fill(after, "v1").await, Filled::Stored);
}

/// A reader that must not see anything older than its own write asks for a version.
// shows: cache::Freshness::AtLeast
pub async fn lease_with_minimum_version_is_granted_until_stored<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    let grant = cache.grant().await;
    cache.fill_with(Fill { version: Some(7), ..loaded(grant, "v7") }).await;
    let entry = cache.bytes().await.unwrap();
    assert_eq!(cache.lease(Why::Below(7)).await, Leased::AlreadyStored(entry.clone()));
    let grant = granted(cache.lease(Why::Below(8)).await);
    cache.fill_with(Fill { version: Some(8), ..loaded(grant, "v8") }).await;
    let Leased::AlreadyStored(already_stored) = cache.lease(Why::Below(8)).await else { panic!("version 8 is there") };
    assert_eq!(Entry::parse(already_stored).unwrap().header.value.unwrap().version, Some(8));
}

/// A reader with a maximum age finds nothing, is stopped, and must not get a value that was stored meanwhile and is older
/// than that.
// shows: cache::Freshness::Bounded
pub async fn lease_with_maximum_age_is_granted_until_stored<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    cache.load("v1").await;
    cache.advance(5_000).await;
    assert_eq!(cache.lease(Why::Older(5_000)).await, Leased::AlreadyStored(cache.bytes().await.unwrap()));
    cache.advance(1).await;
    let grant = granted(cache.lease(Why::Older(5_000)).await);
    assert_eq!(cache.fill(grant, "v2").await, Filled::Stored);
    assert_eq!(cache.lease(Why::Older(0)).await, Leased::AlreadyStored(cache.bytes().await.unwrap()));
    cache.expire().await;
    granted(cache.lease(Why::Older(5_000)).await);
}
