//! Reads that hit.

use super::server::{Server, key_of};
use super::{BENCH, TASKS, VALUE_BYTES};
use crate::load::rate;
use crate::rounds::{Plan, compare};
use crate::row::Row;
use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use evenkeel::Keel;
use evenkeel::link::Link;
use redis::aio::MultiplexedConnection;
use std::time::Duration;

const UNIT: &str = "reads/s";
const PEER: &str = "GET";

pub(crate) async fn run(plan: &Plan, server: &Server) -> Result<Vec<Row>> {
    let keel = Keel::connect(&server.url()).await?;
    let link = keel.link().context("a keel on Redis has a link")?.clone();
    let mut rows = Vec::new();
    for tasks in TASKS {
        let found = compare(plan, |span| linked(&link, tasks, span), |span| plain(&server.raw, tasks, span)).await?;
        rows.push(Row::compared(BENCH, format!("GET through the link, {tasks} tasks"), UNIT, PEER, found));
    }
    Ok(rows)
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
pub(crate) async fn plain(raw: &MultiplexedConnection, tasks: usize, span: Duration) -> Result<f64> {
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
