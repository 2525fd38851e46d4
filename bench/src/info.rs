//! Reads `INFO` of a Redis.

use anyhow::{Context, Result};
use testkit::servers::Redis;

/// A number from a section of `INFO`.
pub(crate) async fn field(redis: &Redis, section: &str, name: &str) -> Result<f64> {
    let info: String = redis.command(&["INFO", section]).await?;
    let line = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    Ok(line.with_context(|| format!("INFO names no {name}"))?.trim().parse()?)
}

/// The CPU time of the Redis process, in seconds.
pub(crate) async fn cpu(redis: &Redis) -> Result<f64> {
    Ok(field(redis, "cpu", "used_cpu_user").await? + field(redis, "cpu", "used_cpu_sys").await?)
}

/// Resets the command statistics.
pub(crate) async fn reset(redis: &Redis) -> Result<()> {
    redis.command(&["CONFIG", "RESETSTAT"]).await
}

/// The time that commands took since the reset, in microseconds. Commands inside scripts count twice: as themselves, and as part of the script.
pub(crate) async fn executing_us(redis: &Redis) -> Result<f64> {
    let info: String = redis.command(&["INFO", "commandstats"]).await?;
    let times = info.lines().filter_map(|line| line.split_once(",usec=")?.1.split(',').next()?.parse::<f64>().ok());
    Ok(times.sum())
}

/// How often these commands were executed since the reset, including those inside scripts.
pub(crate) async fn calls(redis: &Redis, commands: &[&str]) -> Result<u64> {
    let info: String = redis.command(&["INFO", "commandstats"]).await?;
    let mut calls = 0;
    for line in info.lines() {
        let Some((name, rest)) = line.strip_prefix("cmdstat_").and_then(|line| line.split_once(":calls=")) else {
            continue;
        };
        if commands.contains(&name) {
            let count = rest.split(',').next().unwrap_or_default();
            calls += count.parse::<u64>().with_context(|| format!("INFO says {line:?}"))?;
        }
    }
    Ok(calls)
}
