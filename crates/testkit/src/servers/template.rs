//! Data folders that are initialized once and copied for each server.

use super::program::Program;
use crate::folder;
use anyhow::{Context, Result, ensure};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Copies the initialized data folder of this server version to `destination`, which must not exist.
///
/// The first caller on the machine creates it with `initialize`; others, also in other processes, wait. `settings` is everything else
/// that the result depends on.
pub(super) fn copy(
    program: &Program,
    settings: &str,
    destination: &Path,
    initialize: impl FnOnce(&Path) -> Result<()>,
) -> Result<()> {
    let template = prepared(program, settings, initialize)?;
    // GNU cp preserves owners, and shares blocks if the file system can.
    let status = Command::new("cp").args(["-a", "--reflink=auto", "--"]).args([&template, destination]).status()?;
    ensure!(status.success(), "could not copy {} to {}", template.display(), destination.display());
    Ok(())
}

fn prepared(program: &Program, settings: &str, initialize: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let mut hasher = DefaultHasher::new();
    (version(program)?, settings).hash(&mut hasher);
    let kind = program.path.file_name().and_then(OsStr::to_str).unwrap_or("server");
    let folder = folder::common("templates", program.root.as_deref())?;
    let template = folder.join(format!("{kind}-{:016x}", hasher.finish()));
    let lock = File::create(template.with_extension("lock"))?;
    lock.lock().context("could not lock the template of a data folder")?;
    if !template.exists() {
        // Renamed when complete, so that a killed test leaves no partial template.
        let unfinished = template.with_extension("unfinished");
        fs::remove_dir_all(&unfinished).ok();
        fs::create_dir(&unfinished)?;
        initialize(&unfinished)?;
        fs::rename(&unfinished, &template)?;
    }
    Ok(template)
}

fn version(program: &Program) -> Result<Vec<u8>> {
    Ok(program.command().arg("--version").output().with_context(|| program.missing())?.stdout)
}
