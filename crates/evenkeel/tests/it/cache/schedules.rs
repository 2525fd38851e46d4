//! Loaders and writers over a network that delays, repeats and loses calls: no read returns an older value than its guarantee permits.

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

#[tokio::test]
async fn no_schedule_serves_older_than_answered_invalidation() {
    in_memory(Writing::Invalidate).await;
}

#[tokio::test]
async fn no_schedule_with_windows_serves_older_than_the_row() {
    in_memory(Writing::Window).await;
}

#[tokio::test]
async fn no_schedule_on_redis_serves_an_old_value() {
    for writing in [Writing::Invalidate, Writing::Window] {
        for seed in seeds(&[]) {
            nothing_old_is_served(&OnRedis::start().await.unwrap(), writing, seed, STEPS_ON_REDIS).await;
        }
    }
}
