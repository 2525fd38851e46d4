//! Loaders and writers over a network that delays, repeats and loses calls: no read returns an older value than its guarantee permits.

use super::histories::SEEDS;
use testkit::conformance::cache::schedules::{Writing, nothing_old_is_served};
use testkit::conformance::cache::{InMemory, OnRedis};
use testkit::conformance::differential::seeds;

const USUAL: &[u64] = &[1, 2, 3, 4, 5, 6, 7, 8];
const STEPS: usize = 20_000;
const STEPS_ON_REDIS: usize = 4_000;

async fn in_memory(writing: Writing) {
    for seed in seeds(USUAL) {
        let served = nothing_old_is_served(&InMemory::default(), writing, seed, STEPS).await;
        assert!(served > STEPS / 100, "seed {seed}: a value was served after {served} of {STEPS} steps only");
    }
}

// shows: C1, hazard D1, cache::Freshness::Eventual
#[tokio::test]
async fn no_schedule_serves_older_than_answered_invalidation() {
    in_memory(Writing::Invalidate).await;
}

/// A replica lacks the invalidated write: the entry had forgotten the invalidation, its writer gave a version or knew of no replicas, or
/// another loader's replicas lag less.
// shows: C1, hazard BC1, cache::Cache::invalidate_at
#[tokio::test]
async fn no_schedule_with_replicas_serves_older_than_answered_invalidation() {
    in_memory(Writing::InvalidateOnReplicas).await;
}

// shows: cache::OpenWindow::check, cache::WriteWindow::check
#[tokio::test]
async fn no_schedule_with_windows_serves_older_than_the_row() {
    in_memory(Writing::Window).await;
}

// shows: C1, cache::Cache
#[tokio::test]
async fn no_schedule_on_redis_serves_an_old_value() {
    for writing in [Writing::Invalidate, Writing::InvalidateOnReplicas, Writing::Window] {
        for seed in seeds(&[]) {
            nothing_old_is_served(&OnRedis::start().await.unwrap(), writing, seed, STEPS_ON_REDIS).await;
        }
    }
}

/// The long run of `cargo xtask sim cache`.
#[tokio::test]
#[ignore = "the long run, for `cargo xtask sim cache`"]
async fn long_run() {
    let Ok(seeds) = std::env::var(SEEDS) else { return };
    let (first, last) = seeds.split_once("..").unwrap();
    let (first, last): (u64, u64) = (first.parse().unwrap(), last.parse().unwrap());
    let mut served = 0;
    for seed in first..=last {
        served += nothing_old_is_served(&InMemory::default(), Writing::InvalidateOnReplicas, seed, STEPS).await;
    }
    let schedules = last - first + 1;
    println!("{}", serde_json::json!({ "schedules": schedules, "schedule_seed": last, "served": served }));
}
