//! A running console, and a plain HTTP client.

use crate::program::evenkeel;
use evenkeel::Keel;
use evenkeel::link::Link;
use evenkeel::queue::{Delivery, Handled};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::ChildStdout;
use tempfile::TempDir;
use testkit::park::{self, SharedRedis};
use testkit::process::{Child, Launch};
use testkit::proxy::Proxy;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use url::Url;

/// The console of a Redis with a topic `mail`.
pub(crate) struct Console {
    _child: Child,
    _redis: Option<SharedRedis>,
    pub(crate) url: String,
    pub(crate) folder: TempDir,
    pub(crate) address: String,
    pub(crate) keel: Keel,
    /// The tokens of a viewer, an operator and an admin; empty without a login.
    pub(crate) tokens: Vec<String>,
}

/// The oldest end of the letters of a form that takes all.
pub(crate) const FIRST: &str = "0:00000000000000000000000000000000";

/// A response.
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) text: String,
}

/// The address on which a program says that it listens.
pub(super) fn announced(child: &mut Child) -> String {
    let mut first = String::new();
    BufReader::new(child.take_output().unwrap()).read_line(&mut first).unwrap();
    let address = first.trim_end().strip_prefix("listening on http://");
    address.unwrap_or_else(|| unreachable!("{first:?}\n{}", child.log_tail())).to_owned()
}

/// The tokens of a viewer, an operator and an admin, in a new token file.
pub(super) fn new_tokens(file: &Path) -> Vec<String> {
    let new = |role: &str| {
        let made = evenkeel(&["token", "new", role, "--role", role, "--tokens", file.to_str().unwrap()]);
        assert_eq!(made.code, 0, "{}", made.err);
        made.out.trim().to_owned()
    };
    ["viewer", "operator", "admin"].map(new).to_vec()
}

/// A Redis with a topic and a stream.
async fn opened() -> (SharedRedis, String, Keel) {
    let redis = park::redis().await.unwrap();
    let url = format!("{}?prefix={}", redis.url, redis.prefix);
    let keel = Keel::connect(&url).await.unwrap();
    keel.queue::<Value>("mail").retries(0).open().await.unwrap();
    keel.stream::<Value>("orders").partitions(2).open().await.unwrap();
    (redis, url, keel)
}

/// Holds the time of all scripts under the prefix of a link.
pub(crate) async fn hold_time(link: &Link, now_ms: u64) {
    let key = format!("{}:test:now_ms", link.prefix());
    link.command(key.as_bytes(), redis::cmd("SET").arg(&key).arg(now_ms)).await.unwrap();
}

impl Console {
    pub(crate) async fn start(with_login: bool) -> Self {
        Self::start_with(with_login, None).await
    }

    /// With a database, which the caller keeps.
    pub(crate) async fn start_with(with_login: bool, database: Option<&str>) -> Self {
        let (redis, url, keel) = opened().await;
        Self::serve(Some(redis), url, keel, with_login, database)
    }

    /// A console of a Redis that does not exist.
    pub(crate) async fn unreachable(url: &str) -> Self {
        let keel = Keel::connect_lazy(url).await.unwrap();
        Self::serve(None, url.to_owned(), keel, false, None)
    }

    /// A console that reaches Redis through a proxy; `keel` does not.
    pub(crate) async fn start_behind_proxy(seed: u64) -> (Self, Proxy) {
        let (redis, url, keel) = opened().await;
        let port = Url::parse(&redis.url).unwrap().port().unwrap();
        let proxy = Proxy::start(port, seed).await.unwrap();
        (Self::serve(Some(redis), proxy.url(&url), keel, false, None), proxy)
    }

    /// Holds Redis's time for all scripts under the prefix.
    pub(crate) async fn hold_time(&self, now_ms: u64) {
        hold_time(self.keel.link().unwrap(), now_ms).await;
    }

    /// Another console of the same Redis.
    pub(crate) async fn another(&self) -> Self {
        Self::serve(None, self.url.clone(), self.keel.clone(), false, None)
    }

    /// Another console of the same Redis, which logs actions to this file, and what it prints after its address.
    pub(super) fn another_with_audit_log(&self, file: &str) -> (Self, BufReader<ChildStdout>) {
        let folder = tempfile::tempdir().unwrap();
        let launch = Launch::new(env!("CARGO_BIN_EXE_evenkeel"), folder.path().join("log")).piped().arguments([
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--redis",
            &self.url,
            "--audit-log",
            file,
        ]);
        let mut child = launch.start().unwrap();
        let mut output = BufReader::new(child.take_output().unwrap());
        let mut first = String::new();
        output.read_line(&mut first).unwrap();
        let address = first.trim_end().strip_prefix("listening on http://");
        let address = address.unwrap_or_else(|| unreachable!("{first:?}\n{}", child.log_tail())).to_owned();
        let (url, keel) = (self.url.clone(), self.keel.clone());
        (Self { _child: child, _redis: None, url, folder, address, keel, tokens: Vec::new() }, output)
    }

