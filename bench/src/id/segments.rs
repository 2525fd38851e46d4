//! Numbers of a sequence, whose blocks a database commits.

use super::{BENCH, INCREMENT, UNIT, increments, latency, rate};
use crate::client;
use crate::load;
use crate::rounds::{Plan, compare};
use crate::row::Row;
use anyhow::Result;
use evenkeel::Keel;
use evenkeel::id::Segments;
use evenkeel::sql::migrate;
use redis::aio::MultiplexedConnection;
use sqlx::SqlitePool;
use std::time::Duration;

const INCR: &str = "INCR";
/// The largest block, which a task uses up in some 50 ms.
const COUNT: u64 = 1 << 20;
const TASKS: [usize; 2] = [1, 64];

pub(super) async fn run(plan: &Plan, url: &str) -> Result<Vec<Row>> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("sequences.db");
    let pool = SqlitePool::connect(&format!("sqlite://{}?mode=rwc", file.display())).await?;
    migrate(&pool).await?;
    let keel = Keel::connect(url).await?;
    let numbers = keel.segments("numbers").step(COUNT..=COUNT).open(&pool)?;
    let found = compare(plan, |span| taken(&numbers, span), increments).await?;
    let mut rows = vec![Row::compared(BENCH, "segments, one task".to_owned(), UNIT, INCREMENT, found)];
    let connection = client::connect(url).await?;
    for tasks in TASKS {
        let found = compare(plan, |span| taken(&numbers, span), |span| incr(&connection, tasks, span)).await?;
        rows.push(Row::compared(BENCH, format!("segments, one task, against INCR of {tasks}"), UNIT, INCR, found));
    }
    rows.extend(latency(plan, "one number of a sequence", async || Ok(numbers.next().await?)).await?);
    Ok(rows)
}

/// Numbers a second of one task.
async fn taken(numbers: &Segments, span: Duration) -> Result<f64> {
    rate(span, async || Ok(numbers.next().await?)).await
}

async fn incr(connection: &MultiplexedConnection, tasks: usize, span: Duration) -> Result<f64> {
    let connection = connection.clone();
    load::rate(tasks, span, move |_| {
        let mut connection = connection.clone();
        async move {
            let _number: u64 = redis::cmd("INCR").arg("numbers").query_async(&mut connection).await?;
            Ok(())
        }
    })
    .await
}
