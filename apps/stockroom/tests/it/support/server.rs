//! The program, listening on a free port.

use super::client::Client;
use serde_json::json;
use std::io::{BufRead, BufReader};
use std::path::Path;
use tempfile::TempDir;
use testkit::process::{Child, Launch};

/// A running service and its folder.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) client: Client,
    folder: TempDir,
}

impl Server {
    /// Starts on SQLite and embedded locks.
    pub(crate) fn start() -> Server {
        Server::start_with(&[])
    }

    /// Starts with arguments.
    pub(crate) fn start_with(arguments: &[&str]) -> Server {
        Server::launch(arguments, |launch| launch)
    }

    /// Starts with arguments and an environment variable, such as the point of the code at which it dies.
    pub(crate) fn start_as(arguments: &[&str], environment: (&str, &str)) -> Server {
        Server::launch(arguments, |launch| launch.environment(environment.0, environment.1))
    }

    /// Starts on a disk that is full after this many KiB of a file.
    pub(crate) fn start_with_file_limit(kib: u32) -> Server {
        Server::launch(&[], |launch| launch.file_limit_kib(kib))
    }

    fn launch(arguments: &[&str], adapt: impl FnOnce(Launch) -> Launch) -> Server {
        let folder = tempfile::tempdir().unwrap();
        let launch = Launch::new(env!("CARGO_BIN_EXE_stockroom"), folder.path().join("log"))
            .piped()
            .arguments(["--listen", "127.0.0.1:0", "--data"])
            .argument(folder.path().join("data"))
            .arguments(arguments);
        let mut child = adapt(launch).start().unwrap();
        let mut first = String::new();
        BufReader::new(child.take_output().unwrap()).read_line(&mut first).unwrap();
        let address = first.trim_end().strip_prefix("listening on http://");
        let address = address.unwrap_or_else(|| panic!("{first:?}, then:\n{}", child.log_tail())).to_owned();
        Server { child, client: Client { address }, folder }
    }

    /// The log.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// The folder of the log and the data.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Adds products.
    pub(crate) async fn with_products(self, names: &[&str]) -> Server {
        for name in names {
            self.client.post("/api/products", &json!({ "name": name })).await.is(201);
        }
        self
    }

    /// Receives goods and returns the stock.
    pub(crate) async fn receive(&self, name: &str, quantity: i64, day: &str) -> i64 {
        let body = json!({ "commodityName": name, "quantity": quantity, "day": day });
        let response = self.client.post("/api/arrivals", &body).await;
        assert!(matches!(response.status, 200 | 201), "{}", response.text);
        response.value()["stock"].as_i64().unwrap()
    }
}
