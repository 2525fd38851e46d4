//! [`Config`]: the validated settings. Flags override the environment, which overrides the settings file.

mod file;
mod flags;
mod modes;

pub use flags::Flags;
pub(crate) use flags::{Command, CommonFlags, ExportFlags, ImportFlags, ServeFlags};
pub use modes::{CacheMode, ClickMode, WriteMode};

use crate::store::DatabaseUrl;
use anyhow::{Context, Result, bail};
use file::SettingsFile;
use std::path::PathBuf;

const LISTEN: &str = "127.0.0.1:8080";

/// Relative to the current folder, where the user who started the program finds it.
const DATA: &str = "shortlink-data";

/// The default database, in the data folder.
const DATABASE_FILE: &str = "links.db";

/// Above what the memory of a server holds; a larger value is a typing error.
const NEAR_MAX: usize = 100_000_000;

/// Default and minimum capacity of the write-behind spool. The minimum holds the largest write several times.
const SPOOL_BYTES: u64 = 64 << 20;
const SPOOL_BYTES_MIN: u64 = 64 << 10;

/// The settings of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The address to listen on, `HOST:PORT`; port 0 picks a free port.
    pub listen: String,
    /// The folder for the files of this instance.
    pub data: PathBuf,
    /// The database of links; a SQLite file in the data folder by default.
    pub database: DatabaseUrl,
    /// The URL of the Redis cache; `None` caches in the process.
    pub redis: Option<String>,
    /// The public URL of the service, such as `https://s.example.com`.
    pub public_url: Option<String>,
    /// The collector of spans, such as `http://127.0.0.1:4318`.
    pub otlp: Option<String>,
    /// Whether to refuse targets in private networks.
    pub refuse_private: bool,
    /// Capacity of the near cache in links; 0 disables it. `None` enables it with the default capacity if Redis supports it.
    pub near: Option<usize>,
    /// Consistency of the caches.
    pub consistency: CacheMode,
    /// When a write is acknowledged.
    pub write_mode: WriteMode,
    /// Capacity of the write-behind spool, in bytes.
    pub spool_bytes_max: u64,
    /// Whether clicks are counted.
    pub clicks: ClickMode,
}

impl Config {
    /// Merges the flags (which include the environment) with the settings file, and validates the result.
    ///
    /// # Errors
    /// One sentence: which setting is wrong, and why.
    pub(crate) fn resolve(common: &CommonFlags, serve: &ServeFlags) -> Result<Self> {
        let file = common.config.as_deref().map(web::settings::read::<SettingsFile>).transpose()?.unwrap_or_default();
        let data = common.data.clone().or(file.data).unwrap_or_else(|| DATA.into());
        let database = match common.database.clone().or(file.database) {
            Some(url) => url.parse().context("the setting \"database\" is wrong")?,
            None => DatabaseUrl::Sqlite(data.join(DATABASE_FILE)),
        };
        let public_url = common.public_url.clone().or(file.public_url);
        if let Some(url) = &public_url {
            web::settings::check_public_url(url)?;
        }
        let near = serve.near.or(file.near);
        if near.is_some_and(|links| links > NEAR_MAX) {
            bail!("the setting \"near\" is wrong: the maximum is {NEAR_MAX} links");
        }
        let consistency = common.consistency.or(file.consistency).unwrap_or_default();
        let write_mode = serve.write_mode.or(file.write_mode).unwrap_or_default();
        check_modes(consistency, write_mode, near)?;
        let spool_bytes_max = serve.spool_bytes_max.or(file.spool_bytes_max).unwrap_or(SPOOL_BYTES);
        if spool_bytes_max < SPOOL_BYTES_MIN {
            bail!("the setting \"spool_bytes_max\" is wrong: the minimum is {SPOOL_BYTES_MIN} bytes");
        }
        Ok(Self {
            listen: serve.listen.clone().or(file.listen).unwrap_or_else(|| LISTEN.to_owned()),
            data,
            database,
            redis: common.redis.clone().or(file.redis),
            public_url,
            otlp: serve.otlp.clone().or(file.otlp),
            refuse_private: common.refuse_private.or(file.refuse_private).unwrap_or(false),
            near,
            consistency,
            write_mode,
            spool_bytes_max,
            clicks: serve.clicks.or(file.clicks).unwrap_or_default(),
        })
    }
}

/// Rejects combinations that contradict each other.
fn check_modes(consistency: CacheMode, write_mode: WriteMode, near: Option<usize>) -> Result<()> {
    if consistency != CacheMode::Strong {
        return Ok(());
    }
    if write_mode == WriteMode::Behind {
        bail!(
            "the setting \"write_mode\" is wrong: strong consistency needs \"through\", because \"behind\" acknowledges a write \
             before the database has it"
        );
    }
    if near.is_some_and(|links| links > 0) {
        bail!("the setting \"near\" is wrong: strong consistency excludes the near cache; remove the setting");
    }
    Ok(())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests;
