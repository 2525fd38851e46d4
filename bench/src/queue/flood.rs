//! A million jobs that are due at the same moment: the longest script on Redis, and the effect on another topic.

use super::BENCH;
use super::ours::{Begun, Ours, lateness, now_ms};
use super::peer::Question;
use super::sides::Sides;
use crate::rounds::Plan;
use crate::row::Row;
use anyhow::{Context, Result};
use std::time::{Duration, Instant};

/// Jobs of the other topic.
const OTHERS_PER_SECOND: u64 = 200;
/// How long the other topic is watched before the flood, and how long it goes on after its beginning.
const BEFORE_MS: u64 = 5_000;
const DURING_MS: u64 = 10_000;
/// All of them wait before the first is due: these say how long sending takes.
const PACE: usize = 20_000;
const MARGIN_MS: u64 = 2_000;
/// Scripts that take less are not looked at, in microseconds.
const SLOW_US: &str = "200";

pub(crate) async fn run(plan: &Plan) -> Result<Vec<Row>> {
    let jobs = if plan.quick { 100_000 } else { 1_000_000 };
    let sides = Sides::alone("flood", 1).await?;
    let flood = &sides.ours;
    let other = Ours::open(&sides.redis.url(), "other", 1).await?;
    let pace = Ours::open(&sides.redis.url(), "pace", 1).await?;
    let began = Instant::now();
    pace.ask(Question { r#do: "fill", jobs: PACE, ..Question::default() }).await?;
    let span = began.elapsed().mul_f64(1.4 * jobs as f64 / PACE as f64);
    let due = now_ms() + u64::try_from(span.as_millis())? + MARGIN_MS + BEFORE_MS;
    let began = Instant::now();
    flood.bulk(jobs, move |_| Some(due)).await?;
    let sent = began.elapsed();
    let others = usize::try_from((BEFORE_MS + DURING_MS) * OTHERS_PER_SECOND / 1_000)?;
    let first = due - BEFORE_MS;
    other.bulk(others, move |number| Some(first + number * 1_000 / OTHERS_PER_SECOND)).await?;
    for (name, value) in [("slowlog-log-slower-than", SLOW_US), ("slowlog-max-len", "100000")] {
        sides.redis.command::<()>(&["CONFIG", "SET", name, value]).await?;
    }
    sides.redis.command::<()>(&["SLOWLOG", "RESET"]).await?;
    let due_at = Instant::now() + Duration::from_millis(due.saturating_sub(now_ms()));
    let (begun, felt) = tokio::try_join!(flood.until(jobs), other.until(others))?;
    let longest = longest_us(&sides).await?;
    let last = begun.iter().map(|begun| begun.at).max().context("nothing began")?;
    let rate = jobs as f64 / last.saturating_duration_since(due_at).as_secs_f64();
    let (during, before): (Vec<Begun>, Vec<Begun>) = felt.into_iter().partition(|begun| begun.at >= due_at);
    let (before, during) = (lateness(before)?, lateness(during)?);
    let row =
        |what: &str, unit, value| Row::alone(BENCH, format!("{jobs} jobs due at once: {what}"), unit, value, None);
    Ok(vec![
        row("sent", "jobs/s", jobs as f64 / sent.as_secs_f64()),
        row("handled", "jobs/s", rate),
        row("longest script", "ms", longest as f64 / 1e3),
        row("another topic's lateness before, p50", "ms", before.p50),
        row("another topic's lateness before, p99", "ms", before.p99),
        row("another topic's lateness meanwhile, p50", "ms", during.p50),
        row("another topic's lateness meanwhile, p99", "ms", during.p99),
        row("another topic's lateness meanwhile, longest", "ms", during.max),
    ])
}

/// How long the slowest of what Redis noted as slow took.
async fn longest_us(sides: &Sides) -> Result<i64> {
    let log: Vec<redis::Value> = sides.redis.command(&["SLOWLOG", "GET", "-1"]).await?;
    let took = log.iter().filter_map(|entry| match entry {
        // Its number, when it was, and how long it took.
        redis::Value::Array(parts) => match parts.get(2) {
            Some(redis::Value::Int(us)) => Some(*us),
            _ => None,
        },
        _ => None,
    });
    Ok(took.max().unwrap_or_default())
}
