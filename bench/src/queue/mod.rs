//! The delay queue, compared with the minimal commands and with other queues: memory per waiting job, throughput of enqueueing and handling,
//! CPU time of Redis, lateness, and the effect of a flood on other topics. The server runs on one core, one client on another; ours and the
//! peer alternate on the same server.

mod flood;
mod late;
mod memory;
mod ours;
mod peer;
mod sends;
mod sides;
mod work;

use crate::pin;
use crate::results::Keeper;
use crate::rounds::Plan;
use crate::row::Row;
use anyhow::Result;
use bytes::Bytes;
use std::time::Duration;

pub(crate) use peer::versions;

const BENCH: &str = "queue";
/// Bytes of a job's body.
const BODY_BYTES: usize = 100;
/// Jobs of one call.
const BULK: usize = 500;
/// Far enough away: nothing becomes due during a run.
const DELAY: Duration = Duration::from_secs(24 * 3600);
/// Shards of a topic that one process consumes as fast as it can.
const SHARDS: u16 = 4;

pub(crate) fn run(plan: &Plan, keeper: &mut Keeper) -> Result<()> {
    pin::this_thread(pin::CLIENT_CORE)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        if plan.asks_for("memory") {
            keeper.keep(gathered("memory", memory::run(plan).await))?;
        }
        if plan.asks_for("sends") {
            keeper.keep(gathered("jobs enqueued", sends::run(plan).await))?;
        }
        if plan.asks_for("work") {
            keeper.keep(gathered("jobs handled", work::run(plan).await))?;
        }
        if plan.asks_for("late") {
            keeper.keep(gathered("lateness", late::run(plan).await))?;
        }
        if plan.asks_for("flood") {
            keeper.keep(gathered("a flood", flood::run(plan).await))?;
        }
        keeper.keep(peer::missing().map(|what| Row::absent(BENCH, &what)))
    })
}

/// What one part has measured. Another one's processes may fail, and the rest counts nevertheless.
fn gathered(part: &str, measured: Result<Vec<Row>>) -> Vec<Row> {
    measured.unwrap_or_else(|error| vec![Row::absent(BENCH, &format!("{part} ({error:#})"))])
}

fn body() -> Bytes {
    Bytes::from_static(&[b'x'; BODY_BYTES])
}
