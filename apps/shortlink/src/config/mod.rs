//! Flags, environment and file become one checked [`Config`]: a flag beats the environment, which beats the file.

mod file;
mod flags;
mod modes;

pub use flags::Flags;
pub(crate) use flags::{Command, Export, Import, Place, Serving};
pub use modes::{CacheMode, WriteMode};

use crate::store::DatabaseUrl;
use anyhow::{Context, Result, bail};
use file::File;
use std::path::PathBuf;

/// Where the service listens if nobody says otherwise.
const LISTEN: &str = "127.0.0.1:8080";

/// The folder used if nobody says otherwise: in the current one, where the person who started it sees it.
const DATA: &str = "shortlink-data";

/// The database in the data folder.
const DATABASE_FILE: &str = "links.db";

/// More links than an instance could keep at hand on any machine that is worth having several of.
const NEAR_MAX: usize = 100_000_000;

/// Bytes of writes that may wait for the database: the default, and what the largest write needs.
const SPOOL_BYTES: u64 = 64 << 20;
const SPOOL_BYTES_MIN: u64 = 64 << 10;

/// How the program shall run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Where to listen, `HOST:PORT`; port 0 takes a free one.
    pub listen: String,
    /// The folder for what is kept on this machine.
    pub data: PathBuf,
    /// Where the links are; a file in the data folder by default.
    pub database: DatabaseUrl,
    /// The Redis to cache in; `None`: inside the process.
    pub redis: Option<String>,
    /// The address people know the service by, as `https://s.example.com`.
    pub public_url: Option<String>,
    /// Refuse links into private networks.
    pub refuse_private: bool,
    /// Links an instance keeps at hand; 0: none. `None`: a usual number, where Redis can tell of changes.
    pub near: Option<usize>,
    /// How far redirects may lag behind writes.
    pub consistency: CacheMode,
    /// When a write is answered.
    pub write_mode: WriteMode,
    /// Bytes of writes that may wait for the database.
    pub spool_bytes_max: u64,
}

impl Config {
    /// Puts flags (with the environment already in them) and file together.
    ///
    /// # Errors
    /// One sentence: which setting is wrong, and why.
    pub(crate) fn resolve(place: &Place, serving: &Serving) -> Result<Self> {
        let file = place.config.as_deref().map(File::read).transpose()?.unwrap_or_default();
        let data = place.data.clone().or(file.data).unwrap_or_else(|| DATA.into());
        let database = match place.database.clone().or(file.database) {
            Some(url) => url.parse().context("the setting \"database\" is wrong")?,
            None => DatabaseUrl::Sqlite(data.join(DATABASE_FILE)),
        };
        let public_url = serving.public_url.clone().or(file.public_url);
        if let Some(url) = &public_url {
            web::settings::check_public_url(url)?;
        }
        let near = serving.near.or(file.near);
        if near.is_some_and(|links| links > NEAR_MAX) {
            bail!("the setting \"near\" is wrong: at most {NEAR_MAX} links can be kept near");
        }
        let consistency = place.consistency.or(file.consistency).unwrap_or_default();
        let write_mode = serving.write_mode.or(file.write_mode).unwrap_or_default();
        check_modes(consistency, write_mode, near)?;
        let spool_bytes_max = serving.spool_bytes_max.or(file.spool_bytes_max).unwrap_or(SPOOL_BYTES);
        if spool_bytes_max < SPOOL_BYTES_MIN {
            bail!(
                "the setting \"spool_bytes_max\" is wrong: it is at least {SPOOL_BYTES_MIN}, for the longest addresses"
            );
        }
        Ok(Self {
            listen: serving.listen.clone().or(file.listen).unwrap_or_else(|| LISTEN.to_owned()),
            data,
            database,
            redis: place.redis.clone().or(file.redis),
            public_url,
            refuse_private: serving.refuse_private || file.refuse_private.unwrap_or(false),
            near,
            consistency,
            write_mode,
            spool_bytes_max,
        })
    }
}

/// What contradicts itself.
fn check_modes(consistency: CacheMode, write_mode: WriteMode, near: Option<usize>) -> Result<()> {
    if consistency != CacheMode::Strong {
        return Ok(());
    }
    if write_mode == WriteMode::Behind {
        bail!(
            "the setting \"write_mode\" is wrong: a write that is answered before the database has it cannot be strong"
        );
    }
    if near.is_some_and(|links| links > 0) {
        bail!("the setting \"near\" is wrong: with strong consistency no links are kept near; leave it out");
    }
    Ok(())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests;
