//! Sends alerts to a webhook, as a POST with a JSON body.

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper::{Request, StatusCode, header};
use hyper_util::rt::TokioIo;
use percent_encoding::percent_decode_str;
use std::fmt;
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
pub(crate) struct Webhook {
    url: Url,
    /// An IPv6 address has no brackets here.
    host: String,
    port: u16,
    /// What the certificate of an `https` receiver must be for.
    name: Option<ServerName<'static>>,
    /// The header for the user and the password of the URL.
    authorization: Option<String>,
}

/// The receiver answered with a status that is not a success: it is there, and does not take this alert.
#[derive(Debug)]
pub(crate) struct Rejected(StatusCode);

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "status {}", self.0)
    }
}

impl std::error::Error for Rejected {}

impl Webhook {
    /// Parses an `http://` or `https://` URL.
    pub(crate) fn to(text: &str) -> Result<Self> {
        // The URL may contain a secret, so errors do not repeat it.
        let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let url = url.context("--webhook is not a valid URL: use http:// or https://")?;
        let host = url.host_str().context("--webhook has no host")?.trim_matches(['[', ']']).to_owned();
        let port = url.port_or_known_default().context("--webhook has no port")?;
        let name = match url.scheme() {
            "https" => {
                Some(ServerName::try_from(host.clone()).context("--webhook has a host that no certificate names")?)
            }
            _ => None,
        };
        let authorization = authorization(&url);
        Ok(Self { url, host, port, name, authorization })
    }

    /// Sends one alert; succeeds if the receiver answers with a 2xx status. With another one, the error is [`Rejected`].
    pub(crate) async fn send(&self, body: String) -> Result<()> {
        tokio::time::timeout(DEADLINE, self.deliver(body)).await.context("no response within ten seconds")?
    }

    async fn deliver(&self, body: String) -> Result<()> {
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await?;
        let Some(name) = self.name.clone() else { return self.post(stream, body).await };
        let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
        let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await?;
        self.post(stream, body).await
    }

    async fn post<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(&self, stream: S, body: String) -> Result<()> {
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        let path = match self.url.query() {
            Some(query) => format!("{}?{query}", self.url.path()),
            None => self.url.path().to_owned(),
        };
        let host = &self.url[url::Position::BeforeHost..url::Position::AfterPort];
        let authorization = self.authorization.iter().map(|value| (header::AUTHORIZATION, value));
        let request = authorization
            .fold(Request::post(path), |request, (name, value)| request.header(name, value))
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
            return Err(Rejected(response.status()).into());
        }
        Ok(())
    }
}

/// The value of the header `Authorization`, if the URL has a user.
fn authorization(url: &Url) -> Option<String> {
    let (user, password) = (url.username(), url.password().unwrap_or_default());
    let decoded = |text| percent_decode_str(text).collect::<Vec<u8>>();
    let pair = [decoded(user), decoded(password)].join(&b':');
    (!user.is_empty() || !password.is_empty()).then(|| format!("Basic {}", STANDARD.encode(pair)))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests {
    use super::*;

    /// The name had the brackets of the URL, which no certificate has: each alert to such an address failed.
    // shows: hazard PO10
    #[test]
    fn https_webhook_may_be_at_an_ipv6_address() {
        let webhook = Webhook::to("https://[2001:db8::7]:8443/hook").unwrap();
        assert!(matches!(webhook.name, Some(ServerName::IpAddress(_))), "{:?}", webhook.name);
        assert_eq!((webhook.host.as_str(), webhook.port), ("2001:db8::7", 8443));
        for url in ["https://192.0.2.7/", "https://chat.example.com/hook"] {
            assert!(Webhook::to(url).unwrap().name.is_some(), "{url}");
        }
        assert!(Webhook::to("http://[::1]/").unwrap().name.is_none());
    }

    // shows: hazard PO10
    #[test]
    fn user_and_password_of_a_url_become_a_header() {
        let of = |url: &str| Webhook::to(url).unwrap().authorization;
        // The example of RFC 7617.
        let expected = Some("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==".to_owned());
        assert_eq!(of("https://Aladdin:open%20sesame@example.com/"), expected);
        assert_eq!(of("https://:token@example.com/"), Some("Basic OnRva2Vu".to_owned()));
        assert_eq!(of("https://example.com/"), None);
    }
}
