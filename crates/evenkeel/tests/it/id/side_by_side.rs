//! The model of worker ids and its scripts, compared on the same random calls.

use testkit::conformance::differential::compare;
use testkit::conformance::id::side_by_side::Scopes;

// shows: I1
#[tokio::test]
async fn model_and_scripts_of_worker_ids_reply_alike() -> anyhow::Result<()> {
    compare::<Scopes>(5_000).await
}
