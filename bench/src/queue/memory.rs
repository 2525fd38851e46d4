//! Bytes of Redis's memory for each waiting job: everything, its index entry included.

use super::{BENCH, BODY_BYTES, BULK, body, opened, send_many};
use crate::rounds::Plan;
use crate::row::Row;
use anyhow::{Context, Result};
use testkit::servers::Redis;

pub(crate) async fn run(plan: &Plan) -> Result<Vec<Row>> {
    let jobs = if plan.quick { 20_000 } else { 200_000 };
    let (redis, queue) = opened().await?;
    let body = body();
    // The index has its final form, and the scripts are loaded.
    send_many(&queue, &body).await?;
    let before = used(&redis).await?;
    for _ in 0..jobs / BULK {
        send_many(&queue, &body).await?;
    }
    let bytes = (used(&redis).await? - before) / u32::try_from(jobs).map(f64::from)?;
    let row = format!("a waiting job with a body of {BODY_BYTES} bytes, {jobs} of them");
    Ok(vec![Row::alone(BENCH, row, "bytes", bytes, None)])
}

async fn used(redis: &Redis) -> Result<f64> {
    let memory: String = redis.command(&["INFO", "memory"]).await?;
    let used =
        memory.lines().find_map(|line| line.strip_prefix("used_memory:")).context("INFO names no used_memory")?;
    Ok(used.trim().parse()?)
}
