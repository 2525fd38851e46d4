//! An HTTP client for JSON. Each request opens a connection.

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A client of one server.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    /// `HOST:PORT`
    pub(crate) address: String,
}

/// A response.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    head: String,
    pub(crate) text: String,
}

impl Client {
    pub(crate) async fn get(&self, path: &str) -> Response {
        self.send("GET", path, "", "").await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Response {
        self.send("POST", path, "content-type: application/json\r\n", &body.to_string()).await
    }

    /// Sends a request with these header lines.
    pub(crate) async fn send(&self, method: &str, path: &str, headers: &str, body: &str) -> Response {
        self.send_bytes(method, path, headers, body.as_bytes()).await
    }

    /// Sends a request whose body need not be UTF-8.
    pub(crate) async fn send_bytes(&self, method: &str, path: &str, headers: &str, body: &[u8]) -> Response {
        let (address, length) = (&self.address, body.len());
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n"
        );
        self.response(&[head.as_bytes(), body].concat()).await.unwrap()
    }

    /// `None` if the connection closes without a response, as it may while the service restarts its listener.
    pub(crate) async fn try_get(&self, path: &str) -> Option<Response> {
        let request = format!("GET {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", self.address);
        self.response(request.as_bytes()).await
    }

    async fn response(&self, request: &[u8]) -> Option<Response> {
        let mut stream = TcpStream::connect(&self.address).await.ok()?;
        stream.write_all(request).await.ok()?;
        let mut response = String::new();
        stream.read_to_string(&mut response).await.ok()?;
        let (head, text) = response.split_once("\r\n\r\n")?;
        Some(Response { status: head[9..12].parse().unwrap(), head: head.to_lowercase(), text: text.to_owned() })
    }
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    pub(crate) fn value(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|why| panic!("{why}: {}", self.text))
    }

    /// Checks that this is a problem document whose `type` ends with `slug`, and returns its detail.
    #[track_caller]
    pub(crate) fn problem(&self, status: u16, slug: &str) -> String {
        assert_eq!(self.status, status, "{}", self.text);
        assert_eq!(self.header("content-type"), Some("application/problem+json"));
        assert_eq!(self.header("x-short-id").map(str::len), Some(8));
        let problem = self.value();
        assert_eq!(problem["type"], format!("/docs#{slug}"), "{problem}");
        assert_eq!(problem["status"], status, "{problem}");
        problem["detail"].as_str().unwrap().to_owned()
    }

    /// Checks the status and returns the body.
    #[track_caller]
    pub(crate) fn is(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        self.value()
    }
}
