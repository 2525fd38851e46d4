//! The model and Redis, driven side by side by random steps: leases, fills, invalidations, windows, repeats, time, evictions,
//! failovers and foreign bytes.

use testkit::conformance::cache::side_by_side::{SEED_VARIABLE, Tally, model_and_redis_agree, seeds};

const STEPS: usize = 10_000;

#[tokio::test]
async fn the_model_and_redis_give_the_same_answers() {
    let mut tally = Tally::default();
    for seed in seeds(&[1, 2]) {
        tally.add(model_and_redis_agree(seed, STEPS).await);
    }
    let replayed = std::env::var(SEED_VARIABLE).is_ok();
    assert!(replayed || tally.missing().is_empty(), "never met: {:?} in {tally:?}", tally.missing());
}
