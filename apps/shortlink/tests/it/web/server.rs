//! The real program, listening on a free port.

use super::client::Client;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;
use tempfile::TempDir;
use testkit::process::{Child, Launch};

/// A running service and its folder.
pub(in crate::web) struct Server {
    pub(in crate::web) child: Child,
    pub(in crate::web) client: Client,
    launch: Launch,
    folder: Arc<TempDir>,
}

impl Server {
    /// With nothing but a folder: SQLite and the embedded store.
    pub(in crate::web) fn start() -> Server {
        Server::start_with(&[])
    }

    /// With more arguments.
    pub(in crate::web) fn start_with(arguments: &[&str]) -> Server {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        let launch = launch(&folder, arguments);
        Server::launched(launch, folder)
    }

    /// With more arguments and an environment, such as the point of the code at which it dies.
    pub(in crate::web) fn start_as(arguments: &[&str], environment: (&str, &str)) -> Server {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        let launch = launch(&folder, arguments).environment(environment.0, environment.1);
        Server::launched(launch, folder)
    }

    /// Run by another program, such as one that limits what it may use.
    pub(in crate::web) fn start_prefixed(prefix: &[&str], arguments: &[&str]) -> Server {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        let launch = launch(&folder, arguments).prefix(prefix.iter().copied());
        Server::launched(launch, folder)
    }

    /// On a disk that is full after this many KiB of a file.
    pub(in crate::web) fn start_with_file_limit(kib: u32, arguments: &[&str]) -> Server {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        let launch = launch(&folder, arguments).file_limit_kib(kib);
        Server::launched(launch, folder)
    }

    /// Starts it again on the same folder, without the extra environment.
    pub(in crate::web) fn again(mut self, arguments: &[&str]) -> Server {
        self.child.kill().unwrap();
        let launch = launch(&self.folder, arguments);
        Server::launched(launch, Arc::clone(&self.folder))
    }

    /// Ends it as an operator does, and starts it again on the same folder (and another port).
    pub(in crate::web) async fn restart(mut self) -> Server {
        assert!(self.terminate().await.success(), "{}", self.log());
        Server::launched(self.launch.clone(), Arc::clone(&self.folder))
    }

    /// Asks it to stop and waits until it has.
    pub(in crate::web) async fn terminate(&mut self) -> ExitStatus {
        self.child.terminate().await.unwrap()
    }

    /// Where it keeps its files.
    pub(in crate::web) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// What it logged.
    pub(in crate::web) fn log(&self) -> String {
        std::fs::read_to_string(self.log_file()).unwrap_or_default()
    }

    fn log_file(&self) -> PathBuf {
        Path::new(self.folder.path()).join("log")
    }

    fn launched(launch: Launch, folder: Arc<TempDir>) -> Server {
        let mut child = launch.start().unwrap();
        let mut first = String::new();
        BufReader::new(child.take_output().unwrap()).read_line(&mut first).unwrap();
        let address = first.trim_end().strip_prefix("listening on http://");
        let address = address.unwrap_or_else(|| panic!("{first:?}, then:\n{}", child.log_tail())).to_owned();
        Server { child, client: Client { address }, launch, folder }
    }
}

fn launch(folder: &TempDir, arguments: &[&str]) -> Launch {
    Launch::new(env!("CARGO_BIN_EXE_shortlink"), folder.path().join("log"))
        .piped()
        .arguments(["--listen", "127.0.0.1:0", "--data"])
        .argument(folder.path().join("data"))
        .arguments(arguments)
}
