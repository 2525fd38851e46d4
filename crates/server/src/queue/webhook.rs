//! A POST with a JSON body, and nothing more.

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper::{Request, header};
use hyper_util::rt::TokioIo;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use url::Url;

/// How long a receiver may take.
const DEADLINE: Duration = Duration::from_secs(10);

/// Where alerts go.
#[derive(Debug)]
pub(super) struct Webhook {
    url: Url,
    host: String,
    port: u16,
}

impl Webhook {
    /// A receiver behind `http://` or `https://`.
    pub(super) fn to(text: &str) -> Result<Self> {
        // The address may carry a secret, so it is not repeated.
        let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let url = url.context("--webhook is no address to post to: write http:// or https://")?;
        let host = url.host_str().context("--webhook names no host")?.to_owned();
        let port = url.port_or_known_default().context("--webhook names no port")?;
        Ok(Self { url, host, port })
    }

    /// Sends one; done when the receiver said yes.
    pub(super) async fn send(&self, body: String) -> Result<()> {
        tokio::time::timeout(DEADLINE, self.deliver(body)).await.context("no answer in time")?
    }

    async fn deliver(&self, body: String) -> Result<()> {
        let stream = TcpStream::connect((self.host.trim_matches(['[', ']']), self.port)).await?;
        if self.url.scheme() == "http" {
            return self.post(stream, body).await;
        }
        let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
        let name =
            ServerName::try_from(self.host.clone()).context("the host has no name that a certificate could bear")?;
        let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await?;
        self.post(stream, body).await
    }

    async fn post<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(&self, stream: S, body: String) -> Result<()> {
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        let path = match self.url.query() {
            Some(query) => format!("{}?{query}", self.url.path()),
            None => self.url.path().to_owned(),
        };
        let host = self.url.port().map_or_else(|| self.host.clone(), |port| format!("{}:{port}", self.host));
        let request = Request::post(path)
            .header(header::HOST, host)
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::USER_AGENT, concat!("evenkeel/", env!("CARGO_PKG_VERSION")))
            .body(Full::new(Bytes::from(body)))?;
        let answer = tokio::select! {
            answer = sender.send_request(request) => answer?,
            ended = connection => {
                ended?;
                bail!("the connection ended without an answer");
            }
        };
        if !answer.status().is_success() {
            bail!("it answered {}", answer.status());
        }
        Ok(())
    }
}