    fn serve(redis: Option<SharedRedis>, url: String, keel: Keel, with_login: bool, database: Option<&str>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (file, audit) = (folder.path().join("tokens"), folder.path().join("audit"));
        let tokens = if with_login { new_tokens(&file) } else { Vec::new() };
        let mut launch = Launch::new(env!("CARGO_BIN_EXE_evenkeel"), folder.path().join("log"))
            .piped()
            .arguments(["serve", "--listen", "127.0.0.1:0", "--redis", &url, "--show", "mail=shown", "--audit-log"])
            .argument(&audit);
        if with_login {
            launch = launch.argument("--tokens").argument(&file);
        }
        if let Some(database) = database {
            launch = launch.argument("--database").argument(database);
        }
        let mut child = launch.start().unwrap();
        let address = announced(&mut child);
        Self { _child: child, _redis: redis, url, folder, address, keel, tokens }
    }

    /// Makes a dead letter of this body with this error.
    pub(crate) async fn add_dead(&self, body: Value, error: &'static str) {
        self.add_letters(1, &body, error).await;
    }

    /// Makes dead letters with this error.
    pub(crate) async fn add_dead_many(&self, count: usize, error: &'static str) {
        self.add_letters(count, &Value::Null, error).await;
    }

    async fn add_letters(&self, count: usize, body: &Value, error: &'static str) {
        let mail = self.keel.queue::<Value>("mail").retries(0).open().await.unwrap();
        for _ in 0..count {
            mail.job(body).enqueue().await.unwrap();
        }
        self.die(count, error).await;
    }

    /// Lets this number of due jobs, which are all, die with this error.
    pub(crate) async fn die(&self, count: usize, error: &'static str) {
        let mail = self.keel.queue::<Value>("mail").retries(0).open().await.unwrap();
        let (ended, mut ends) = tokio::sync::mpsc::unbounded_channel();
        let consumer = mail.consume(move |_: Delivery<Value>| {
            let _ = ended.send(());
            async move { Err::<Handled, _>(error) }
        });
        let all = async {
            for _ in 0..count {
                ends.recv().await.unwrap();
            }
        };
        consumer.run(all).await.unwrap();
    }

    pub(crate) async fn get(&self, path: &str, headers: &str) -> Response {
        self.send("GET", path, headers, "").await
    }

    pub(crate) async fn send(&self, method: &str, path: &str, headers: &str, body: &str) -> Response {
        let host = if headers.starts_with("host:") { String::new() } else { format!("host: {}\r\n", self.address) };
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\n{host}connection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
        );
        let mut stream = TcpStream::connect(&self.address).await.unwrap();
        // A server that refuses a body closes the connection while it is sent.
        let _ = stream.write_all(request.as_bytes()).await;
        let mut response = Vec::new();
        let _ = stream.read_to_end(&mut response).await;
        let response = String::from_utf8_lossy(&response).into_owned();
        let (head, text) = response.split_once("\r\n\r\n").unwrap_or((&response, ""));
        Response { status: head[9..12].parse().unwrap(), head: head.to_lowercase(), text: text.to_owned() }
    }

    /// `Cookie` and CSRF token of a first visit to this page.
    pub(crate) async fn visit(&self, path: &str, headers: &str) -> (String, String) {
        let page = self.get(path, headers).await;
        let cookie = page.head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
        let cookie = cookie.split(';').next().unwrap().to_owned();
        let csrf =
            page.text.split("name=\"csrf\" value=\"").nth(1).map(|rest| rest.split('"').next().unwrap().to_owned());
        (cookie, csrf.unwrap_or_default())
    }

    /// Sends a form of `page` to `action`, and returns the page to which it leads.
    pub(crate) async fn act(&self, page: &str, action: &str, fields: &str) -> Response {
        let (cookie, csrf) = self.visit(page, "").await;
        let sent = self.send("POST", action, &self.form(&cookie), &format!("csrf={csrf}&{fields}")).await;
        assert_eq!(sent.status, 303, "{action}: {}{}", sent.head, sent.text);
        let line = |name: &str| sent.head.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        let notice = line("set-cookie: ").split(';').next().unwrap();
        self.get(line("location: "), &format!("cookie: {cookie}; {notice}\r\n")).await
    }

    /// The header lines of a form of the console.
    pub(crate) fn form(&self, cookie: &str) -> String {
        format!(
            "origin: http://{}\r\ncookie: {cookie}\r\ncontent-type: application/x-www-form-urlencoded\r\n",
            self.address
        )
    }
}
