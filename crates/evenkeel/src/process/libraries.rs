//! Deletes the libraries of functions of versions that no process runs any more.

use evenkeel_link::{Link, LinkError};
use evenkeel_protocol::process::steps::Processes;
use redis::{FromRedisValue, Value};
use std::collections::{HashMap, HashSet};
use std::time::Duration;

/// How long a library is kept after a sweep has found that no report names it.
pub(crate) const KEPT: Duration = Duration::from_secs(7 * 24 * 3_600);

/// The interval of the sweeps of one process.
pub(crate) const INTERVAL: Duration = Duration::from_secs(3_600);

/// Deletes the libraries that no process has reported for [`KEPT`]. A program whose library is deleted all the same, because it does not report or
/// reports under another prefix, loads it again with its next call.
pub(crate) async fn sweep(link: &Link, processes: &Processes) -> Result<(), LinkError> {
    if processes.further > 0 || !link.epoch().is_some_and(|epoch| epoch.runs_functions()) {
        return Ok(());
    }
    let reports = processes.processes.iter().filter_map(|process| process.report.as_ref());
    let mut used: HashSet<String> = reports.flat_map(|report| report.libraries.iter().cloned()).collect();
    used.extend(link.libraries());
    let key = format!("{}:{{p}}:libraries", link.prefix());
    let ask = async |cmd: &redis::Cmd| link.command(key.as_bytes(), cmd).await;
    let listed = ask(redis::cmd("FUNCTION").arg("LIST").arg("LIBRARYNAME").arg("evenkeel_*")).await?;
    let listed: HashSet<String> = names(listed).unwrap_or_default();
    // When a sweep first found a library without a report.
    let unused: HashMap<String, u64> = typed(ask(redis::cmd("HGETALL").arg(&key)).await?)?;
    let kept_ms = u64::try_from(KEPT.as_millis()).unwrap_or(u64::MAX);
    for name in &listed {
        match unused.get(name) {
            _ if used.contains(name) => {}
            None => {
                ask(redis::cmd("HSET").arg(&key).arg(name).arg(processes.now_ms)).await?;
            }
            Some(since) if since.saturating_add(kept_ms) <= processes.now_ms => {
                ask(redis::cmd("FUNCTION").arg("DELETE").arg(name)).await?;
                ask(redis::cmd("HDEL").arg(&key).arg(name)).await?;
                tracing::info!(
                    library = name,
                    "deleted a library of Redis functions that no process has used for a week"
                );
            }
            Some(_) => {}
        }
    }
    let ended = unused.keys().filter(|name| used.contains(*name) || !listed.contains(*name));
    for name in ended {
        ask(redis::cmd("HDEL").arg(&key).arg(name)).await?;
    }
    Ok(())
}

/// The names in the reply of `FUNCTION LIST`, a map for each library.
fn names(listed: Value) -> Option<HashSet<String>> {
    let libraries: Vec<HashMap<String, Value>> = redis::from_redis_value(listed).ok()?;
    let name = |library: HashMap<String, Value>| redis::from_redis_value(library.get("library_name")?.clone()).ok();
    libraries.into_iter().map(name).collect()
}

fn typed<T: FromRedisValue>(reply: Value) -> Result<T, LinkError> {
    redis::from_redis_value(reply).map_err(|error| LinkError::Unexpected(error.to_string()))
}
