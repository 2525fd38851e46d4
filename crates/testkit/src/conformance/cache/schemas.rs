//! Programs of different ages side by side, and bytes that are no entry at all.

use super::Backend;
use super::player::{LEASE_MS, Player, SCHEMA, asked, expiring, granted, hit};
use bytes::Bytes;
use evenkeel_protocol::cache::header::Entry;
use evenkeel_protocol::cache::steps::{Filled, Lease, Leased, Why};

fn other_schema() -> Lease {
    Lease { schema: SCHEMA + 1, ..asked(Why::Miss) }
}

/// During a rolling upgrade two programs overwrite each other's values, and each finds only what it cannot read.
// shows: hazard D23
pub async fn programs_with_two_schemas_keep_each_others_entries<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    let grant = cache.grant().await;
    assert_eq!(cache.lease_with(&other_schema()).await, Leased::OtherSchema);
    assert_eq!(cache.fill(grant, "v1").await, Filled::Stored);
    assert_eq!(cache.lease_with(&other_schema()).await, Leased::OtherSchema);
    assert_eq!(cache.read().await, hit("v1"));
    cache.purge().await;
    let taken_over = granted(cache.lease_with(&other_schema()).await);
    assert_eq!(cache.lease(Why::Miss).await, Leased::OtherSchema);
    assert_eq!(cache.fill(taken_over, "w1").await, Filled::Stored);
    assert_eq!(cache.header().await.schema, SCHEMA + 1);
}

/// The lease of one program expires, the other one takes the entry over, and the first stores bytes under the wrong schema.
// shows: hazard D23
pub async fn fill_under_another_schema_is_rejected<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    let slow = cache.grant().await;
    cache.advance(LEASE_MS).await;
    let other = granted(cache.lease_with(&other_schema()).await);
    assert_eq!(cache.fill(slow, "v1").await, Filled::Superseded);
    assert_eq!(cache.fill(other, "w1").await, Filled::Stored);
}

/// A newer program's entry cannot be read here; it is neither overwritten nor left standing by an invalidation.
// shows: hazard D23
pub async fn entry_of_a_newer_format_is_only_invalidated<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    cache.load("v1").await;
    let mut newer = cache.bytes().await.unwrap().to_vec();
    newer[0] += 1;
    let newer = Bytes::from(newer);
    cache.put(newer.clone()).await;
    assert_eq!(cache.lease(Why::Miss).await, Leased::OtherSchema);
    assert_eq!(cache.bytes().await, Some(newer));
    cache.invalidate_with(&expiring()).await;
    assert_eq!(cache.bytes().await, None);
}

/// Another program writes under our key, or an entry was truncated: it must not stay there forever.
pub async fn malformed_entry_is_overwritten<B: Backend>(backend: &B) {
    let cache = Player::new(backend);
    cache.load("v1").await;
    let whole = cache.bytes().await.unwrap();
    for rubbish in [Bytes::from_static(b"rubbish"), Bytes::new(), whole.slice(..40), whole.slice(..1)] {
        cache.put(rubbish.clone()).await;
        cache.expire().await;
        assert_eq!(cache.bytes().await, None, "{rubbish:?} survived an invalidation");
        cache.put(rubbish).await;
        cache.load("v2").await;
        assert_eq!(Entry::parse(cache.bytes().await.unwrap()).unwrap().payload, "v2");
    }
}
