//! The near cache: which values it serves, which events drop a value, and its guarantees.

mod conformance;
mod connections;
mod doubt;
mod permission;
mod raced;
mod stand;
mod storm;
mod wake;
mod weight;

use super::db::Db;
use super::rig::{Rows, find};
use evenkeel::Keel;
use evenkeel::cache::{CacheBuilder, Tier};
use std::time::Duration;

/// The cache `row` with room for a hundred near entries.
async fn near(keel: &Keel) -> Rows {
    near_with(keel, |builder| builder).await
}

/// The cache `row` with a near cache and these settings.
async fn near_with(keel: &Keel, change: impl FnOnce(CacheBuilder<u64, String>) -> CacheBuilder<u64, String>) -> Rows {
    change(keel.cache("row").ttl(Duration::from_secs(600)).ttl_jitter(0.0).near(100)).open().await.unwrap()
}

/// Reads row 1 until it is near: the first read loads it, or finds it in the store, and the next one stores it near.
async fn fill_near(rows: &Rows, db: &Db) {
    for _ in 0..3 {
        if tier(rows, db).await == Tier::Near {
            return;
        }
    }
    panic!("row 1 does not come near");
}

async fn tier(rows: &Rows, db: &Db) -> Tier {
    find(rows, db).await.unwrap().tier
}

/// Waits until this process has received all notifications that the store has sent: a reply arrives after them.
async fn notified(keel: &Keel) {
    if let Some(link) = keel.link() {
        link.command(b"1", &redis::cmd("PING")).await.unwrap();
    }
}
