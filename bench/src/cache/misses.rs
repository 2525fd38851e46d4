//! Reads that miss (read, lease, load, fill), compared with an unprotected hand-made cache (`GET`, load, `SET`).

use super::server::Server;
use super::values;
use super::{BENCH, VALUE_BYTES};
use crate::load::rate;
use crate::rounds::{Plan, compare};
use crate::row::Row;
use anyhow::{Result, ensure};
use bytes::Bytes;
use evenkeel::Keel;
use evenkeel::cache::Cache;
use redis::aio::MultiplexedConnection;
use std::time::Duration;

const TASKS: [usize; 2] = [1, 64];
const TTL_MS: u64 = 3_600_000;

pub(crate) async fn run(plan: &Plan, server: &Server) -> Result<Vec<Row>> {
    let keel = Keel::connect(&server.url()).await?;
    let cache = values::raw(&keel, "miss").await?;
    let mut rows = Vec::new();
    for tasks in TASKS {
        let found = compare(plan, |span| missed(&cache, tasks, span), |span| by_hand(&server.raw, tasks, span)).await?;
        rows.push(Row::compared(BENCH, format!("miss, bytes, {tasks} tasks"), "reads/s", "GET + SET PX", found));
    }
    Ok(rows)
}

/// Random keys out of 2^64, which no earlier read has used.
async fn missed(cache: &Cache<u64, Bytes>, tasks: usize, span: Duration) -> Result<f64> {
    let (cache, salt) = (cache.clone(), rand::random::<u64>());
    rate(tasks, span, move |random| {
        let cache = cache.clone();
        async move {
            let value = cache.get(&(random ^ salt), |_| values::bytes()).await?;
            ensure!(value.is_some_and(|value| value.len() == VALUE_BYTES), "a load was lost");
            Ok(())
        }
    })
    .await
}

async fn by_hand(raw: &MultiplexedConnection, tasks: usize, span: Duration) -> Result<f64> {
    let (raw, salt) = (raw.clone(), rand::random::<u64>());
    rate(tasks, span, move |random| {
        let mut raw = raw.clone();
        async move {
            let key = format!("evenkeel:m:bench:{{{}}}", random ^ salt);
            let found: Option<Bytes> = redis::cmd("GET").arg(&key).query_async(&mut raw).await?;
            ensure!(found.is_none(), "a new key was found");
            let value: &[u8] = &[b'x'; VALUE_BYTES];
            redis::cmd("SET").arg(&key).arg(value).arg("PX").arg(TTL_MS).query_async::<()>(&mut raw).await?;
            Ok(())
        }
    })
    .await
}
