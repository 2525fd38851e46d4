//! [`Collector`]: an OpenTelemetry collector that keeps the spans it receives by OTLP over HTTP with JSON.

use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// How long a test waits for spans.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// A span as its program exported it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportedSpan {
    /// The trace, in hexadecimal digits.
    pub trace: String,
    /// The span, in hexadecimal digits.
    pub id: String,
    /// The parent; empty for the root of a trace.
    pub parent: String,
    /// The name.
    pub name: String,
    /// The kind: 1 internal, 2 server, 3 client, 4 producer, 5 consumer.
    pub kind: u64,
    /// The code of the status: 0 unset, 1 ok, 2 error.
    pub status: u64,
    /// `service.name` of the program.
    pub service: String,
    /// The attributes, as text.
    pub attributes: BTreeMap<String, String>,
}

/// A collector on a free port of the loopback address, until it is dropped.
#[derive(Debug)]
pub struct Collector {
    url: String,
    spans: watch::Receiver<Vec<ExportedSpan>>,
    task: tokio::task::JoinHandle<()>,
}

impl Collector {
    /// Starts a collector.
    ///
    /// # Errors
    /// No port is free.
    pub async fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let (sender, spans) = watch::channel(Vec::new());
        let sender = Arc::new(sender);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let sender = Arc::clone(&sender);
                tokio::spawn(async move {
                    // A client that goes away, or sends no spans, adds none.
                    let _ = serve(stream, &sender).await;
                });
            }
        });
        Ok(Self { url, spans, task })
    }

    /// Its URL, for `--otlp`.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Waits until `find` returns something about the spans received so far.
    ///
    /// # Errors
    /// It returned nothing within a minute. The error lists the spans.
    pub async fn wait_for<T>(&self, mut find: impl FnMut(&[ExportedSpan]) -> Option<T>) -> Result<T> {
        let mut spans = self.spans.clone();
        let mut found = None;
        let seen = spans.wait_for(|spans| {
            found = find(spans);
            found.is_some()
        });
        let is_in_time = tokio::time::timeout(WAIT_MAX, seen).await.is_ok();
        match found {
            Some(found) if is_in_time => Ok(found),
            _ => bail!("the spans did not come; there are {:#?}", self.spans.borrow()),
        }
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Reads one request and accepts its spans.
async fn serve(stream: TcpStream, spans: &watch::Sender<Vec<ExportedSpan>>) -> Result<()> {
    let mut stream = BufReader::new(stream);
    let mut first = String::new();
    stream.read_line(&mut first).await?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await? == 0 {
            bail!("the head has no end");
        }
        match line.trim_end().to_ascii_lowercase().split_once(": ") {
            Some(("content-length", value)) => length = value.parse()?,
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    let status = match decode(&body) {
        Ok(received) if first.starts_with("POST /v1/traces ") => {
            spans.send_modify(|spans| spans.extend(received));
            "200 OK"
        }
        _ => "400 Bad Request",
    };
    let response = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{{}}"
    );
    Ok(stream.write_all(response.as_bytes()).await?)
}

/// The spans of an `ExportTraceServiceRequest`.
fn decode(body: &[u8]) -> Result<Vec<ExportedSpan>> {
    let request: Value = serde_json::from_slice(body)?;
    let mut spans = Vec::new();
    for resource in list(&request["resourceSpans"]) {
        let service = attributes(&resource["resource"]["attributes"]).remove("service.name").unwrap_or_default();
        for span in list(&resource["scopeSpans"]).iter().flat_map(|scope| list(&scope["spans"])) {
            spans.push(ExportedSpan {
                trace: text(&span["traceId"]).context("a span without trace")?,
                id: text(&span["spanId"]).context("a span without id")?,
                parent: text(&span["parentSpanId"]).unwrap_or_default(),
                name: text(&span["name"]).context("a span without name")?,
                kind: span["kind"].as_u64().unwrap_or_default(),
                status: span["status"]["code"].as_u64().unwrap_or_default(),
                service: service.clone(),
                attributes: attributes(&span["attributes"]),
            });
        }
    }
    Ok(spans)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// Attributes are objects of a key and a value of one of several types.
fn attributes(value: &Value) -> BTreeMap<String, String> {
    let all = list(value).iter().filter_map(|attribute| {
        let value = attribute["value"].as_object()?.values().next()?;
        Some((text(&attribute["key"])?, text(value).unwrap_or_else(|| value.to_string())))
    });
    all.collect()
}
