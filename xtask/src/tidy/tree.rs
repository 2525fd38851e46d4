//! The repository as the rules see it: the text files git knows or would add.

use super::source::Source;
use crate::shell;
use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::process::Command;

/// Endings of the files the rules read; data files are no text of ours.
const TEXTS: &[&str] = &["rs", "lua", "md", "toml", "sql", "css", "js", "html", "json", "yml", "yaml", "sh"];

/// One text file.
pub(crate) struct File {
    /// From the root, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
    /// Only for Rust.
    pub(crate) rust: Option<Source>,
}

impl File {
    pub(crate) fn is_under(&self, folders: &[&str]) -> bool {
        folders.iter().any(|folder| self.path.starts_with(folder))
    }

    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Whether the whole file is test code.
    pub(crate) fn is_test(&self) -> bool {
        self.path.contains("/tests/") || self.name() == "tests.rs"
    }

    /// Whether it is a script of a capability (the preludes stand before every script and are none themselves).
    pub(crate) fn is_script(&self) -> bool {
        self.path.ends_with(".lua") && self.path.contains("/scripts/") && !self.name().starts_with("prelude")
    }

    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }
}

/// All files.
pub(crate) struct Tree {
    files: Vec<File>,
    /// Of all files, also those that are no text.
    paths: BTreeSet<String>,
}

impl Tree {
    /// What git tracks, and what it would take if asked to add everything.
    pub(crate) fn of_repository() -> Result<Self> {
        let root = shell::root();
        let mut git = Command::new("git");
        git.args(["ls-files", "--cached", "--others", "--exclude-standard"]).current_dir(&root);
        let output = git.output().context("tidy asks git which files there are, and git could not be started")?;
        if !output.status.success() {
            bail!("tidy asks git which files there are: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        let mut files = Vec::new();
        let mut paths = BTreeSet::new();
        // A file that is deleted but not yet committed is still listed.
        for path in String::from_utf8(output.stdout)?.lines().filter(|path| root.join(path).exists()) {
            paths.insert(path.to_owned());
            if is_text(path) {
                let text =
                    std::fs::read_to_string(root.join(path)).with_context(|| format!("tidy cannot read {path}"))?;
                files.push((path.to_owned(), text));
            }
        }
        let mut tree = Self::of(files);
        tree.paths = paths;
        Ok(tree)
    }

    pub(crate) fn of(files: impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>) -> Self {
        let file = |(path, text): (_, _)| {
            let (path, text): (String, String) = (path, text);
            let rust = path.ends_with(".rs").then(|| Source::of(&text));
            File { path, text, rust }
        };
        let files: Vec<File> = files.into_iter().map(|(path, text)| file((path.into(), text.into()))).collect();
        let paths = files.iter().map(|file| file.path.clone()).collect();
        Self { files, paths }
    }

    pub(crate) fn files(&self) -> &[File] {
        &self.files
    }

    /// The Rust files, with their parsed form.
    pub(crate) fn rust(&self) -> impl Iterator<Item = (&File, &Source)> {
        self.files.iter().filter_map(|file| Some((file, file.rust.as_ref()?)))
    }

    /// Whether there is such a file, or a folder with files in it.
    pub(crate) fn has(&self, path: &str) -> bool {
        let inside = format!("{path}/");
        self.paths.contains(path) || self.paths.iter().any(|file| file.starts_with(&inside))
    }

    pub(crate) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }
}

fn is_text(path: &str) -> bool {
    path == ".ci/run" || path.rsplit_once('.').is_some_and(|(_, ending)| TEXTS.contains(&ending))
}
