//! The program of a server: a name looked up in the usual folders, or a command line from the environment.

use crate::process::Launch;
use anyhow::{Result, bail};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folders in which distributions install servers outside of the `PATH`.
const FOLDERS: [&str; 3] = ["/usr/sbin", "/usr/local/sbin", "/sbin"];

/// The program of a server, which may run in another root folder.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    /// The folder that is `/` to the program.
    pub(super) root: Option<PathBuf>,
    /// Its path as seen from that root.
    pub(super) path: PathBuf,
}

impl Program {
    /// The command line in the environment variable `variable`, or the first of `names` that is installed.
    pub(crate) fn find(variable: &str, names: &[&str]) -> Result<Program> {
        if let Ok(line) = std::env::var(variable) {
            return Program::parse(variable, &line);
        }
        match names.iter().find_map(|name| installed(name)) {
            Some(path) => Ok(Program { root: None, path }),
            None => bail!("{} is not installed: run `cargo xtask setup`", names[0]),
        }
    }

    /// A program of the same installation, such as `mariadb-install-db` next to `mariadbd`.
    pub(super) fn sibling(&self, name: &str) -> Program {
        let adjacent =
            self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).map(|folder| folder.join(name));
        let found = match &self.root {
            Some(_) => None,
            None => adjacent.filter(|path| path.exists()).or_else(|| installed(name)),
        };
        Program { root: self.root.clone(), path: found.unwrap_or_else(|| PathBuf::from(name)) }
    }

    /// The launch parameters of the server as a child process with this log.
    pub(crate) fn launch(&self, log: &Path) -> Launch {
        Launch::new(&self.path, log).prefix(self.prefix())
    }

    /// The program as a command, for a short call.
    pub(super) fn command(&self) -> Command {
        let prefix = self.prefix();
        let mut command = Command::new(prefix.first().copied().unwrap_or(self.path.as_os_str()));
        command.args(prefix.iter().skip(1));
        if !prefix.is_empty() {
            command.arg(&self.path);
        }
        command
    }

    /// The message if the program could not be run.
    pub(super) fn missing(&self) -> String {
        format!("could not run {}: run `cargo xtask setup`", self.path.display())
    }

    /// `path` as the program sees it.
    pub(super) fn inside(&self, path: &Path) -> PathBuf {
        match self.root.as_ref().and_then(|root| path.strip_prefix(root).ok()) {
            Some(below) => Path::new("/").join(below),
            None => path.to_owned(),
        }
    }

    fn prefix(&self) -> Vec<&OsStr> {
        self.root.as_deref().map_or_else(Vec::new, |root| vec![OsStr::new("chroot"), root.as_os_str()])
    }

    fn parse(variable: &str, line: &str) -> Result<Program> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [path] => Ok(Program { root: None, path: installed(path).unwrap_or_else(|| PathBuf::from(path)) }),
            ["chroot", root, path] => Ok(Program { root: Some(PathBuf::from(root)), path: PathBuf::from(path) }),
            _ => bail!("{variable} is {line:?}: use a program, or `chroot FOLDER PROGRAM`"),
        }
    }
}

/// Finds `name` on the `PATH`, in the usual folders of servers, or in the folder of the newest PostgreSQL.
fn installed(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(FOLDERS.map(PathBuf::from)).chain(postgres_folders());
    folders.map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// `/usr/lib/postgresql/*/bin`, newest first.
fn postgres_folders() -> Vec<PathBuf> {
    let entries = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut versions: Vec<(u32, PathBuf)> = entries
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .collect();
    versions.sort_unstable_by_key(|version| std::cmp::Reverse(version.0));
    versions.into_iter().map(|(_, folder)| folder).collect()
}
