//! Invalidations of entries that are there, against the `DEL` of a hand-made cache.

use super::server::Server;
use super::values;
use super::{BENCH, KEYS, TASKS};
use crate::load::rate;
use crate::rounds::{Plan, compare};
use crate::row::Row;
use anyhow::Result;
use bytes::Bytes;
use evenkeel::Keel;
use evenkeel::cache::Cache;
use redis::aio::MultiplexedConnection;
use std::time::Duration;

pub(crate) async fn run(plan: &Plan, server: &Server) -> Result<Vec<Row>> {
    let keel = Keel::connect(&server.url()).await?;
    let cache = values::raw(&keel, "invalidate").await?;
    values::fill(&cache, values::bytes).await?;
    let mut rows = Vec::new();
    for tasks in TASKS {
        let found =
            compare(plan, |span| invalidated(&cache, tasks, span), |span| deleted(&server.raw, tasks, span)).await?;
        rows.push(Row::compared(BENCH, format!("invalidate, {tasks} tasks"), "writes/s", "DEL", found));
    }
    Ok(rows)
}

async fn invalidated(cache: &Cache<u64, Bytes>, tasks: usize, span: Duration) -> Result<f64> {
    let cache = cache.clone();
    rate(tasks, span, move |random| {
        let cache = cache.clone();
        async move {
            cache.invalidate(&(random % KEYS)).await?;
            Ok(())
        }
    })
    .await
}

/// Of keys that are not there any more after the first time; an invalidation always finds its entry.
async fn deleted(raw: &MultiplexedConnection, tasks: usize, span: Duration) -> Result<f64> {
    let raw = raw.clone();
    rate(tasks, span, move |random| {
        let mut raw = raw.clone();
        async move {
            let key = format!("evenkeel:d:bench:{{{}}}", random % KEYS);
            redis::cmd("DEL").arg(key).query_async::<()>(&mut raw).await?;
            Ok(())
        }
    })
    .await
}
