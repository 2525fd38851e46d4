//! The model of pools and their scripts, compared on the same random calls.

use testkit::conformance::differential::compare;
use testkit::conformance::pool::side_by_side::Pools;

// shows: K7, step::Memory
#[tokio::test]
async fn model_and_scripts_of_pools_reply_alike() -> anyhow::Result<()> {
    compare::<Pools>(5_000).await
}
