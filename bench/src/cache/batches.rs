//! Reads of a hundred keys at once that all hit, against one pipeline of a hundred `GET`s.

use super::server::{Server, key_of};
use super::values;
use super::{BENCH, KEYS};
use crate::load::rate;
use crate::rounds::{Plan, compare};
use crate::row::Row;
use anyhow::{Result, ensure};
use bytes::Bytes;
use evenkeel::Keel;
use evenkeel::cache::Cache;
use redis::Pipeline;
use redis::aio::MultiplexedConnection;
use std::future::ready;
use std::time::Duration;

/// Keys of one read.
const BATCH: u64 = 100;
const TASKS: [usize; 2] = [1, 16];

pub(crate) async fn run(plan: &Plan, server: &Server) -> Result<Vec<Row>> {
    let keel = Keel::connect(&server.url()).await?;
    let cache = values::raw(&keel, "batch").await?;
    values::fill(&cache, values::bytes).await?;
    let mut rows = Vec::new();
    for tasks in TASKS {
        let found = compare(plan, |span| many(&cache, tasks, span), |span| pipeline(&server.raw, tasks, span)).await?;
        let name = format!("get_many({BATCH}), all hits, bytes, {tasks} tasks");
        rows.push(Row::compared(BENCH, name, "batches/s", "a pipeline of GETs", found));
    }
    Ok(rows)
}

/// The keys of one read: neighbors, so none comes twice.
fn keys(random: u64) -> impl Iterator<Item = u64> {
    (0..BATCH).map(move |number| (random + number) % KEYS)
}

async fn many(cache: &Cache<u64, Bytes>, tasks: usize, span: Duration) -> Result<f64> {
    let cache = cache.clone();
    rate(tasks, span, move |random| {
        let cache = cache.clone();
        async move {
            let keys: Vec<u64> = keys(random % KEYS).collect();
            let missing = |_| ready(Err::<Vec<(u64, Bytes)>, _>("a filled key was not found"));
            let found = cache.get_many(&keys, missing).await?;
            ensure!(found.len() == keys.len(), "{} of {BATCH} keys were found", found.len());
            Ok(())
        }
    })
    .await
}

async fn pipeline(raw: &MultiplexedConnection, tasks: usize, span: Duration) -> Result<f64> {
    let raw = raw.clone();
    rate(tasks, span, move |random| {
        let mut raw = raw.clone();
        async move {
            let mut pipeline = Pipeline::with_capacity(usize::try_from(BATCH)?);
            for key in keys(random % KEYS) {
                pipeline.cmd("GET").arg(key_of(key));
            }
            let found: Vec<Option<Bytes>> = pipeline.query_async(&mut raw).await?;
            ensure!(found.iter().all(Option::is_some), "a filled key was not found");
            Ok(())
        }
    })
    .await
}
