//! How long a value may be served, fresh and stale.

use super::Backend;
use super::player::{
    HARD_MS, LIFE_MS, Player, RETAIN_MS, SOFT_MS, Served, asked, expiring, granted, hit, loaded, stale,
};
use evenkeel::Token;
use evenkeel_protocol::cache::header::Entry;
use evenkeel_protocol::cache::steps::{Fill, Filled, Invalidation, Lease, Mode, Why};

/// A value is first valid, then due for a refresh, then gone, and its key expires with it.
pub async fn value_is_served_until_its_hard_expiry<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    cache.load("v1").await;
    cache.advance(SOFT_MS - 1).await;
    assert_eq!(cache.read().await, hit("v1"));
    cache.advance(1).await;
    assert_eq!(cache.read().await, Served::Due("v1".to_owned()));
    cache.advance(HARD_MS - SOFT_MS - 1).await;
    assert_eq!(cache.read().await, Served::Due("v1".to_owned()));
    assert_eq!(cache.header().await.ends_at_ms, backend.now_ms() + 1);
    cache.advance(1).await;
    assert_eq!(cache.read().await, Served::Miss);
}

/// A ttl that begins when the value is stored lets a value read long ago live longer than the ttl.
// shows: hazard D21, spec/cache.md
pub async fn value_ttl_counts_from_its_lease<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    let grant = cache.grant().await;
    cache.advance(LIFE_MS - 1).await;
    assert_eq!(cache.fill(grant, "v1").await, Filled::Stored);
    let value = cache.header().await.value.unwrap();
    assert_eq!(value.loaded_at_ms, grant.at_ms);
    assert_eq!(value.soft_until_ms, grant.at_ms + SOFT_MS);
    assert_eq!(value.hard_until_ms, grant.at_ms + HARD_MS);
}

/// A load takes longer than the value's ttl: there is nothing to store, and the fill reports that.
// shows: hazard H6, spec/cache.md
pub async fn fill_after_the_value_ttl_is_rejected<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    let grant = cache.grant().await;
    cache.advance(5_000).await;
    let before = cache.bytes().await;
    let short = Fill { soft_ms: 4_000, hard_ms: 5_000, ..loaded(grant, "v1") };
    assert_eq!(cache.fill_with(short).await, Filled::Gone);
    assert_eq!(cache.bytes().await, before);
}

/// While the database is down, rockscache prolongs the stale value with every failed load: it never ends. Here nothing but
/// a fill sets the hard expiry, and an invalidation can only lower it.
// shows: hazard H10
pub async fn failed_load_does_not_extend_a_stale_value<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    cache.load("v1").await;
    cache.expire().await;
    let until_ms = cache.header().await.value.unwrap().hard_until_ms;
    assert_eq!(until_ms, backend.now_ms() + RETAIN_MS);
    for _ in 0..5 {
        cache.advance(RETAIN_MS / 6).await;
        cache.expire().await;
        assert_eq!(cache.header().await.value.unwrap().hard_until_ms, until_ms);
        assert_eq!(cache.read().await, stale("v1"));
    }
    cache.advance(RETAIN_MS / 6).await;
    assert_eq!(cache.read().await, Served::Miss);
}

/// A value near its expiry is invalidated, and would get the whole retention on top of its lifetime.
// shows: hazard H10
pub async fn invalidation_does_not_extend_the_value_ttl<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    cache.load("v1").await;
    let left = RETAIN_MS / 2;
    cache.advance(HARD_MS - left).await;
    cache.expire().await;
    assert_eq!(cache.read().await, stale("v1"));
    cache.advance(left).await;
    assert_eq!(cache.read().await, Served::Miss);
}

/// A reader that requires a fresh value is served an invalidated value.
pub async fn invalidated_value_is_stale<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    cache.load("v1").await;
    cache.expire().await;
    assert_eq!(cache.read().await, stale("v1"));
    let grant = cache.grant().await;
    assert_eq!(cache.read().await, stale("v1"));
    assert_eq!(cache.fill(grant, "v2").await, Filled::Stored);
    assert_eq!(cache.read().await, hit("v2"));
}

