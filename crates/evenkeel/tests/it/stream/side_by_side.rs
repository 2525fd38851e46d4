//! The model and the scripts, compared on the same random calls.

use testkit::conformance::differential::compare;
use testkit::conformance::stream::side_by_side::Streams;

// shows: Q1, T2, K2, step::Memory, spec/queue.md, lock::MemoryLock
#[tokio::test]
async fn model_and_scripts_reply_alike() -> anyhow::Result<()> {
    compare::<Streams>(3_000).await
}
