//! Plain commands: `XADD` in pipelines, and a consumer that reads, handles and acknowledges a page after another.

use super::consumer::{Seen, Task};
use super::load::New;
use super::{CONCURRENCY, GROUP};
use crate::client::connect;
use anyhow::{Context, Result, bail};
use parking_lot::Mutex;
use redis::aio::MultiplexedConnection;
use redis::{Pipeline, Value, cmd};

/// How long a read waits for new entries.
const BLOCK_MS: u64 = 1_000;

pub(super) async fn create(mut connection: MultiplexedConnection, stream: &str) -> Result<()> {
    cmd("XGROUP").arg(&["CREATE", stream, GROUP, "0", "MKSTREAM"]).query_async::<()>(&mut connection).await?;
    Ok(())
}

pub(super) async fn append(mut connection: MultiplexedConnection, stream: &str, entries: &[New]) -> Result<()> {
    let mut pipeline = Pipeline::with_capacity(entries.len());
    for entry in entries {
        pipeline.cmd("XADD").arg(stream).arg("*").arg("k").arg(&entry.key).arg("e").arg(&entry.body[..]).ignore();
    }
    Ok(pipeline.query_async::<()>(&mut connection).await?)
}

pub(super) async fn consume(task: &Task, seen: &Mutex<Seen>) -> Result<()> {
    let mut connection = connect(&task.url).await?;
    let mut read = cmd("XREADGROUP");
    read.arg("GROUP").arg(GROUP).arg(task.number).arg("COUNT").arg(CONCURRENCY).arg("BLOCK").arg(BLOCK_MS);
    read.arg("STREAMS").arg(&task.stream).arg(">");
    loop {
        let reply: Value = read.query_async(&mut connection).await?;
        let Value::Map(streams) = reply else { continue };
        let mut done = cmd("XACK");
        done.arg(&task.stream).arg(GROUP);
        for (_, entries) in streams {
            for entry in list(entries)? {
                let mut parts = list(entry)?.into_iter();
                let (id, fields) = parts.next().zip(parts.next()).context("an entry has an id and fields")?;
                // Fields are `k`, the key, `e`, the body.
                let body = list(fields)?.into_iter().nth(3).context("an entry has a body")?;
                seen.lock().handle(&bytes(body)?);
                done.arg(bytes(id)?);
            }
        }
        done.query_async::<()>(&mut connection).await?;
    }
}

fn list(value: Value) -> Result<Vec<Value>> {
    match value {
        Value::Array(values) => Ok(values),
        other => bail!("not a list: {other:?}"),
    }
}

fn bytes(value: Value) -> Result<Vec<u8>> {
    match value {
        Value::BulkString(bytes) => Ok(bytes),
        other => bail!("not bytes: {other:?}"),
    }
}
