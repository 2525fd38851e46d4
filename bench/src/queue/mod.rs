//! The delay queue: what a waiting job takes, and how fast jobs are taken in, against the fewest commands that could do it. The
//! server is on one core, one client thread on another. Rows with consumers, and with peers, are to come.

mod memory;
mod sends;

use crate::pin;
use crate::rounds::Plan;
use crate::row::Row;
use anyhow::Result;
use bytes::Bytes;
use evenkeel::Keel;
use evenkeel::codec::Raw;
use evenkeel::queue::Queue;
use std::time::Duration;
use testkit::servers::{Redis, RedisOptions};

const BENCH: &str = "queue";
/// Bytes of a job's body.
const BODY_BYTES: usize = 100;
/// Jobs of one call.
const BULK: usize = 500;
/// Far enough away: nothing becomes due during a run.
const DELAY: Duration = Duration::from_secs(24 * 3600);

pub(crate) fn run(plan: &Plan) -> Result<Vec<Row>> {
    pin::this_thread(pin::CLIENT_CORE)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut rows = memory::run(plan).await?;
        rows.extend(sends::run(plan).await?);
        Ok(rows)
    })
}

/// A Redis of its own on its core, and an empty queue on it.
async fn opened() -> Result<(Redis, Queue<Bytes>)> {
    let redis = Redis::start(RedisOptions::new()).await?;
    pin::process(redis.process_id(), pin::SERVER_CORE)?;
    let keel = Keel::connect(&redis.url()).await?;
    let queue = keel.queue::<Bytes>("bench").codec(Raw).build().await?;
    Ok((redis, queue))
}

fn body() -> Bytes {
    Bytes::from_static(&[b'x'; BODY_BYTES])
}

/// One call with as many jobs as a step takes.
async fn send_many(queue: &Queue<Bytes>, body: &Bytes) -> Result<()> {
    queue.enqueue_all((0..BULK).map(|_| queue.job(body).delay(DELAY))).await?;
    Ok(())
}
