//! The data folder, and who holds it.

use crate::config::Config;
use crate::store::DatabaseUrl;
use anyhow::{Context, Result, bail};
use rustix::fs::{FlockOperation, flock};
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

/// The right to write a SQLite file, held until it is dropped (or the process ends, however it ends).
///
/// One process at a time: an embedded cache cannot know what another process writes behind it.
pub(super) struct Hold(File);

/// Who has it, as far as they said.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Holder {
    /// Where the holder listens; `None` if it is no service (yet).
    pub(super) address: Option<String>,
}

/// What a try to get hold of a file gave.
pub(super) enum Taken {
    Free(Hold),
    Held(Holder),
}

impl Hold {
    /// Tells others, who find the file held, where this service listens.
    pub(super) fn announce(&mut self, address: &str) -> Result<()> {
        self.0.set_len(0)?;
        self.0.rewind()?;
        self.0.write_all(address.as_bytes())?;
        Ok(())
    }
}

/// Gets hold of the configured database if it is a file on this machine; `None` if it is a server.
///
/// # Errors
/// One sentence if the folder cannot be made or written.
pub(super) fn hold(config: &Config) -> Result<Option<Taken>> {
    let DatabaseUrl::Sqlite(file) = &config.database else { return Ok(None) };
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make the data folder {}", folder.display()))?;
    let path = lock_path(file);
    let mut lock = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .with_context(|| format!("cannot write in the data folder {}", folder.display()))?;
    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {
            lock.set_len(0)?;
            Ok(Some(Taken::Free(Hold(lock))))
        }
        Err(rustix::io::Errno::WOULDBLOCK) => {
            let mut address = String::new();
            // What the holder wrote is a courtesy; without it the sentence is shorter.
            let _ = lock.read_to_string(&mut address);
            Ok(Some(Taken::Held(Holder { address: Some(address).filter(|text| !text.is_empty()) })))
        }
        Err(error) => Err(error).with_context(|| format!("cannot lock {}", path.display())),
    }
}

/// As [`hold`], where a held file is an error. `what` is what the caller wants to do, `instead` what it can do on a running
/// service (given its address).
pub(super) fn hold_or_refuse(config: &Config, what: &str, instead: impl Fn(&str) -> String) -> Result<Option<Hold>> {
    match hold(config)? {
        None => Ok(None),
        Some(Taken::Free(hold)) => Ok(Some(hold)),
        Some(Taken::Held(holder)) => {
            let advice =
                holder.address.map_or_else(|| "wait until it has ended".to_owned(), |address| instead(&address));
            bail!("{} is in use by another shortlink, so this one cannot {what}: {advice}", config.database)
        }
    }
}

fn lock_path(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".lock");
    PathBuf::from(name)
}
