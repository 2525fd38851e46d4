//! The time from the append to the handler, at half of the rate that ours reaches.

use super::rates::{LEASE, entries};
use super::side::{Side, server};
use super::{BENCH, KEYS, ORDERS, Order, RAW};
use crate::rounds::{Plan, compared, median};
use crate::row::Row;
use anyhow::Result;
use std::time::Duration;

const UNIT: &str = "ms";
const WHY: &str = "a consumer of ours waits for new entries in one call and reads them in the next";
/// Latency is measured at this part of the rate: a backlog that only grows has no percentile.
const LOAD: f64 = 0.5;
const RATE_ROUNDS: usize = 3;

pub(super) async fn run(plan: &Plan) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for order in ORDERS {
        rows.extend(case(plan, order).await?);
    }
    Ok(rows)
}

async fn case(plan: &Plan, order: Order) -> Result<Vec<Row>> {
    let redis = server().await?;
    let mut ours = Side::start(&redis, Some(order), LEASE, 1).await?;
    let mut raw = Side::start(&redis, None, LEASE, 1).await?;
    let mut rates = Vec::new();
    for _ in 0..RATE_ROUNDS {
        rates.push(ours.rate(entries(plan), KEYS).await?);
    }
    let per_second = median(rates) * LOAD;
    let span = if plan.quick { Duration::from_secs(2) } else { Duration::from_secs(5) };
    let mut rounds = Vec::new();
    for _ in 0..plan.rounds.div_ceil(4) {
        rounds.push((ours.late(per_second, span).await?, raw.late(per_second, span).await?));
    }
    let row = |part: &str, of: fn(&super::consumer::Report) -> u64| {
        let pairs: Vec<(f64, f64)> =
            rounds.iter().map(|(ours, raw)| (of(ours) as f64 / 1e3, of(raw) as f64 / 1e3)).collect();
        let title = format!("from append to handler at {per_second:.0}/s, {}, {part}", order.words());
        Row::compared(BENCH, title, UNIT, RAW, compared(&pairs)).where_behind(WHY)
    };
    Ok(vec![row("p50", |report| report.p50_us), row("p99", |report| report.p99_us)])
}
