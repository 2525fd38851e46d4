//! `cargo xtask mixed URL`: programs of an older commit and of this tree share a Redis, in both directions.
//!
//! A small driver (`xtask/mixed/driver.rs`) is built against the library of both. One version leaves cache entries, an open update window,
//! jobs, dead letters and locks, and its process dies; the other one checks and changes them; the first one checks the changes. Then the
//! versions change places. It is not part of `check` and `test`, because it compiles the library of the other commit.

use crate::shell::{self, root};
use crate::steps::Steps;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The last commit before public names changed to the field's terms. What is stored and sent has kept its names since.
const BEFORE: &str = "afb3866";

const DRIVER: &str = include_str!("../mixed/driver.rs");

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Redis that both versions share; its keys get a prefix of their own
    url: String,
    /// Older commit
    #[arg(long, default_value = BEFORE)]
    before: String,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let folder = shell::target()?.join("mixed");
    let mut steps = Steps::new("mixed", &[]);
    let before = steps.step("build the driver on the older commit", || {
        let tree = folder.join("before");
        export(&arguments.before, &tree)?;
        build(&folder, "before", &tree, include_str!("../mixed/before.rs"))
    })?;
    let now = steps
        .step("build the driver on this tree", || build(&folder, "now", &root(), include_str!("../mixed/now.rs")))?;
    for (name, first, second) in [("older first", &before, &now), ("newer first", &now, &before)] {
        steps.step(name, || {
            let prefix = format!("mixed-{}-{}", std::process::id(), name.replace(' ', "-"));
            let url = format!("{}?prefix={prefix}", arguments.url);
            for (driver, stage) in [(first, "leave"), (second, "meet"), (first, "back")] {
                shell::run(Command::new(driver).args([stage, &url]))?;
            }
            Ok(())
        })?;
    }
    steps.finish();
    Ok(())
}

/// Writes the files of a commit into an empty folder.
fn export(commit: &str, folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    let archive = folder.join("archive.tar");
    shell::run(Command::new("git").current_dir(root()).args(["archive", "--output"]).arg(&archive).arg(commit))?;
    shell::run(Command::new("tar").arg("-xf").arg(&archive).arg("-C").arg(folder))
}

/// Builds the driver against the library in `tree`, with the dependencies that the tree has locked; returns the program.
fn build(folder: &Path, name: &str, tree: &Path, version: &str) -> Result<PathBuf> {
    let package = folder.join(format!("driver-{name}"));
    fs::create_dir_all(package.join("src"))?;
    fs::write(package.join("src/main.rs"), DRIVER)?;
    fs::write(package.join("src/version.rs"), version)?;
    fs::copy(tree.join("Cargo.lock"), package.join("Cargo.lock")).context("the tree has no Cargo.lock")?;
    let library = tree.join("crates/evenkeel");
    let manifest = format!(
        "[package]\nname = \"driver-{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n\
         evenkeel = {{ path = {library:?}, features = [\"cache\", \"queue\", \"lock\"] }}\nanyhow = \"1\"\n\
         serde = {{ version = \"1\", features = [\"derive\"] }}\n\
         tokio = {{ version = \"1\", features = [\"macros\", \"rt-multi-thread\", \"sync\"] }}\n"
    );
    fs::write(package.join("Cargo.toml"), manifest)?;
    let target = folder.join("target");
    let mut cargo = shell::cargo(&["build", "--quiet", "--manifest-path"]);
    shell::run(cargo.arg(package.join("Cargo.toml")).env("CARGO_TARGET_DIR", &target))?;
    Ok(target.join(format!("debug/driver-{name}")))
}
