//! The model and the scripts, driven side by side by random calls.

use testkit::conformance::cache::side_by_side::{SEED_VARIABLE, seeds};
use testkit::conformance::lock::side_by_side::{Tally, model_and_redis_agree};

const STEPS: usize = 5_000;

#[tokio::test]
async fn the_model_and_the_scripts_give_the_same_answers() -> anyhow::Result<()> {
    let mut tally = Tally::default();
    for seed in seeds(&[1, 2]) {
        tally.add(model_and_redis_agree(seed, STEPS).await?);
    }
    let replayed = std::env::var(SEED_VARIABLE).is_ok();
    assert!(replayed || tally.missing().is_empty(), "never met: {:?} in {tally:?}", tally.missing());
    Ok(())
}
