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

use crate::peer::{Peers, Process};
use crate::pin;
use crate::results::Keeper;
use crate::rounds::Plan;
use anyhow::Result;
use server::Server;

const BENCH: &str = "cache";

/// Bytes of a value.
const VALUE_BYTES: usize = 100;
/// Keys that are read.
const KEYS: u64 = 100_000;
/// Numbers of concurrent tasks.
const TASKS: [usize; 3] = [1, 64, 256];

pub(crate) fn run(plan: &Plan, keeper: &mut Keeper) -> Result<()> {
    pin::this_thread(pin::CLIENT_CORE)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let server = Server::start().await?;
        // First: the peer's process has done nothing else either, and memory that much else has gone through is slower.
        let rust = Process::of(Peers::rust(&server.url())?);
        if plan.asks_for("near") {
            keeper.keep(near::run(plan, &server, &rust).await?)?;
        }
        if plan.asks_for("reads") {
            keeper.keep(reads::run(plan, &server).await?)?;
        }
        if plan.asks_for("misses") {
            keeper.keep(misses::run(plan, &server).await?)?;
        }
        if plan.asks_for("invalidations") {
            keeper.keep(invalidations::run(plan, &server).await?)?;
        }
        if plan.asks_for("batches") {
            keeper.keep(batches::run(plan, &server).await?)?;
        }
        if plan.asks_for("peers") {
            keeper.keep(peers::run(plan, &server, &rust).await?)?;
        }
        // The last one on this server: it is flushed.
        if plan.asks_for("flood") {
            keeper.keep(flood::run(plan, &server).await?)?;
        }
        if plan.asks_for("recovery") {
            keeper.keep(recovery::run(plan).await?)?;
        }
        Ok(())
    })
}
