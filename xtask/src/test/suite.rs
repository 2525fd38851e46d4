//! Test binaries, for tasks that run single tests.

use crate::shell::{self, cargo};
use anyhow::{Context, Result};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A test binary, as `cargo nextest list` describes it.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Suite {
    binary_path: PathBuf,
    cwd: PathBuf,
    testcases: BTreeMap<String, serde_json::Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Suites {
    rust_suites: BTreeMap<String, Suite>,
}

impl Suite {
    /// All test binaries of the workspace.
    pub(crate) fn all() -> Result<Vec<Self>> {
        Self::list(&["--workspace"])
    }

    /// The test binary of the library with this test, built with optimizations.
    pub(crate) fn optimized(test: &str) -> Result<Self> {
        let all = Self::list(&["--package", "evenkeel", "--all-features", "--cargo-profile", "sim", "--test", "it"])?;
        Self::find(all, test)
    }

    fn list(of: &[&str]) -> Result<Vec<Self>> {
        let mut list = cargo(&["nextest", "list", "--message-format", "json"]);
        let output = list.args(of).stderr(Stdio::inherit()).output()?;
        let suites: Suites = serde_json::from_slice(&output.stdout).context("cargo nextest list")?;
        Ok(suites.rust_suites.into_values().collect())
    }

    /// The test binary that has the test of this path.
    pub(crate) fn with(test: &str) -> Result<Self> {
        Self::find(Self::all()?, test)
    }

    fn find(all: Vec<Self>, test: &str) -> Result<Self> {
        let with = all.into_iter().find(|suite| suite.testcases.contains_key(test));
        with.with_context(|| format!("there is no test `{test}`"))
    }

    /// The paths of its tests.
    pub(crate) fn tests(&self) -> impl Iterator<Item = &str> {
        self.testcases.keys().map(String::as_str)
    }

    /// The command that runs one test.
    pub(crate) fn command(&self, test: &str) -> Command {
        let mut command = Command::new(&self.binary_path);
        command.args(["--exact", test, "--nocapture"]).current_dir(&self.cwd).env("CARGO_MANIFEST_DIR", &self.cwd);
        command
    }
}

impl std::fmt::Display for Suite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&shell::line(&Command::new(&self.binary_path)))
    }
}
