//! [`Remote`]: the HTTP client for a running service.

use super::row::TransferRow;
use super::tls;
use crate::http::api::bulk::{ImportOutcome, ImportReport};
use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use evenkeel::clock::Clock;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{self, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use std::path::Path;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use url::{Position, Url};

/// The size of a request's rows: the service's body limit, less the enclosing JSON.
const BODY_BYTES_MAX: usize = 60 * 1024;

/// How long a service may take to respond, or to send the next part of an export.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The largest response to one batch, and the largest problem document, that is read.
const RESPONSE_BYTES_MAX: usize = 4 << 20;

type Sender = SendRequest<Full<Bytes>>;

/// A connection to a running service.
pub struct Remote {
    /// Without user and password, and with a slash at the end of its path.
    base: Url,
    /// User and password, for a proxy that asks for them.
    authorization: Option<HeaderValue>,
    /// For `https://`.
    tls: Option<TlsConnector>,
    clock: Clock,
    sender: Option<Sender>,
}

/// The shown fields of a problem document (RFC 9457).
#[derive(Deserialize)]
struct Problem {
    title: Option<String>,
    detail: Option<String>,
}

impl Remote {
    /// The service at `address`, such as `http://127.0.0.1:8080` or `https://user:password@example.com/links`. For `https://`, `ca` is
    /// a PEM file of the certificate authorities to trust instead of the public ones. Does not connect yet.
    ///
    /// # Errors
    /// `address` is not such a URL, or `ca` cannot be used.
    pub fn new(address: &str, ca: Option<&Path>, clock: Clock) -> Result<Self> {
        let shown = without_user(address);
        let wrong = || format!("--server needs a URL such as http://127.0.0.1:8080, not {shown:?}");
        let mut base = Url::parse(address).with_context(wrong)?;
        let is_address = matches!(base.scheme(), "http" | "https") && base.has_host();
        if !is_address || base.query().is_some() || base.fragment().is_some() {
            bail!(wrong());
        }
        let is_encrypted = base.scheme() == "https";
        if ca.is_some() && !is_encrypted {
            bail!("--ca is for https:// addresses; {shown} is not encrypted");
        }
        let tls = is_encrypted.then(|| tls::connector(ca)).transpose()?;
        let authorization = authorization(&base)?;
        // Neither fails for a URL with a host.
        let _ = base.set_username("").and_then(|()| base.set_password(None));
        if !base.path().ends_with('/') {
            base.set_path(&format!("{}/", base.path()));
        }
        Ok(Self { base, authorization, tls, clock, sender: None })
    }

    /// Sends rows in as many requests as needed. Returns the outcome of each.
    pub(super) async fn import(&mut self, rows: Vec<TransferRow>) -> Result<Vec<ImportOutcome>> {
        let mut answers = Vec::with_capacity(rows.len());
        let mut body = String::new();
        for row in rows {
            let row = serde_json::to_string(&row)?;
            if !body.is_empty() && body.len() + row.len() >= BODY_BYTES_MAX {
                answers.extend(self.send_rows(&std::mem::take(&mut body)).await?);
            }
            if !body.is_empty() {
                body.push(',');
            }
            body.push_str(&row);
        }
        if !body.is_empty() {
            answers.extend(self.send_rows(&body).await?);
        }
        Ok(answers)
    }

    /// Requests all links as JSON Lines.
    pub(super) async fn export(&mut self) -> Result<Lines> {
        let response = self.send(Method::GET, "api/export?clicks=true", String::new()).await?;
        Ok(Lines { body: response.into_body(), rest: Vec::new(), clock: self.clock.clone(), base: self.base.clone() })
    }

    async fn send_rows(&mut self, rows: &str) -> Result<Vec<ImportOutcome>> {
        let response = self.send(Method::POST, "api/import", format!("{{\"rows\":[{rows}]}}")).await?;
        let report: ImportReport = serde_json::from_slice(&self.read(response).await?)
            .with_context(|| format!("{} did not respond like a shortlink service", self.base))?;
        Ok(report.outcomes)
    }

    /// Sends a request. Returns a successful response; another one is an error.
    async fn send(&mut self, method: Method, path: &str, body: String) -> Result<Response<Incoming>> {
        let away = || format!("cannot reach the service at {}", self.base);
        let body = Bytes::from(body);
        // The service closes idle connections, so a failure on a kept connection is retried on a new one. Requests are idempotent.
        let kept = match self.sender.take() {
            Some(sender) => Some(self.ask(sender, &method, path, &body).await),
            None => None,
        };
        let (sender, response) = match kept {
            Some(Ok(answered)) => answered,
            Some(Err(error)) if !is_disconnected(&error) => return Err(error.context(away())),
            Some(Err(_)) | None => {
                let sender = self.within(self.connect()).await.with_context(away)?;
                self.ask(sender, &method, path, &body).await.with_context(away)?
            }
        };
        self.sender = Some(sender);
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let text = self.read(response).await.unwrap_or_default();
        bail!("the service at {} refused: {}", self.base, refusal(status, &text))
    }

    async fn ask(
        &self,
        mut sender: Sender,
        method: &Method,
        path: &str,
        body: &Bytes,
    ) -> Result<(Sender, Response<Incoming>)> {
        let url = self.base.join(path).context("invalid URL")?;
        let mut request = Request::builder()
            .method(method)
            .uri(&url[Position::BeforePath..Position::AfterQuery])
            .header(header::HOST, authority(&self.base))
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json")
            .body(Full::new(body.clone()))?;
        if let Some(authorization) = &self.authorization {
            request.headers_mut().insert(header::AUTHORIZATION, authorization.clone());
        }
        let answered = async {
            sender.ready().await?;
            Ok(sender.send_request(request).await?)
        };
        let response = self.within(answered).await?;
        Ok((sender, response))
    }

    async fn read(&self, response: Response<Incoming>) -> Result<Bytes> {
        let body = Limited::new(response.into_body(), RESPONSE_BYTES_MAX).collect();
        let read = async { body.await.map_err(|error| anyhow::anyhow!("{error}")) };
        Ok(self.within(read).await.with_context(|| format!("the response of {} ended early", self.base))?.to_bytes())
    }

    async fn connect(&self) -> Result<Sender> {
        let host = self.base.host_str().context("no host")?;
        let port = self.base.port_or_known_default().context("no port")?;
        // Only a URL has brackets around an IPv6 address.
        let name = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let stream = TcpStream::connect((name.as_str(), port)).await?;
        stream.set_nodelay(true)?;
        match &self.tls {
            None => handshake(stream).await,
            Some(tls) => handshake(tls.connect(ServerName::try_from(name)?, stream).await?).await,
        }
    }

    async fn within<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        self.clock.timeout(TIMEOUT, work).await.context("the service did not respond in time")?
    }
}

