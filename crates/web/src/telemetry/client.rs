//! [`Client`]: the HTTP client of the exporter.
//!
//! The exporter calls it on a thread of its own, which has no runtime; the request runs in the program's.

use async_trait::async_trait;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper::header::{HOST, HeaderValue};
use hyper_util::rt::TokioIo;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::runtime::Handle;

/// How long one request may take.
const SEND_MAX: Duration = Duration::from_secs(10);

/// The largest response that is read.
const RESPONSE_BYTES_MAX: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct Client {
    runtime: Handle,
    /// So that an outage is logged once.
    is_failing: AtomicBool,
}

impl Client {
    pub(super) fn new(runtime: Handle) -> Self {
        Self { runtime, is_failing: AtomicBool::new(false) }
    }

    fn note(&self, failure: Option<String>) {
        let has_failed = failure.is_some();
        let was_failing = self.is_failing.swap(has_failed, Ordering::Relaxed);
        match failure {
            Some(error) if !was_failing => {
                tracing::warn!(error, "spans cannot be exported; they are dropped until the collector accepts them");
            }
            None if was_failing => tracing::info!("the collector accepts spans again"),
            _ => {}
        }
    }
}

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let sent = self.runtime.spawn(async { tokio::time::timeout(SEND_MAX, post(request)).await });
        let answer = match sent.await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err("no response within ten seconds".into()),
            Err(error) => Err(error.into()),
        };
        self.note(match &answer {
            Ok(response) if response.status().is_success() => None,
            Ok(response) => Some(format!("the collector answered {}", response.status())),
            Err(error) => Some(error.to_string()),
        });
        answer
    }
}

/// Sends one request on a connection of its own: there is one every few seconds.
async fn post(mut request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
    let uri = std::mem::take(request.uri_mut());
    let (Some(authority), Some(path)) = (uri.authority(), uri.path_and_query()) else {
        return Err("the URL has no host".into());
    };
    *request.uri_mut() = path.as_str().parse()?;
    request.headers_mut().insert(HOST, HeaderValue::from_str(authority.as_str())?);
    let host = authority.host().trim_start_matches('[').trim_end_matches(']');
    let stream = TcpStream::connect((host, authority.port_u16().unwrap_or(80))).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let connection = tokio::spawn(connection);
    let response = sender.send_request(request.map(Full::new)).await?;
    let (parts, body) = response.into_parts();
    let body = Limited::new(body, RESPONSE_BYTES_MAX).collect().await?.to_bytes();
    connection.abort();
    Ok(Response::from_parts(parts, body))
}
