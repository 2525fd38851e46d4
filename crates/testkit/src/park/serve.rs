//! Runs the shared servers until the input ends.

use super::{MARIADB_VARIABLE, POSTGRES_VARIABLE, REDIS_VARIABLE};
use crate::servers::{MariaDb, MariaDbOptions, Postgres, PostgresOptions, Redis, RedisOptions};
use anyhow::Result;
use std::io::{Read, Write};

/// The line that follows the addresses.
pub const READY: &str = "ready";

/// Starts one server of each kind, writes a line `NAME=url` for each and then [`READY`] to `output`, and runs the servers until `input`
/// ends, which also happens when the parent is killed.
///
/// Errors: a server is missing or did not start; no server is left running.
pub async fn serve(mut input: impl Read + Send + 'static, mut output: impl Write) -> Result<()> {
    let (redis, mariadb, postgres) = tokio::try_join!(
        Redis::start(RedisOptions::new()),
        MariaDb::start(MariaDbOptions::new()),
        Postgres::start(PostgresOptions::new())
    )?;
    writeln!(output, "{REDIS_VARIABLE}={}", redis.url())?;
    writeln!(output, "{MARIADB_VARIABLE}={}", mariadb.url())?;
    writeln!(output, "{POSTGRES_VARIABLE}={}", postgres.url())?;
    writeln!(output, "{READY}")?;
    output.flush()?;
    tokio::task::spawn_blocking(move || std::io::copy(&mut input, &mut std::io::sink())).await??;
    Ok(())
}
