//! The model of pools and their scripts, driven side by side by random calls.

use testkit::conformance::cache::side_by_side::{SEED_VARIABLE, seeds};
use testkit::conformance::pool::side_by_side::{Tally, pools_agree};

const STEPS: usize = 5_000;

#[tokio::test]
async fn the_model_and_the_scripts_of_pools_give_the_same_answers() -> anyhow::Result<()> {
    let mut tally = Tally::default();
    for seed in seeds(&[1, 2]) {
        tally.add(pools_agree(seed, STEPS).await?);
    }
    let replayed = std::env::var(SEED_VARIABLE).is_ok();
    assert!(replayed || tally.missing().is_empty(), "never met: {:?} in {tally:?}", tally.missing());
    Ok(())
}