/// An export as it comes in, line by line.
pub(super) struct Lines {
    body: Incoming,
    rest: Vec<u8>,
    clock: Clock,
    base: Url,
}

impl Lines {
    /// The next row; `None` once all have come.
    pub(super) async fn next(&mut self) -> Result<Option<TransferRow>> {
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                let row = serde_json::from_slice(&line);
                return row.map(Some).with_context(|| format!("{} sent a line that is not a link", self.base));
            }
            let frame = self.clock.timeout(TIMEOUT, self.body.frame()).await;
            match frame.with_context(|| format!("{} stopped sending", self.base))? {
                // A truncated body is an error, not an end.
                None if self.rest.is_empty() => return Ok(None),
                None => bail!("the response of {} ended early", self.base),
                Some(frame) => {
                    let frame = frame.with_context(|| format!("the response of {} ended early", self.base))?;
                    if let Some(data) = frame.data_ref() {
                        self.rest.extend_from_slice(data);
                    }
                }
            }
        }
    }
}

async fn handshake(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) -> Result<Sender> {
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // The task ends with the sender. Its errors fail the pending request.
    tokio::spawn(connection);
    Ok(sender)
}

/// Whether the connection failed, as opposed to a timeout.
fn is_disconnected(error: &anyhow::Error) -> bool {
    error.downcast_ref::<hyper::Error>().is_some()
}

/// The header with user and password (RFC 7617), if the URL has a user.
fn authorization(url: &Url) -> Result<Option<HeaderValue>> {
    if url.username().is_empty() && url.password().is_none() {
        return Ok(None);
    }
    let pair = format!("{}:{}", url.username(), url.password().unwrap_or_default());
    let mut value =
        HeaderValue::try_from(format!("Basic {}", STANDARD.encode(percent_decode_str(&pair).collect::<Vec<u8>>())))?;
    value.set_sensitive(true);
    Ok(Some(value))
}

/// An address that may be invalid, without user and password.
fn without_user(address: &str) -> String {
    match (address.split_once("://"), address.rsplit_once('@')) {
        (_, None) => address.to_owned(),
        (Some((scheme, _)), Some((_, rest))) => format!("{scheme}://{rest}"),
        (None, Some((_, rest))) => rest.to_owned(),
    }
}

fn authority(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

fn refusal(status: StatusCode, body: &[u8]) -> String {
    let problem: Option<Problem> = serde_json::from_slice(body).ok();
    let detail = problem.and_then(|problem| problem.detail.or(problem.title));
    detail.map_or_else(|| status.to_string(), |detail| format!("{detail} ({status})"))
}
