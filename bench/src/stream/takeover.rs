//! How long entries wait when their consumer is killed.

use super::side::{Side, server};
use super::{BENCH, ORDERS};
use crate::rounds::{Plan, median};
use crate::row::Row;
use anyhow::Result;
use std::time::Duration;

const LEASE: Duration = Duration::from_secs(1);
const PER_SECOND: f64 = 1_000.0;
/// Entries are appended for so long before and after the death.
const BEFORE: Duration = Duration::from_millis(700);
const AFTER: Duration = Duration::from_secs(4);

pub(super) async fn run(plan: &Plan) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for order in ORDERS {
        let redis = server().await?;
        let mut side = Side::start(&redis, Some(order), LEASE, 2).await?;
        let mut times = Vec::new();
        for round in 0..if plan.quick { 2 } else { 7 } {
            if round > 0 {
                side.add().await?;
                side.warm_up().await?;
            }
            times.push(side.takeover(PER_SECOND, BEFORE, AFTER).await?.as_secs_f64());
        }
        let longest = times.iter().copied().fold(0.0, f64::max);
        let row = |part: &str, value| {
            let title = format!(
                "one of two consumers killed with SIGKILL, leases of {LEASE:?}, {PER_SECOND} entries/s, {}: from append to handler, longest of an \
                 entry, {part}",
                order.words()
            );
            Row::alone(BENCH, title, "s", value, None)
        };
        rows.extend([row("median of the kills", median(times.clone())), row("longest of the kills", longest)]);
    }
    Ok(rows)
}
