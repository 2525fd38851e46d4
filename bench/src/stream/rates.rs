//! Entries a second from the first append to the last handler, by order, number of keys and number of consumers.

use super::side::{Side, server};
use super::{BENCH, KEYS, ORDERS, Order, RAW};
use crate::rounds::{Plan, compared};
use crate::row::Row;
use anyhow::Result;
use std::time::Duration;

const UNIT: &str = "entries/s";
const WHY: &str =
    "ours also numbers the appends, checks lease and fence in a script, and runs each entry in a task of its own";
const KEY_COUNTS: [u64; 5] = [1, 10, 100, KEYS, 10_000];
const CONSUMERS: [usize; 2] = [1, 2];
/// Longer than a run.
pub(super) const LEASE: Duration = Duration::from_secs(30);

pub(super) async fn run(plan: &Plan) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for order in ORDERS {
        for consumers in CONSUMERS {
            for keys in KEY_COUNTS.into_iter().filter(|keys| !plan.quick || [1, KEYS].contains(keys)) {
                rows.push(case(plan, order, keys, consumers).await?);
            }
        }
    }
    Ok(rows)
}

async fn case(plan: &Plan, order: Order, keys: u64, consumers: usize) -> Result<Row> {
    let redis = server().await?;
    let mut ours = Side::start(&redis, Some(order), LEASE, consumers).await?;
    let mut raw = Side::start(&redis, None, LEASE, consumers).await?;
    let entries = entries(plan);
    let mut rounds = Vec::new();
    for round in 0..plan.rounds.div_ceil(3) {
        rounds.push(if round % 2 == 0 {
            let first = ours.rate(entries, keys).await?;
            (first, raw.rate(entries, keys).await?)
        } else {
            let first = raw.rate(entries, keys).await?;
            (ours.rate(entries, keys).await?, first)
        });
    }
    let title = format!("{}, {keys} keys, {consumers} consumers", title(order));
    Ok(Row::compared(BENCH, title, UNIT, RAW, compared(&rounds)).where_behind(WHY))
}

pub(super) fn title(order: Order) -> String {
    format!("entries appended and handled, {}", order.words())
}

/// What ours handles in about a second.
pub(super) fn entries(plan: &Plan) -> usize {
    if plan.quick { 20_000 } else { 50_000 }
}
