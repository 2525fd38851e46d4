//! Temporary folders that are removed even if the process that created them was killed.

use anyhow::{Context, Result};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Once;
use tempfile::TempDir;

/// The prefix of every folder's name, so that nothing else is ever removed.
const PREFIX: &str = "evenkeel-";

/// A folder that is removed when this value is dropped. If the process is killed, the next process that creates a folder removes it.
#[derive(Debug)]
pub(crate) struct Folder {
    folder: TempDir,
    /// Dropped after the folder.
    _owner: Owner,
}

/// A locked file that contains the folder's path. The kernel releases the lock however the process ends.
#[derive(Debug)]
struct Owner {
    path: PathBuf,
    _lock: File,
}

impl Folder {
    /// Creates a folder for one server or program, inside `root` if the program cannot access others.
    pub(crate) fn temporary(kind: &str, root: Option<&Path>) -> Result<Folder> {
        static SWEEP: Once = Once::new();
        SWEEP.call_once(|| sweep().unwrap_or_default());
        let name = format!("{PREFIX}{kind}-{:08x}", rand::random::<u32>());
        let parent = parent(root);
        // Locked and written before the folder exists, so that a sweep never takes a folder in use for an abandoned one.
        let owner = Owner::of(&name, &parent.join(&name))?;
        let folder = tempfile::Builder::new().prefix(&name).rand_bytes(0).tempdir_in(&parent);
        let folder = folder.with_context(|| format!("could not create a folder in {}", parent.display()))?;
        Ok(Folder { folder, _owner: owner })
    }

    /// The path of the folder.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Owner {
    fn of(name: &str, folder: &Path) -> Result<Owner> {
        let path = common("owners", None)?.join(name);
        let mut lock = File::create(&path).with_context(|| format!("could not create {}", path.display()))?;
        lock.lock()?;
        lock.write_all(folder.as_os_str().as_encoded_bytes())?;
        Ok(Owner { path, _lock: lock })
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        fs::remove_file(&self.path).ok();
    }
}

/// A folder that all tests of this user share; inside `root` like [`Folder::temporary`].
pub(crate) fn common(name: &str, root: Option<&Path>) -> Result<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    let folder = parent(root).join(format!("evenkeel-testkit-{user}")).join(name);
    fs::create_dir_all(&folder).with_context(|| format!("could not create {}", folder.display()))?;
    Ok(folder)
}

fn parent(root: Option<&Path>) -> PathBuf {
    root.map_or_else(std::env::temp_dir, |root| root.join("tmp"))
}

/// Removes the folders of processes that have ended.
fn sweep() -> Result<()> {
    for entry in fs::read_dir(common("owners", None)?)?.flatten() {
        let Ok(owner) = File::open(entry.path()) else { continue };
        if owner.try_lock().is_err() {
            continue;
        }
        let folder = PathBuf::from(fs::read_to_string(entry.path())?);
        let is_ours = folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX));
        if is_ours && folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::remove_file(entry.path())?;
    }
    Ok(())
}
