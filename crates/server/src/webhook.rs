//! Sends alerts to a webhook, as a POST with a JSON body.

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

/// The deadline of one delivery.
const DEADLINE: Duration = Duration::from_secs(10);

/// The receiver of alerts.
#[derive(Debug)]
pub(crate) struct Webhook {
    url: Url,
    host: String,
    port: u16,
}

impl Webhook {
    /// Parses an `http://` or `https://` URL.
    pub(crate) fn to(text: &str) -> Result<Self> {
        // The URL may contain a secret, so errors do not repeat it.
        let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let url = url.context("--webhook is not a valid URL: use http:// or https://")?;
        let host = url.host_str().context("--webhook has no host")?.to_owned();
        let port = url.port_or_known_default().context("--webhook has no port")?;
        Ok(Self { url, host, port })
    }

    /// Sends one alert; succeeds if the receiver answers with a 2xx status.
    pub(crate) async fn send(&self, body: String) -> Result<()> {
        tokio::time::timeout(DEADLINE, self.deliver(body)).await.context("no response within ten seconds")?
    }

    async fn deliver(&self, body: String) -> Result<()> {
        let stream = TcpStream::connect((self.host.trim_matches(['[', ']']), self.port)).await?;
        if self.url.scheme() == "http" {
            return self.post(stream, body).await;
        }
        let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
        let name =
            ServerName::try_from(self.host.clone()).context("the host name cannot be checked against a certificate")?;
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
        // In a task of its own: a receiver that closes the connection with its response must not hide the response.
        let connection = tokio::spawn(connection);
        let response = sender.send_request(request).await;
        connection.abort();
        let response = response?;
        if !response.status().is_success() {
            bail!("status {}", response.status());
        }
        Ok(())
    }
}
