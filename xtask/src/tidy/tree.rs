//! The text files of the repository, as git lists them.

use crate::shell;
use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::process::Command;

/// Extensions of the files that the rules read.
const TEXTS: &[&str] = &["rs", "lua", "md", "toml", "sql", "css", "js", "html", "json", "yml", "yaml", "sh"];

/// How the unit tests of a file begin: a module, or a test at the left margin.
const UNIT_TESTS: [&str; 3] = ["mod tests {", "#[test]", "#[tokio::test]"];

/// One text file.
pub(crate) struct File {
    /// From the root, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl File {
    pub(crate) fn is_under(&self, folders: &[&str]) -> bool {
        folders.iter().any(|folder| self.path.starts_with(folder))
    }

    /// The path of a source of the library within it, whichever of its crates it is in: `cache/cache.rs`, `link/options.rs`.
    pub(crate) fn in_library(&self) -> Option<String> {
        if let Some(inner) = self.path.strip_prefix("crates/link/src/") {
            let is_shared = ["clock.rs", "token.rs"].contains(&inner);
            return Some(if is_shared { inner.to_owned() } else { format!("link/{inner}") });
        }
        if let Some(inner) = self.path.strip_prefix("crates/published/src/") {
            return Some(format!("published/{inner}"));
        }
        if let Some(file) = self.path.strip_prefix("crates/evenkeel/src/keel/") {
            // The methods of the handle belong to their capabilities.
            let is_of_all = ["mod.rs", "builder.rs", "testing.rs"].contains(&file);
            return Some(if is_of_all { "keel.rs".to_owned() } else { file.replace(".rs", "/keel.rs") });
        }
        ["crates/evenkeel/src/", "crates/protocol/src/"]
            .iter()
            .find_map(|crate_| Some(self.path.strip_prefix(crate_)?.to_owned()))
    }

    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Whether the whole file is test code.
    pub(crate) fn is_test(&self) -> bool {
        self.path.contains("/tests/") || self.name() == "tests.rs"
    }

    /// Whether it is a script of a capability. Preludes and the parts in `shared/` are prepended to scripts and do not count.
    pub(crate) fn is_script(&self) -> bool {
        self.path.ends_with(".lua") && !self.path.contains("/shared/") && !self.name().starts_with("prelude")
    }

    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }

    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Lines of Rust code: without comments, and outside of `tests/` without the unit tests, which end their file.
    pub(crate) fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let is_test = self.is_test();
        let code = self.lines().take_while(move |(_, line)| is_test || !UNIT_TESTS.contains(line));
        code.filter(|(_, line)| !line.trim_start().starts_with("//")).map(|(number, line)| {
            let end = line.find(" // ").unwrap_or(line.len());
            (number, &line[..end])
        })
    }
}

/// All files of the repository.
pub(crate) struct Tree {
    files: Vec<File>,
    /// The paths of all files, including binary ones.
    paths: BTreeSet<String>,
}

impl Tree {
    /// The files that git tracks, and those that `git add --all` would add.
    pub(crate) fn of_repository() -> Result<Self> {
        let root = shell::root();
        let mut git = Command::new("git");
        git.args(["ls-files", "--cached", "--others", "--exclude-standard"]).current_dir(&root);
        let output = git.output().context("tidy could not start git")?;
        if !output.status.success() {
            bail!("git ls-files failed: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        let mut files = Vec::new();
        let mut paths = BTreeSet::new();
        // Git also lists deleted files until the deletion is committed.
        for path in String::from_utf8(output.stdout)?.lines().filter(|path| root.join(path).exists()) {
            paths.insert(path.to_owned());
            if is_text(path) {
                let text =
                    std::fs::read_to_string(root.join(path)).with_context(|| format!("could not read {path}"))?;
                files.push((path.to_owned(), text));
            }
        }
        let mut tree = Self::of(files);
        tree.paths = paths;
        Ok(tree)
    }

    pub(crate) fn of(files: impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>) -> Self {
        let files: Vec<File> =
            files.into_iter().map(|(path, text)| File { path: path.into(), text: text.into() }).collect();
        let paths = files.iter().map(|file| file.path.clone()).collect();
        Self { files, paths }
    }

    pub(crate) fn files(&self) -> &[File] {
        &self.files
    }

    pub(crate) fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.is_rust())
    }

    /// Whether there is a file or a non-empty folder of this path.
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
