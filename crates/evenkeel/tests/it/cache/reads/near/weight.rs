//! `near_bytes` bounds the decoded values, however small they are in the store.

use super::super::db::Db;
use super::super::rig::Rig;
use super::near_with;
use evenkeel::cache::CacheBuilder;
use std::sync::{Arc, Weak};

on_both! {
    near_bytes_counts_decoded_values
    near_weight_counts_in_place_of_the_codec
    value_larger_than_its_shard_does_not_enter_near_cache
}

const BOUND: usize = 1 << 20;
/// Eighty of them are eight times the bound; compressed, they would all fit.
const VALUE_BYTES: usize = 100_000;

/// Values that only the near cache keeps in memory.
async fn kept(rig: &Rig, change: impl FnOnce(CacheBuilder<u64, String>) -> CacheBuilder<u64, String>) -> usize {
    let rows = near_with(&rig.process().await, |builder| change(builder.near(10_000).near_bytes(BOUND))).await;
    let db = Db::new();
    (0..80).for_each(|key| db.write(key, &"x".repeat(VALUE_BYTES)));
    let mut seen: Vec<Weak<String>> = Vec::new();
    for _ in 0..3 {
        for key in 0..80 {
            let value = rows.get(&key, |key| db.find(*key)).await.unwrap().unwrap();
            if !seen.iter().any(|known| known.as_ptr() == Arc::as_ptr(&value)) {
                seen.push(Arc::downgrade(&value));
            }
        }
        rows.until_idle().await;
    }
    seen.iter().filter(|value| value.strong_count() > 0).count()
}

// shows: hazard A33, spec/cache.md
async fn near_bytes_counts_decoded_values(rig: Rig) {
    let kept = kept(&rig, |builder| builder).await;
    assert!((5..=10).contains(&kept), "{kept} values of 100 kB are in 1 MiB");
}

// shows: hazard A33, spec/cache.md
async fn near_weight_counts_in_place_of_the_codec(rig: Rig) {
    let half = kept(&rig, |builder| builder.near_weight(|_| BOUND / 2 - 1_000)).await;
    let many = kept(&Rig::memory(), |builder| builder.near_weight(|_| 1_000)).await;
    assert_eq!((half, many), (2, 80));
}

// shows: hazard A33, spec/cache.md
async fn value_larger_than_its_shard_does_not_enter_near_cache(rig: Rig) {
    for weight in [BOUND, usize::MAX] {
        assert_eq!(kept(&rig, |builder| builder.near_weight(move |_| weight)).await, 0, "{weight}");
        rig.advance(std::time::Duration::from_secs(1)).await;
    }
}
