//! Streams: entries appended and handled, compared with `XADD`, `XREADGROUP` and `XACK` through the same client, and with other consumers;
//! latency at half of the highest rate; the time after which the entries of a killed consumer are handled by another one.
//!
//! The server runs on one core; producer and consumers are processes of their own and share the other one. Ours and the peer alternate on the
//! same server.

pub(crate) mod consumer;
mod late;
mod load;
mod peers;
mod process;
mod rates;
mod raw;
mod side;
mod takeover;

use crate::pin;
use crate::results::Keeper;
use crate::rounds::Plan;
use crate::row::Row;
use anyhow::Result;
use serde::{Deserialize, Serialize};

pub(crate) use peers::versions;

const BENCH: &str = "stream";
const GROUP: &str = "bench";
/// What ours is compared with.
const RAW: &str = "XADD, XREADGROUP, XACK";
/// Partitions of ours.
const PARTITIONS: u16 = 4;
/// Entries that a consumer handles at once, and that a plain one reads at once.
const CONCURRENCY: usize = 100;
/// Entries of one append.
const BULK: usize = 500;
/// Bytes of the body of an entry.
const BODY_BYTES: usize = 100;
/// The number of keys where it does not vary.
const KEYS: u64 = 1_000;

/// In which order a group of ours handles entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Order {
    Unordered,
    PerKey,
}

const ORDERS: [Order; 2] = [Order::Unordered, Order::PerKey];

impl Order {
    fn words(self) -> &'static str {
        match self {
            Self::Unordered => "unordered",
            Self::PerKey => "in order per key",
        }
    }
}

pub(crate) fn run(plan: &Plan, keeper: &mut Keeper) -> Result<()> {
    pin::this_thread(pin::CLIENT_CORE)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        if plan.asks_for("rates") {
            keeper.keep(gathered("entries appended and handled", rates::run(plan).await))?;
        }
        if plan.asks_for("late") {
            keeper.keep(gathered("latency", late::run(plan).await))?;
        }
        if plan.asks_for("takeover") {
            keeper.keep(gathered("take-over", takeover::run(plan).await))?;
        }
        if plan.asks_for("peers") {
            keeper.keep(gathered("other consumers", peers::run(plan).await))?;
        }
        Ok(())
    })
}

/// What one part has measured. Another one's processes may fail, and the rest counts nevertheless.
fn gathered(part: &str, measured: Result<Vec<Row>>) -> Vec<Row> {
    measured.unwrap_or_else(|error| vec![Row::absent(BENCH, &format!("{part} ({error:#})"))])
}
