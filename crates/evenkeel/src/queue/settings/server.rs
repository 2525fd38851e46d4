//! Checks the server before a queue is opened: it must not evict jobs, and must support the durability.

use super::{Durability, Settings};
use crate::queue::store::QueueStore;
use evenkeel_link::support::guard;
use evenkeel_link::{Link, LinkError};
use evenkeel_protocol::queue::error::QueueError;
use redis::Value;

/// Rejects a server that evicts jobs or does not support the durability in `settings`.
pub(crate) async fn check(store: &QueueStore, queue: &str, settings: &Settings) -> Result<(), QueueError> {
    let refuse = |reason: String| Err(QueueError::Settings { queue: queue.to_owned(), reason });
    let Some(link) = store.link() else {
        return match settings.durability {
            Durability::Memory => Ok(()),
            #[cfg(feature = "sql")]
            Durability::Sql => Ok(()),
            _ => refuse(
                "the embedded store has no replicas and no disk; use `Durability::Memory` or `Durability::Sql`"
                    .to_owned(),
            ),
        };
    };
    if let Some(policy) = link.eviction_policy().await?
        && !settings.may_evict
        && guard("queue_refuses_eviction")
    {
        return refuse(format!(
            "the server at {} evicts keys when it is full (maxmemory-policy {policy}), which loses jobs; set it to \
             noeviction, use another server, or set `allow_eviction()`",
            link.address()
        ));
    }
    let persistence = info(link, "persistence").await?;
    let has_file = field(&persistence, "aof_enabled") == Some("1");
    if !has_file {
        tracing::warn!(
            queue,
            address = %link.address(),
            "the server has no append-only file: a restart loses the jobs enqueued since its last snapshot, or all jobs without snapshots"
        );
    }
    if matches!(settings.durability, Durability::Disk { .. }) && guard("queue_refuses_disk") {
        let known = link.command(queue.as_bytes(), redis::cmd("COMMAND").arg("INFO").arg("WAITAOF")).await?;
        let knows_it = matches!(&known, Value::Array(rows) if rows.iter().any(|row| *row != Value::Nil));
        if !knows_it {
            return refuse(format!(
                "the server at {} does not support WAITAOF (Redis 7.2 or newer), so it cannot confirm that a job is on disk; use \
                 `Durability::Replicas` or a newer server",
                link.address()
            ));
        }
        if !has_file {
            return refuse("`Durability::Disk` requires a server with `appendonly yes`".to_owned());
        }
    }
    Ok(())
}

async fn info(link: &Link, section: &str) -> Result<String, QueueError> {
    let text = match link.command(b"", redis::cmd("INFO").arg(section)).await? {
        Value::BulkString(text) => String::from_utf8_lossy(&text).into_owned(),
        Value::VerbatimString { text, .. } => text,
        other => return Err(LinkError::Unexpected(format!("INFO: {other:?}")).into()),
    };
    Ok(text)
}

fn field<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}
