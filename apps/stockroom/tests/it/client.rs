//! Requests with JSON, each on a connection of its own.

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Sends requests to one server.
#[derive(Clone, Debug)]
pub(super) struct Client {
    /// `HOST:PORT`
    pub(super) address: String,
}

/// What a server answered.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    head: String,
    pub(super) text: String,
}

impl Client {
    pub(super) async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, "", "").await
    }

    pub(super) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, "content-type: application/json\r\n", &body.to_string()).await
    }

    /// Sends one request with these header lines.
    pub(super) async fn send(&self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-length: {}\r\n{headers}\r\n{body}",
            self.address,
            body.len()
        );
        self.answer(&request).await.unwrap()
    }

    /// `None` if the connection ended without an answer, as one may that is idle while the service opens.
    pub(super) async fn try_get(&self, path: &str) -> Option<Answer> {
        let request = format!("GET {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", self.address);
        self.answer(&request).await
    }

    async fn answer(&self, request: &str) -> Option<Answer> {
        let mut stream = TcpStream::connect(&self.address).await.ok()?;
        stream.write_all(request.as_bytes()).await.ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.ok()?;
        let (head, text) = answer.split_once("\r\n\r\n")?;
        Some(Answer { status: head[9..12].parse().unwrap(), head: head.to_lowercase(), text: text.to_owned() })
    }
}

impl Answer {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    pub(super) fn value(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|why| panic!("{why}: {}", self.text))
    }

    /// Checks that this is a problem document of the kind named last in `type`, and answers its detail.
    #[track_caller]
    pub(super) fn problem(&self, status: u16, slug: &str) -> String {
        assert_eq!(self.status, status, "{}", self.text);
        assert_eq!(self.header("content-type"), Some("application/problem+json"));
        assert_eq!(self.header("x-short-id").map(str::len), Some(8));
        let problem = self.value();
        assert_eq!(problem["type"], format!("/docs#{slug}"), "{problem}");
        assert_eq!(problem["status"], status, "{problem}");
        problem["detail"].as_str().unwrap().to_owned()
    }

    /// Checks the status and answers the body.
    #[track_caller]
    pub(super) fn is(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        self.value()
    }
}
