//! Update windows: writers that require every later read to see what they wrote (C2).

use super::Backend;
use super::player::{
    HARD_MS, LAG_MS, LEASE_MS, Player, RETAIN_MS, SUSPECT_LIFE_MS, SUSPECT_MS, Served, WINDOW_MS, asked, expiring,
    granted, hit, opening, stale,
};
use evenkeel::Token;
use evenkeel_protocol::cache::steps::{Begun, Ended, Filled, Lease, Leased, Renewed, Why};

const OPEN: Begun = Begun::Open { remaining_ms: WINDOW_MS };

/// A reader loads between the writer's statement and its commit, and caches the row as it was.
// shows: C2, hazard D6
pub async fn open_window_grants_no_lease<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    let writer = Token::random();
    cache.load("v1").await;
    assert_eq!(cache.begin(writer).await, OPEN);
    assert_eq!(cache.read().await, stale("v1"));
    cache.advance(10_000).await;
    for why in [Why::Miss, Why::Stale, Why::Refresh, Why::Below(0)] {
        assert_eq!(cache.lease(why).await, Leased::Writing { retry_after_ms: WINDOW_MS - 10_000 });
    }
    assert_eq!(cache.end(writer).await, Ended::Closed);
    cache.load("v2").await;
    assert_eq!(cache.read().await, hit("v2"));
}

/// A load is running when the window opens.
// shows: hazard D6
pub async fn window_rejects_fill_from_earlier_load<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    let slow = cache.grant().await;
    let writer = Token::random();
    cache.begin(writer).await;
    assert_eq!(cache.fill(slow, "v1").await, Filled::Superseded);
    cache.end(writer).await;
    assert_eq!(cache.fill(slow, "v1").await, Filled::Superseded);
    assert_eq!(cache.read().await, Served::Miss);
}

/// There is no entry to hold the window, and a reader loads as if there were no writer.
pub async fn window_creates_a_missing_entry<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    cache.begin(Token::random()).await;
    assert_eq!(cache.lease(Why::Miss).await, Leased::Writing { retry_after_ms: WINDOW_MS });
    assert_eq!(cache.header().await.ends_at_ms, backend.now_ms() + WINDOW_MS + SUSPECT_MS);
}

/// The reply is lost and the writer asks again: with two windows it would end one and be locked out by the other.
// shows: spec/cache.md
pub async fn repeated_begin_opens_one_window<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    let begin = opening(Token::random());
    assert_eq!(cache.begin_with(&begin).await, OPEN);
    cache.advance(1_000).await;
    assert_eq!(cache.begin_with(&begin).await, Begun::Open { remaining_ms: WINDOW_MS - 1_000 });
    assert_eq!(cache.header().await.windows.len(), 1);
    assert_eq!(cache.end(begin.token).await, Ended::Closed);
    granted(cache.lease(Why::Miss).await);
}

/// The end of one writer must not end another writer's window: a reader would load before that writer commits.
pub async fn end_closes_only_its_own_window<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    let [first, second] = [Token::random(), Token::random()];
    cache.begin(first).await;
    cache.advance(1_000).await;
    cache.begin(second).await;
    assert_eq!(cache.end(first).await, Ended::Closed);
    assert_eq!(cache.lease(Why::Miss).await, Leased::Writing { retry_after_ms: WINDOW_MS });
    assert_eq!(cache.end(second).await, Ended::Closed);
    granted(cache.lease(Why::Miss).await);
}

/// Each open window takes space in the entry, so their number is limited.
pub async fn fifth_concurrent_window_is_rejected<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    let writers: Vec<Token> = (0..4).map(|_| Token::random()).collect();
    for &writer in &writers {
        assert_eq!(cache.begin(writer).await, OPEN);
        cache.advance(1_000).await;
    }
    let before = cache.bytes().await;
    assert_eq!(cache.begin(Token::random()).await, Begun::Busy { retry_after_ms: WINDOW_MS - 4_000 });
    assert_eq!(cache.bytes().await, before);
    assert_eq!(cache.end(writers[2]).await, Ended::Closed);
    assert_eq!(cache.begin(Token::random()).await, OPEN);
}

/// A transaction may take longer than the window that its writer requested.
pub async fn renewed_window_stays_open<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    let writer = Token::random();
    cache.begin(writer).await;
    for _ in 0..3 {
        cache.advance(WINDOW_MS - 1).await;
        assert_eq!(cache.renew(writer).await, Renewed::Open { remaining_ms: WINDOW_MS });
    }
    assert_eq!(cache.lease(Why::Miss).await, Leased::Writing { retry_after_ms: WINDOW_MS });
    assert_eq!(cache.header().await.windows[0].suspect_until_ms, backend.now_ms() + WINDOW_MS + SUSPECT_MS);
}

