//! The model and Redis, compared on the same random steps: leases, fills, invalidations, windows, repeats, time, evictions,
//! failovers and foreign bytes.

use testkit::conformance::cache::side_by_side::Caches;
use testkit::conformance::differential::compare;

// shows: hazard D16, spec/cache.md
#[tokio::test]
async fn model_and_redis_reply_alike() -> anyhow::Result<()> {
    compare::<Caches>(3_000).await
}
