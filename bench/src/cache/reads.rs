//! Reads that hit: the link alone, the cache with bytes, with JSON, with tracing on.

use super::server::{Server, key_of};
use super::values::{self, User, no_load};
use super::{BENCH, KEYS, TASKS, VALUE_BYTES};
use crate::load::rate;
use crate::rounds::{Plan, compare};
use crate::row::Row;
use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use evenkeel::Keel;
use evenkeel::cache::Cache;
use evenkeel::link::Link;
use redis::aio::MultiplexedConnection;
use std::time::Duration;

const UNIT: &str = "reads/s";
const PEER: &str = "GET";
/// Where the rows that differ in one thing only are measured.
const MANY: usize = 256;

pub(crate) async fn run(plan: &Plan, server: &Server) -> Result<Vec<Row>> {
    let keel = Keel::connect(&server.url()).await?;
    let link = keel.link().context("a keel on Redis has a link")?.clone();
    let (raw, json) = (values::raw(&keel, "raw").await?, values::json(&keel, "json").await?);
    values::fill(&raw, values::bytes).await?;
    values::fill(&json, values::user).await?;
    let mut rows = Vec::new();
    for tasks in TASKS {
        let found = compare(plan, |span| bytes(&raw, tasks, span), |span| plain(&server.raw, tasks, span)).await?;
        rows.push(row(format!("hit, bytes, {tasks} tasks"), found));
    }
    let found = compare(plan, |span| linked(&link, MANY, span), |span| plain(&server.raw, MANY, span)).await?;
    rows.push(row(format!("GET through the link, {MANY} tasks"), found));
    let found = compare(plan, |span| users(&json, MANY, span), |span| plain(&server.raw, MANY, span)).await?;
    rows.push(row(format!("hit, JSON, {MANY} tasks"), found));
    let found = compare(plan, |span| traced(&raw, MANY, span), |span| plain(&server.raw, MANY, span)).await?;
    rows.push(row(format!("hit, bytes, a span per read recorded, {MANY} tasks"), found));
    Ok(rows)
}

fn row(name: String, found: crate::rounds::Compared) -> Row {
    Row::compared(BENCH, name, UNIT, PEER, found)
}

async fn bytes(cache: &Cache<u64, Bytes>, tasks: usize, span: Duration) -> Result<f64> {
    let cache = cache.clone();
    rate(tasks, span, move |random| {
        let cache = cache.clone();
        async move {
            let value = cache.get(&(random % KEYS), |_| no_load()).await?;
            ensure!(value.is_some_and(|value| value.len() == VALUE_BYTES), "a filled key was not found");
            Ok(())
        }
    })
    .await
}

pub(crate) async fn users(cache: &Cache<u64, User>, tasks: usize, span: Duration) -> Result<f64> {
    let cache = cache.clone();
    rate(tasks, span, move |random| {
        let cache = cache.clone();
        async move {
            ensure!(cache.get(&(random % KEYS), |_| no_load()).await?.is_some(), "a filled key was not found");
            Ok(())
        }
    })
    .await
}

/// With a subscriber that takes every span and writes it nowhere.
async fn traced(cache: &Cache<u64, Bytes>, tasks: usize, span: Duration) -> Result<f64> {
    let everything =
        tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(std::io::sink).finish();
    // The runtime has one thread, so a default for this thread is a default for every task, and ends with this measurement.
    let _until_measured = tracing::subscriber::set_default(everything);
    bytes(cache, tasks, span).await
}

async fn linked(link: &Link, tasks: usize, span: Duration) -> Result<f64> {
    let link = link.clone();
    rate(tasks, span, move |random| {
        let link = link.clone();
        async move {
            let value = link.get(key_of(random).as_bytes()).await?;
            ensure!(value.is_some_and(|value| value.len() == VALUE_BYTES), "a filled key was not found");
            Ok(())
        }
    })
    .await
}

/// A plain `GET` of a client that shares one connection among all tasks.
async fn plain(raw: &MultiplexedConnection, tasks: usize, span: Duration) -> Result<f64> {
    let raw = raw.clone();
    rate(tasks, span, move |random| {
        let mut raw = raw.clone();
        async move {
            let value: Option<Bytes> = redis::cmd("GET").arg(key_of(random)).query_async(&mut raw).await?;
            ensure!(value.is_some_and(|value| value.len() == VALUE_BYTES), "a filled key was not found");
            Ok(())
        }
    })
    .await
}