/// A window expired while its writer was stopped, a reader has stored the older value, and the writer renews and commits.
// shows: hazard H4
pub async fn expired_window_cannot_be_renewed<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    let writer = Token::random();
    cache.begin(writer).await;
    cache.advance(WINDOW_MS).await;
    let before = cache.bytes().await;
    assert_eq!(cache.renew(writer).await, Renewed::Lost);
    assert_eq!(cache.bytes().await, before);
    cache.evict().await;
    assert_eq!(cache.renew(writer).await, Renewed::Lost);
    assert_eq!(cache.bytes().await, None);
}

/// A writer dies in its window. Its transaction may still commit, long after the window has expired, and no message reports
/// that.
// shows: hazard D5
pub async fn value_after_expired_window_gets_short_ttl<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    cache.begin(Token::random()).await;
    cache.advance(WINDOW_MS).await;
    for _ in 0..2 {
        let grant = cache.grant().await;
        assert_eq!(cache.fill(grant, "v1").await, Filled::Stored);
        let value = cache.header().await.value.unwrap();
        assert_eq!(value.hard_until_ms, backend.now_ms() + SUSPECT_LIFE_MS);
        assert_eq!(value.soft_until_ms, value.hard_until_ms);
        cache.advance(SUSPECT_LIFE_MS).await;
        assert_eq!(cache.read().await, Served::Miss);
    }
    cache.advance(SUSPECT_MS - 2 * SUSPECT_LIFE_MS).await;
    let grant = cache.grant().await;
    assert_eq!(cache.fill(grant, "v2").await, Filled::Stored);
    assert_eq!(cache.header().await.value.unwrap().hard_until_ms, backend.now_ms() + HARD_MS);
}

/// A late writer finds its window expired and ends it: values stored meanwhile must not stay.
// shows: hazard D8
pub async fn end_of_expired_window_invalidates_later_value<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    let writer = Token::random();
    cache.begin(writer).await;
    cache.advance(WINDOW_MS).await;
    cache.load("v1").await;
    let running = {
        cache.advance(SUSPECT_LIFE_MS).await;
        cache.grant().await
    };
    assert_eq!(cache.end(writer).await, Ended::Expired);
    assert_eq!(cache.fill(running, "v1").await, Filled::Superseded);
}

/// The reply to the end of a window is lost. The repeat cannot know whether the first call still found the window, and a
/// writer that gets the reply `Closed` for an expired window rules out a stale read that did happen.
// shows: hazard D8, spec/cache.md
pub async fn repeated_end_never_reports_an_open_window<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    let [in_time, late] = [Token::random(), Token::random()];
    cache.begin(late).await;
    cache.advance(WINDOW_MS).await;
    cache.begin(in_time).await;
    for (writer, first) in [(late, Ended::Expired), (in_time, Ended::Closed)] {
        let ending = expiring();
        assert_eq!(cache.end_with(writer, &ending).await, first);
        assert_eq!(cache.end_with(writer, &ending).await, Ended::Expired);
    }
    let grant = cache.grant().await;
    assert_eq!(cache.fill(grant, "v2").await, Filled::Stored);
}

/// The entry was evicted inside the window (the one case in which a window does not hold): the writer gets an error.
// shows: cache::WriteWindow::renew
pub async fn end_of_evicted_window_reports_expiry<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    let writer = Token::random();
    cache.begin(writer).await;
    cache.evict().await;
    assert_eq!(cache.end(writer).await, Ended::Expired);
    assert_eq!(cache.bytes().await, None);
}

/// The old value may be served stale in a window, but no longer than after any other invalidation.
pub async fn window_does_not_extend_stale_retention<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    let writer = Token::random();
    cache.load("v1").await;
    cache.begin(writer).await;
    let until_ms = backend.now_ms() + RETAIN_MS;
    cache.advance(LEASE_MS).await;
    cache.end(writer).await;
    assert_eq!(cache.header().await.value.unwrap().hard_until_ms, until_ms);
}

/// A writer dies, and its transaction commits at the last moment: nothing invalidates its row, and the next loader asks a replica that
/// does not have it yet.
// shows: hazard BC1
pub async fn expired_window_requires_primary_read_for_replica_lag<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    let with_replicas = || Lease { lag_ms_max: LAG_MS, ..asked(Why::Miss) };
    let grant = granted(cache.lease_with(&with_replicas()).await);
    assert_eq!(cache.fill(grant, "v1").await, Filled::Stored);
    cache.begin(Token::random()).await;
    cache.advance(WINDOW_MS + SUSPECT_MS).await;
    assert!(granted(cache.lease_with(&with_replicas()).await).primary_required);
    cache.advance(LAG_MS).await;
    assert!(!granted(cache.lease_with(&with_replicas()).await).primary_required);
}
