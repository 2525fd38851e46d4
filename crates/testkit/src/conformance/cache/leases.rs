//! One load at a time (C3), and no lease for ever.

use super::Backend;
use super::player::{LEASE_MS, LIFE_MS, Player, SOFT_MS, asked, granted, hit, loaded};
use evenkeel::Token;
use evenkeel_protocol::cache::header::Entry;
use evenkeel_protocol::cache::steps::{Fill, Filled, Lease, Leased, Why};

/// A hot key goes missing and everybody loads it at once.
pub async fn while_one_loads_others_wait<B: Backend>(backend: &B) {
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
pub async fn a_repeated_lease_gets_the_same_grant<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    let ask = asked(Why::Miss);
    let first = granted(cache.lease_with(&ask).await);
    cache.advance(LEASE_MS - 1).await;
    assert_eq!(granted(cache.lease_with(&ask).await), first);
}

/// A reader finds nothing, is stopped, and asks for a lease when the value has long landed: it would load for nothing, and
/// the others would wait for it.
pub async fn a_lease_for_what_has_landed_gets_the_value<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    cache.load("v1").await;
    for why in [Why::Miss, Why::Stale] {
        assert_eq!(cache.lease(why).await, Leased::Landed(cache.bytes().await.unwrap()));
    }
    cache.expire().await;
    let Leased::Granted(_) = cache.lease(Why::Stale).await else { panic!("a stale value has not landed") };
}

/// A client whose idea of the server's time is off refreshes a value over and over.
pub async fn a_refresh_is_granted_when_it_is_due<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    cache.load("v1").await;
    cache.advance(SOFT_MS - 1).await;
    assert_eq!(cache.lease(Why::Refresh).await, Leased::Landed(cache.bytes().await.unwrap()));
    cache.advance(1).await;
    let grant = granted(cache.lease(Why::Refresh).await);
    assert_eq!(cache.fill(grant, "v2").await, Filled::Stored);
    assert_eq!(cache.read().await, hit("v2"));
}

/// rockscache takes the lease for the fence: a load that takes longer than the lease is refused, the next one too, and a hot
/// key with a slow query is never cached again.
pub async fn a_load_longer_than_its_lease_is_stored<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    let slow = cache.grant().await;
    cache.advance(LEASE_MS * 2).await;
    let thief = cache.grant().await;
    cache.advance(LEASE_MS * 2).await;
    assert_eq!(cache.fill(slow, "v1").await, Filled::Stored);
    assert_eq!(cache.fill(thief, "v2").await, Filled::Stored);
    assert_eq!(cache.read().await, hit("v2"));
}

/// A value is about to end when its refresh begins; the entry ends during the load, and the load was for nothing.
pub async fn the_entry_lives_as_long_as_the_load_may_take<B: Backend>(backend: &B) {
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
pub async fn a_lease_never_shortens_the_life_of_the_entry<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    let slow = cache.grant().await;
    cache.advance(LEASE_MS).await;
    let hasty = Lease { life_ms: LEASE_MS, ..asked(Why::Miss) };
    granted(cache.lease_with(&hasty).await);
    cache.advance(LIFE_MS - LEASE_MS - 1).await;
    assert_eq!(cache.fill(slow, "v1").await, Filled::Stored);
}

/// A loader dies. rockscache's key stays without an expiry for ever; here the entry ends by itself and the next one begins
/// anew.
pub async fn the_entry_of_a_dead_loader_ends<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    let dead = cache.grant().await;
    assert_eq!(cache.header().await.ends_at_ms, dead.at_ms + LIFE_MS);
    cache.advance(LIFE_MS).await;
    assert_eq!(cache.fill(dead, "v1").await, Filled::Gone);
    let next = cache.grant().await;
    assert_ne!(next.generation, dead.generation);
}

/// A failing load is repeated by one waiter after the other, each with its own full time-out.
pub async fn after_a_failed_load_the_next_one_has_patience<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    let ask = asked(Why::Miss);
    let failed = granted(cache.lease_with(&ask).await);
    cache.abandon(ask.token, 5_000).await;
    cache.advance(1_000).await;
    cache.abandon(ask.token, 5_000).await; // a repeat asks for no more patience
    assert_eq!(cache.lease(Why::Miss).await, Leased::Failing { retry_after_ms: 4_000 });
    cache.advance(4_000).await;
    let next = cache.grant().await;
    assert_eq!(next.ordinal, failed.ordinal + 1);
}

/// A loader that lost its lease to another one fails, and takes the other's lease away.
pub async fn nobody_abandons_the_lease_of_another<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    granted(cache.lease(Why::Miss).await);
    cache.abandon(Token::random(), 0).await;
    assert_eq!(cache.lease(Why::Miss).await, Leased::Wait { retry_after_ms: LEASE_MS });
}

/// Redis's clock is set back by a day, and a lease of a dead loader holds everybody off for a day.
pub async fn a_lease_from_the_future_holds_nobody_off<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    cache.advance(86_400_000).await;
    let before = cache.grant().await;
    backend.set_back(86_400_000).await;
    let after = cache.grant().await;
    assert_eq!(after.ordinal, before.ordinal + 1);
    assert_eq!(cache.fill(after, "v1").await, Filled::Stored);
}

/// A reader that must not see anything older than its own write asks for a version.
pub async fn a_lease_below_a_version_is_granted_until_it_is_there<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    let grant = cache.grant().await;
    cache.fill_with(Fill { version: Some(7), ..loaded(grant, "v7") }).await;
    let entry = cache.bytes().await.unwrap();
    assert_eq!(cache.lease(Why::Below(7)).await, Leased::Landed(entry.clone()));
    let grant = granted(cache.lease(Why::Below(8)).await);
    cache.fill_with(Fill { version: Some(8), ..loaded(grant, "v8") }).await;
    let Leased::Landed(landed) = cache.lease(Why::Below(8)).await else { panic!("version 8 is there") };
    assert_eq!(Entry::parse(landed).unwrap().header.value.unwrap().version, Some(8));
}

/// A reader that bears a bounded age finds nothing, is stopped, and must not be told of a value that has landed meanwhile and is
/// older than it bears.
pub async fn a_lease_for_a_younger_value_is_granted_until_it_is_there<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    cache.load("v1").await;
    cache.advance(5_000).await;
    assert_eq!(cache.lease(Why::Older(5_000)).await, Leased::Landed(cache.bytes().await.unwrap()));
    cache.advance(1).await;
    let grant = granted(cache.lease(Why::Older(5_000)).await);
    assert_eq!(cache.fill(grant, "v2").await, Filled::Stored);
    assert_eq!(cache.lease(Why::Older(0)).await, Leased::Landed(cache.bytes().await.unwrap()));
    cache.expire().await;
    granted(cache.lease(Why::Older(5_000)).await);
}
