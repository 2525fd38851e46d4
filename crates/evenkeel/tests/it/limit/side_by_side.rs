//! The model of limits and their script, compared on the same random calls.

use testkit::conformance::differential::compare;
use testkit::conformance::limit::side_by_side::Limits;

// shows: M1, M4, limit::Limit
#[tokio::test]
async fn model_and_script_of_limits_reply_alike() -> anyhow::Result<()> {
    compare::<Limits>(3_000).await
}
