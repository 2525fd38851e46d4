//! [`Remote`]: a running service, reached over HTTP.

use super::destination::Answer;
use super::row::TransferRow;
use super::tls;
use crate::http::bulk::{ImportOutcome, ImportReport};
use anyhow::{Context, Result, bail};
use bytes::Bytes;
use evenkeel::clock::Clock;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Method, Request, Response, StatusCode, header};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use std::path::Path;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use url::Url;

/// What a service takes in one request, less a little for what is around the rows.
const BODY_BYTES_MAX: usize = 60 * 1024;

/// How long a service may take to answer, or to send the next part of an export.
const PATIENCE: Duration = Duration::from_secs(60);

/// The largest answer to one batch, and the largest explanation of a failure, that is read.
const ANSWER_BYTES_MAX: usize = 4 << 20;

type Sender = SendRequest<Full<Bytes>>;

/// A connection to a running service.
pub struct Remote {
    base: Url,
    /// For `https://`.
    tls: Option<TlsConnector>,
    clock: Clock,
    sender: Option<Sender>,
}

/// A problem document (RFC 9457), as far as it is shown.
#[derive(Deserialize)]
struct Problem {
    title: Option<String>,
    detail: Option<String>,
}

impl Remote {
    /// The service at `address`, as `http://127.0.0.1:8080`; for `https://`, `ca` is a PEM file with the authorities to trust
    /// instead of the web's. Nothing is sent yet.
    ///
    /// # Errors
    /// One sentence if it is no such address, or `ca` cannot be used.
    pub fn new(address: &str, ca: Option<&Path>, clock: Clock) -> Result<Self> {
        let wrong = || format!("--server takes an address like http://127.0.0.1:8080, not {address:?}");
        let base = Url::parse(address).with_context(wrong)?;
        if !matches!(base.scheme(), "http" | "https") || !base.has_host() {
            bail!(wrong());
        }
        let is_encrypted = base.scheme() == "https";
        if ca.is_some() && !is_encrypted {
            bail!("--ca is for https:// addresses; {address} is not encrypted");
        }
        let tls = is_encrypted.then(|| tls::connector(ca)).transpose()?;
        Ok(Self { base, tls, clock, sender: None })
    }

    /// Sends rows, in as many requests as they need, and answers what became of each.
    pub(super) async fn import(&mut self, rows: Vec<TransferRow>) -> Result<Vec<Answer>> {
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

    /// Asks for all links, as JSON lines.
    pub(super) async fn export(&mut self) -> Result<Lines> {
        let response = self.send(Method::GET, "api/export", String::new()).await?;
        Ok(Lines { body: response.into_body(), rest: Vec::new(), clock: self.clock.clone(), base: self.base.clone() })
    }

    async fn send_rows(&mut self, rows: &str) -> Result<Vec<Answer>> {
        let response = self.send(Method::POST, "api/import", format!("{{\"rows\":[{rows}]}}")).await?;
        let report: ImportReport = serde_json::from_slice(&self.read(response).await?)
            .with_context(|| format!("{} answered something else than a shortlink service does", self.base))?;
        let answers = report.outcomes.into_iter().map(|outcome| match outcome {
            ImportOutcome::Created { .. } => Answer::Created,
            ImportOutcome::Present => Answer::Present,
            ImportOutcome::Taken { code } => Answer::taken(&code),
            ImportOutcome::Refused { detail } => Answer::Rejected(detail),
        });
        Ok(answers.collect())
    }

    /// Sends a request and answers the response, if it tells of success.
    async fn send(&mut self, method: Method, path: &str, body: String) -> Result<Response<Incoming>> {
        let away = || format!("cannot reach the service at {}", self.base);
        let body = Bytes::from(body);
        // A service hangs up on those it has not heard from for a while; that says nothing about whether it is there. Every
        // request may be repeated.
        let kept = match self.sender.take() {
            Some(sender) => Some(self.ask(sender, &method, path, &body).await),
            None => None,
        };
        let (sender, response) = match kept {
            Some(Ok(answered)) => answered,
            Some(Err(error)) if !is_hung_up(&error) => return Err(error.context(away())),
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
        let url = self.base.join(path).context("no address")?;
        let request = Request::builder()
            .method(method)
            .uri(url.path())
            .header(header::HOST, authority(&self.base))
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json")
            .body(Full::new(body.clone()))?;
        let answered = async {
            sender.ready().await?;
            Ok(sender.send_request(request).await?)
        };
        let response = self.within(answered).await?;
        Ok((sender, response))
    }

    async fn read(&self, response: Response<Incoming>) -> Result<Bytes> {
        let body = Limited::new(response.into_body(), ANSWER_BYTES_MAX).collect();
        let read = async { body.await.map_err(|error| anyhow::anyhow!("{error}")) };
        Ok(self.within(read).await.with_context(|| format!("the answer of {} broke off", self.base))?.to_bytes())
    }

    async fn connect(&self) -> Result<Sender> {
        let host = self.base.host_str().context("no host")?;
        let port = self.base.port_or_known_default().context("no port")?;
        // An IPv6 address stands in brackets in a URL only.
        let name = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let stream = TcpStream::connect((name.as_str(), port)).await?;
        stream.set_nodelay(true)?;
        match &self.tls {
            None => handshake(stream).await,
            Some(tls) => handshake(tls.connect(ServerName::try_from(name)?, stream).await?).await,
        }
    }

    async fn within<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        self.clock.timeout(PATIENCE, work).await.context("no answer in time")?
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
                return row.map(Some).with_context(|| format!("{} sent something else than links", self.base));
            }
            let frame = self.clock.timeout(PATIENCE, self.body.frame()).await;
            match frame.with_context(|| format!("{} stopped sending", self.base))? {
                // Without its last chunk a body ends in an error, not here.
                None if self.rest.is_empty() => return Ok(None),
                None => bail!("the answer of {} broke off", self.base),
                Some(frame) => {
                    let frame = frame.with_context(|| format!("the answer of {} broke off", self.base))?;
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
    // It ends with the sender; its errors reach whoever waits for an answer.
    tokio::spawn(connection);
    Ok(sender)
}

/// Whether the connection ended, as opposed to an answer that did not come in time.
fn is_hung_up(error: &anyhow::Error) -> bool {
    error.downcast_ref::<hyper::Error>().is_some()
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