/// A permission was revoked, and a fail-safe keeps serving the old one: `Clear(hard)` of several libraries does that.
// shows: hazard D20
pub async fn purged_value_is_never_served<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    cache.load("secret").await;
    cache.purge().await;
    assert_eq!(cache.read().await, Served::Miss);
    assert_eq!(Entry::parse(cache.bytes().await.unwrap()).unwrap().payload, "");
    cache.load("again").await;
    cache.expire().await;
    cache.purge().await;
    assert_eq!(cache.read().await, Served::Miss);
}

/// An invalidation without retention leaves no value, also for a reader whose clock is behind the store's.
// shows: hazard D20
pub async fn value_with_zero_retention_expires_at_once<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    cache.load("v1").await;
    cache.invalidate_with(&Invalidation { mode: Mode::Expire { retain_ms: 0 }, ..expiring() }).await;
    assert_eq!(cache.read().await, Served::Miss);
    let value = cache.header().await.value.unwrap();
    assert_eq!(value.hard_until_ms, 0);
    assert!(value.stale);
}

/// Without retention, a database outage of a minute would cost every value whose ttl ends in that minute.
pub async fn expired_value_is_retained_for_stale_reads<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    let grant = cache.grant().await;
    assert_eq!(cache.fill_with(Fill { spare_ms: 2 * HARD_MS, ..loaded(grant, "v1") }).await, Filled::Stored);
    cache.advance(HARD_MS).await;
    assert_eq!(cache.read().await, Served::Miss, "it may not be served as a valid value");
    let token = Token::random();
    let asked = Lease { token, ..asked(Why::Miss) };
    granted(cache.lease_with(&asked).await);
    cache.abandon(token, 1).await;
    cache.expire().await;
    let entry = Entry::parse(cache.bytes().await.unwrap()).unwrap();
    assert_eq!((&*entry.payload, entry.header.value.unwrap().loaded_at_ms), (&b"v1"[..], grant.at_ms));
    assert_eq!(entry.header.ends_at_ms, grant.at_ms + 2 * HARD_MS, "a failed load does not extend it");
    cache.purge().await;
    assert_eq!(Entry::parse(cache.bytes().await.unwrap()).unwrap().payload, "");
}

/// If an expired value counted as stored, no reader could load a new one.
pub async fn expired_value_grants_a_new_lease<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    let grant = cache.grant().await;
    cache.fill_with(Fill { spare_ms: 2 * HARD_MS, ..loaded(grant, "v1") }).await;
    cache.advance(HARD_MS).await;
    let grant = cache.grant().await;
    assert_eq!(cache.fill(grant, "v2").await, Filled::Stored);
    assert_eq!(cache.read().await, hit("v2"));
}

/// The absence of a row is a value like any other.
// shows: hazard H11
pub async fn absent_row_is_stored_as_absence<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    let grant = cache.grant().await;
    let absent = Fill { absent: true, payload: bytes::Bytes::new(), ..loaded(grant, "") };
    assert_eq!(cache.fill_with(absent).await, Filled::Stored);
    let value = cache.header().await.value.unwrap();
    assert!(value.absent);
    assert_eq!((value.codec, value.compression), (3, 1));
    assert_eq!(cache.read().await, hit(""));
}

/// Lives of whole seconds turn a ttl of 300 ms into none at all.
// shows: hazard H6, spec/cache.md
pub async fn ttl_is_exact_to_the_millisecond<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    let grant = cache.grant().await;
    assert_eq!(cache.fill_with(Fill { soft_ms: 60_001, hard_ms: 60_003, ..loaded(grant, "v1") }).await, Filled::Stored);
    let header = cache.header().await;
    assert_eq!(header.ends_at_ms, grant.at_ms + 60_003);
    assert_eq!(header.value.unwrap().soft_until_ms, grant.at_ms + 60_001);
}
