//! The cache over Redis against plain commands through the same client: 100-byte values, uniform over 100,000 keys, the server
//! on one core and one client thread on another.

mod batches;
mod flood;
mod invalidations;
mod misses;
mod near;
mod peers;
mod reads;
mod recovery;
mod server;
mod values;

use crate::pin;
use crate::rounds::Plan;
use crate::row::Row;
use anyhow::Result;
use server::Server;

const BENCH: &str = "cache";

/// Bytes of a value.
const VALUE_BYTES: usize = 100;
/// Keys that are read.
const KEYS: u64 = 100_000;
/// Numbers of concurrent tasks.
const TASKS: [usize; 3] = [1, 64, 256];

pub(crate) fn run(plan: &Plan) -> Result<Vec<Row>> {
    pin::this_thread(pin::CLIENT_CORE)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let server = Server::start().await?;
        let mut rows = reads::run(plan, &server).await?;
        rows.extend(misses::run(plan, &server).await?);
        rows.extend(invalidations::run(plan, &server).await?);
        rows.extend(batches::run(plan, &server).await?);
        let rust = peers::Process::start(&server)?;
        rows.extend(near::run(plan, &server, &rust).await?);
        rows.extend(peers::run(plan, &server, &rust).await?);
        // The last one on this server: it is flushed.
        rows.extend(flood::run(plan, &server).await?);
        rows.extend(recovery::run(plan).await?);
        Ok(rows)
    })
}
