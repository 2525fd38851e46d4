//! The model and the scripts, compared on the same random calls, with the invariants I1-I9 of all that can be read and of
//! all replies.

use testkit::conformance::differential::compare;
use testkit::conformance::queue::side_by_side::Queues;

// shows: Q1, T2, K2, step::Memory, spec/queue.md, lock::MemoryLock
#[tokio::test]
async fn model_and_scripts_reply_alike() -> anyhow::Result<()> {
    compare::<Queues>(10_000).await
}
