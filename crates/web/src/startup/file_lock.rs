//! [`FileLock`]: one process at a time uses a SQLite file.

use crate::DatabaseUrl;
use anyhow::{Context, Result, bail};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// An exclusive lock on a SQLite file, released on drop or when the process ends.
///
/// The embedded cache receives no invalidations from other processes, so only one process may write.
pub struct FileLock(File);

impl FileLock {
    /// Locks the database if it is a file; `None` if it is a server. `program` and `action` appear in the error message, and
    /// `advice` turns the address of the service that holds the lock into a hint. The folder `data` is created; any other folder must
    /// exist, since a missing one usually means a typing error in the URL.
    ///
    /// # Errors
    /// The folder does not exist or is not writable, or another process holds the lock.
    pub fn acquire(
        database: &DatabaseUrl,
        data: &Path,
        program: &str,
        action: &str,
        advice: impl Fn(&str) -> String,
    ) -> Result<Option<Self>> {
        let DatabaseUrl::Sqlite(file) = database else { return Ok(None) };
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let shown = folder.display();
        if folder == data {
            std::fs::create_dir_all(folder).with_context(|| format!("cannot create the data folder {shown}"))?;
        } else if !folder.is_dir() {
            bail!("the folder {shown} of the database {database} does not exist: create it, or correct the URL");
        }
        let file = resolved(file)?;
        one_name(&file)?;
        let path = file.with_added_extension("lock");
        let lock = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let mut lock = lock.with_context(|| format!("cannot write to the folder {shown}"))?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {
                lock.set_len(0)?;
                Ok(Some(FileLock(lock)))
            }
            Err(Errno::WOULDBLOCK) => {
                let mut address = String::new();
                // Without an address, the hint is a general one.
                let _ = lock.read_to_string(&mut address);
                let advice = if address.is_empty() { "wait until it has ended".to_owned() } else { advice(&address) };
                bail!("{database} is in use by another {program}, so this one cannot {action}: {advice}")
            }
            Err(error) => Err(error).with_context(|| format!("cannot lock {}", path.display())),
        }
    }

    /// Writes the service's address into the lock file, for the error message of other processes.
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

/// Symbolic links that are followed, as by the kernel.
const LINKS_MAX: u32 = 40;

/// The path of a file without symbolic links, so that all names of the file have one lock. The file may not exist yet; its folder does.
fn resolved(file: &Path) -> Result<PathBuf> {
    let mut path = file.to_owned();
    for _ in 0..LINKS_MAX {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned();
        match path.read_link() {
            Ok(target) => path = folder.join(target),
            Err(_) => {
                let folder =
                    folder.canonicalize().with_context(|| format!("cannot read the folder {}", folder.display()))?;
                return Ok(path.file_name().map_or_else(|| folder.clone(), |name| folder.join(name)));
            }
        }
    }
    bail!("{} is a symbolic link to itself", file.display())
}

/// Refuses a file with several hard links. None of them is the file's own name, and SQLite keeps the write-ahead log next to the name that was
/// opened, so programs that open different ones damage the file.
fn one_name(file: &Path) -> Result<()> {
    match std::fs::metadata(file).map(|known| known.nlink()) {
        Ok(names @ 2..) => bail!(
            "{} has {names} names (hard links), under which several programs would damage it: remove the others (find -samefile FILE lists them)",
            file.display()
        ),
        _ => Ok(()),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests {
    use super::{FileLock, resolved};
    use crate::DatabaseUrl;
    use std::os::unix::fs::symlink;

    /// Regression: two services ran on one SQLite file, one of them through a symbolic link.
    // shows: hazard S38
    #[test]
    fn all_names_of_a_file_have_one_path() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path();
        std::fs::create_dir(folder.join("real")).unwrap();
        let real = folder.canonicalize().unwrap().join("real/links.db");
        symlink("real", folder.join("folder")).unwrap();
        // The first two lead to a file that does not exist yet.
        symlink("real/links.db", folder.join("link.db")).unwrap();
        symlink(folder.join("link.db"), folder.join("second.db")).unwrap();
        for name in ["real/links.db", "folder/links.db", "link.db", "second.db", "real/../folder/links.db"] {
            assert_eq!(resolved(&folder.join(name)).unwrap(), real, "{name}");
        }
        symlink("loop.db", folder.join("loop.db")).unwrap();
        assert!(resolved(&folder.join("loop.db")).is_err());
    }

    /// Regression: two services ran on one SQLite file, one of them under a hard link in another folder.
    // shows: hazard S38
    #[test]
    fn file_with_two_hard_links_is_refused() {
        let temporary = tempfile::tempdir().unwrap();
        let (file, other) = (temporary.path().join("links.db"), temporary.path().join("other/links.db"));
        std::fs::create_dir(temporary.path().join("other")).unwrap();
        std::fs::write(&file, "").unwrap();
        let acquire = |file: &std::path::Path| {
            let url = DatabaseUrl::Sqlite(file.to_owned());
            FileLock::acquire(&url, temporary.path(), "links", "start", |_| String::new()).map(drop)
        };
        acquire(&file).unwrap();
        std::fs::hard_link(&file, &other).unwrap();
        for name in [&file, &other] {
            let error = acquire(name).unwrap_err().to_string();
            assert!(error.contains("has 2 names (hard links)"), "{error}");
        }
        std::fs::remove_file(&file).unwrap();
        acquire(&other).unwrap();
    }
}
