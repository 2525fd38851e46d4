//! Where servers keep their files.

use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A temporary folder for one server, inside `root` if the server sees only that.
pub(super) fn temporary(kind: &str, root: Option<&Path>) -> Result<TempDir> {
    let parent = root.map_or_else(std::env::temp_dir, |root| root.join("tmp"));
    let folder = tempfile::Builder::new().prefix(&format!("evenkeel-{kind}-")).tempdir_in(&parent);
    folder.with_context(|| format!("could not create a folder in {}", parent.display()))
}

/// A folder that all tests of this user share, for what is made once; inside `root` like [`temporary`].
pub(super) fn common(name: &str, root: Option<&Path>) -> Result<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    let parent = root.map_or_else(std::env::temp_dir, |root| root.join("tmp"));
    let folder = parent.join(format!("evenkeel-testkit-{user}")).join(name);
    fs::create_dir_all(&folder).with_context(|| format!("could not create {}", folder.display()))?;
    Ok(folder)
}
