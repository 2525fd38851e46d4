//! An HTTP client that sends and returns raw bytes, so that tests can compare headers byte for byte.

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Sends requests to one server, each on a connection of its own.
#[derive(Clone, Debug)]
pub(in crate::web) struct Client {
    /// `HOST:PORT`
    pub(in crate::web) address: String,
}

/// What a server answered.
#[derive(Debug)]
pub(in crate::web) struct Response {
    pub(in crate::web) status: u16,
    /// Status line and headers as they came.
    pub(in crate::web) head: Vec<u8>,
    headers: Vec<(String, Vec<u8>)>,
    pub(in crate::web) body: Vec<u8>,
}

impl Client {
    pub(in crate::web) async fn get(&self, path: &str) -> Response {
        self.send("GET", path, &[], b"").await
    }

    /// `None` if the connection ended without an answer, as one may that is idle while the service opens.
    pub(in crate::web) async fn try_get(&self, path: &str) -> Option<Response> {
        self.try_send("GET", path, &[], b"").await.ok()
    }

    pub(in crate::web) async fn head(&self, path: &str) -> Response {
        self.send("HEAD", path, &[], b"").await
    }

    pub(in crate::web) async fn delete(&self, path: &str) -> Response {
        self.send("DELETE", path, &[], b"").await
    }

    pub(in crate::web) async fn json(&self, method: &str, path: &str, body: &Value) -> Response {
        self.send(method, path, &[("content-type", "application/json")], body.to_string().as_bytes()).await
    }

    /// Creates a link and returns its code.
    pub(in crate::web) async fn make(&self, body: &Value) -> String {
        let answer = self.json("POST", "/api/links", body).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
        answer.value()["code"].as_str().unwrap().to_owned()
    }

    /// Sends a form as a browser does.
    pub(in crate::web) async fn form(&self, path: &str, fields: &[(&str, &str)]) -> Response {
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let headers = [
            ("content-type", "application/x-www-form-urlencoded"),
            ("accept", "text/html,application/xhtml+xml"),
            ("sec-fetch-site", "same-origin"),
        ];
        self.send("POST", path, &headers, body.as_bytes()).await
    }

    /// Sends one request. `Host`, `Connection` and `Content-Length` are added unless `headers` has them.
    pub(in crate::web) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Response {
        self.try_send(method, path, headers, body).await.unwrap()
    }

    pub(in crate::web) async fn try_send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> std::io::Result<Response> {
        let has = |name: &str| headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name));
        let mut head = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
        if !has("host") {
            head += &format!("host: {}\r\n", self.address);
        }
        if !has("content-length") && !has("transfer-encoding") && (!body.is_empty() || method == "POST") {
            head += &format!("content-length: {}\r\n", body.len());
        }
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        self.raw(&[head.as_bytes(), b"\r\n", body].concat(), method == "HEAD").await
    }

    /// Sends bytes as they are and reads the answer to its end.
    pub(in crate::web) async fn raw(&self, request: &[u8], is_head: bool) -> std::io::Result<Response> {
        let mut stream = TcpStream::connect(&self.address).await?;
        // A server that refuses a large body early closes while we still write; its answer is there all the same.
        let _ = stream.write_all(request).await;
        read_answer(&mut stream, is_head).await
    }
}

/// Reads one answer of a connection that the server then closes.
pub(in crate::web) async fn read_answer(stream: &mut TcpStream, is_head: bool) -> std::io::Result<Response> {
    let mut bytes = Vec::new();
    let broken = stream.read_to_end(&mut bytes).await.err();
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n");
    let Some(end) = end else { return Err(broken.unwrap_or(std::io::ErrorKind::UnexpectedEof.into())) };
    let body = bytes.split_off(end + 4);
    let mut lines = bytes[..end].split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let status = std::str::from_utf8(&lines.next().unwrap()[9..12]).unwrap().parse().unwrap();
    let headers: Vec<(String, Vec<u8>)> = lines
        .map(|line| {
            let colon = line.iter().position(|byte| *byte == b':').unwrap();
            let name = String::from_utf8(line[..colon].to_vec()).unwrap();
            (name, line[colon + 1..].trim_ascii_start().to_vec())
        })
        .collect();
    let mut answer = Response { status, head: bytes[..end].to_vec(), headers, body };
    if answer.header("transfer-encoding") == Some("chunked") {
        answer.body = dechunked(&answer.body).ok_or(std::io::ErrorKind::UnexpectedEof)?;
    } else if !is_head && let Some(length) = answer.header("content-length") {
        let length: usize = length.parse().unwrap();
        assert_eq!(answer.body.len(), length, "the body is as long as was said");
    }
    if is_head {
        assert!(answer.body.is_empty(), "an answer to HEAD has no body");
    }
    Ok(answer)
}

/// `None` if the last chunk is missing.
fn dechunked(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = rest.windows(2).position(|window| window == b"\r\n")?;
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..line]).ok()?, 16).ok()?;
        if size == 0 {
            return Some(body);
        }
        body.extend_from_slice(rest.get(line + 2..line + 2 + size)?);
        rest = rest.get(line + 4 + size..)?;
    }
}

impl Response {
    /// The only header of this name; two are a failure.
    pub(in crate::web) fn header(&self, name: &str) -> Option<&str> {
        self.header_bytes(name).map(|value| std::str::from_utf8(value).unwrap())
    }

    pub(in crate::web) fn header_bytes(&self, name: &str) -> Option<&[u8]> {
        let mut named = self.headers.iter().filter(|(given, _)| given.eq_ignore_ascii_case(name));
        let value = named.next()?;
        assert!(named.next().is_none(), "{name} comes twice");
        Some(&value.1)
    }

    pub(in crate::web) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(in crate::web) fn value(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|why| panic!("{why}: {}", self.text()))
    }

    pub(in crate::web) fn consistency(&self) -> &str {
        self.header("x-consistency-state").unwrap_or("(none)")
    }

    /// Checks that this is a problem document of the kind `slug`, and returns it.
    #[track_caller]
    pub(in crate::web) fn problem(&self, status: u16, slug: &str) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        assert_eq!(self.header("content-type"), Some("application/problem+json"));
        assert_eq!(self.header("cache-control"), Some("no-store"));
        let problem = self.value();
        assert_eq!(problem["type"], format!("/docs#{slug}"), "{problem}");
        assert_eq!(problem["status"], status, "{problem}");
        for field in ["title", "detail"] {
            assert!(problem[field].as_str().is_some_and(|text| !text.is_empty()), "{problem}");
        }
        problem
    }
}
