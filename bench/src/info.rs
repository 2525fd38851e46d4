//! What a Redis says about itself.

use anyhow::{Context, Result};
use testkit::servers::Redis;

/// A number of one of its sections.
pub(crate) async fn field(redis: &Redis, section: &str, name: &str) -> Result<f64> {
    let info: String = redis.command(&["INFO", section]).await?;
    let line = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    Ok(line.with_context(|| format!("INFO names no {name}"))?.trim().parse()?)
}

/// Seconds that it has computed.
pub(crate) async fn cpu(redis: &Redis) -> Result<f64> {
    Ok(field(redis, "cpu", "used_cpu_user").await? + field(redis, "cpu", "used_cpu_sys").await?)
}

/// Forgets what it has counted.
pub(crate) async fn reset(redis: &Redis) -> Result<()> {
    redis.command(&["CONFIG", "RESETSTAT"]).await
}

/// How often it has executed these commands since then, those inside of scripts included.
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
