//! Enqueues jobs that are accepted only once replicas or a disk have them.

use crate::queue::settings::Durability;
use crate::queue::store::queues::Queues;
use evenkeel_link::support::{Recurring, guard, ms};
use evenkeel_link::{Blocking, Link, LinkError};
use evenkeel_protocol::queue::error::QueueError;
use evenkeel_protocol::queue::steps::{Enqueue, Enqueued, Shard};
use redis::Value;
use std::time::Duration;
use tokio::sync::Mutex;

/// The connection of this process for writes with `WAIT`, which blocks all later commands on its connection.
#[derive(Default)]
pub(crate) struct DurableConnection {
    idle: Mutex<Option<Blocking>>,
    /// The refusals that were logged.
    failing: Recurring,
}

/// Enqueues and waits for copies in one write. Also returns the required and the confirmed number of copies, if too few were confirmed.
pub(crate) async fn enqueue(
    queues: &Queues,
    link: &Link,
    shard: &Shard,
    enqueue: &Enqueue,
    durability: Durability,
) -> Result<(Vec<Enqueued>, Option<(u32, u32)>), QueueError> {
    let (wait, timeout, required) = wait_for(durability);
    let mut idle = queues.durable.idle.lock().await;
    let mut connection = match idle.take().filter(Blocking::is_open) {
        Some(connection) => connection,
        None => link.blocking().await?,
    };
    let answered = enqueue.send_and_wait(&mut connection, shard, &wait, timeout).await;
    *idle = Some(connection);
    let (answers, waited) = answered?;
    let reached = confirmed(&waited, &queues.durable.failing)?;
    let is_short = reached < required && guard("queue_durable");
    Ok((answers, is_short.then_some((required, reached))))
}

fn wait_for(durability: Durability) -> (redis::Cmd, Duration, u32) {
    match durability {
        Durability::Memory => (redis::cmd("PING"), Duration::ZERO, 0),
        // The caller has written the rows already.
        #[cfg(feature = "sql")]
        Durability::Sql => (redis::cmd("PING"), Duration::ZERO, 0),
        Durability::Replicas { count, timeout } => {
            (redis::cmd("WAIT").arg(count).arg(ms(timeout).max(1)).clone(), timeout, count)
        }
        Durability::Disk { timeout } => {
            (redis::cmd("WAITAOF").arg(1).arg(0).arg(ms(timeout).max(1)).clone(), timeout, 1)
        }
    }
}

/// `WAIT` replies with the number of replicas, `WAITAOF` with the number of local files (0 or 1) and of replicas.
fn confirmed(answer: &Value, failing: &Recurring) -> Result<u32, QueueError> {
    let count = match answer {
        Value::Int(replicas) => *replicas,
        Value::Array(counts) => match counts.first() {
            Some(Value::Int(files)) => *files,
            _ => 0,
        },
        Value::ServerError(error) => {
            if let Some(times) = failing.line_due("confirm", &error.code()) {
                tracing::warn!(error = error.details(), code = error.code(), times, "the server cannot confirm copies");
            }
            return Ok(0);
        }
        other => return Err(LinkError::Unexpected(format!("WAIT: {other:?}")).into()),
    };
    failing.over("confirm");
    Ok(u32::try_from(count).unwrap_or(0))
}
