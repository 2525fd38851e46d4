//! The data folder, and who holds it.

use crate::DatabaseUrl;
use anyhow::{Context, Result, bail};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

/// The right to write a SQLite file, held until it is dropped (or the process ends, however it ends).
///
/// One process at a time: an embedded cache cannot know what another process writes behind it.
pub struct Hold(File);

impl Hold {
    /// Gets hold of a database if it is a file on this machine; `None` if it is a server. `program` is who asks, `what` is what it
    /// wants to do, `instead` what it can do with a running service (given its address). The data folder `data` is made if it is
    /// not there; the folder of an address that somebody wrote is not: more often than not the address has a mistake.
    ///
    /// # Errors
    /// One sentence: the folder is not there, cannot be made or written, or somebody holds the file.
    pub fn take(
        database: &DatabaseUrl,
        data: &Path,
        program: &str,
        what: &str,
        instead: impl Fn(&str) -> String,
    ) -> Result<Option<Self>> {
        let DatabaseUrl::Sqlite(file) = database else { return Ok(None) };
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let shown = folder.display();
        if folder == data {
            std::fs::create_dir_all(folder).with_context(|| format!("cannot make the data folder {shown}"))?;
        } else if !folder.is_dir() {
            bail!("the folder {shown} of the database {database} does not exist: make it, or correct the address");
        }
        let path = lock_path(file);
        let lock = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let mut lock = lock.with_context(|| format!("cannot write in the folder {shown}"))?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {
                lock.set_len(0)?;
                Ok(Some(Hold(lock)))
            }
            Err(Errno::WOULDBLOCK) => {
                let mut address = String::new();
                // What the holder wrote is a courtesy; without it the advice is shorter.
                let _ = lock.read_to_string(&mut address);
                let advice = if address.is_empty() { "wait until it has ended".to_owned() } else { instead(&address) };
                bail!("{database} is in use by another {program}, so this one cannot {what}: {advice}")
            }
            Err(error) => Err(error).with_context(|| format!("cannot lock {}", path.display())),
        }
    }

    /// Tells others, who find the file held, where this service listens.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn announce(&mut self, address: &str) -> Result<()> {
        self.0.set_len(0)?;
        self.0.rewind()?;
        self.0.write_all(address.as_bytes())?;
        Ok(())
    }
}

fn lock_path(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".lock");
    PathBuf::from(name)
}
