//! [`Host`] and [`OwnAddress`]: the host that a request names, and the hosts that this service accepts.

use crate::{Kind, Problem, RouteGroup};
use axum::extract::{FromRequestParts, MatchedPath, Request, State};
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Uri, Version, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use url::Url;

/// The addresses under which this service is reached.
#[derive(Clone, Debug)]
pub struct OwnAddress(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    listen: SocketAddr,
    public_url: Option<Url>,
}

impl OwnAddress {
    /// `listen` is the bound socket, `public_url` the configured public URL.
    #[must_use]
    pub fn new(listen: SocketAddr, public_url: Option<Url>) -> Self {
        OwnAddress(Arc::new(Inner { listen, public_url }))
    }

    /// The URL of `path` (without a leading slash): below the public URL, or else at the host of the request.
    #[must_use]
    pub fn url(&self, host: &Host, path: &str) -> String {
        match (&self.0.public_url, host.authority()) {
            (Some(url), _) => format!("{}/{path}", url.as_str().trim_end_matches('/')),
            (None, Some(authority)) => format!("http://{authority}/{path}"),
            (None, None) => format!("http://{}/{path}", self.0.listen),
        }
    }

    /// The base URL without a trailing slash, for callers that have no request.
    #[must_use]
    pub fn base(&self) -> String {
        self.url(&Host(None), "").trim_end_matches('/').to_owned()
    }

    /// Whether `host` is a host of this service. Protects a service on a loopback address against DNS rebinding: a page of another
    /// site could otherwise make a browser call it under that site's name and read the responses.
    fn accepts(&self, host: &Host) -> bool {
        let Some(authority) = host.authority() else { return true };
        let name = authority.host().trim_matches(['[', ']']);
        let is_public = |url: &Url| url.host_str().is_some_and(|own| own.eq_ignore_ascii_case(authority.host()));
        !self.0.listen.ip().is_loopback()
            || name.parse::<IpAddr>().is_ok()
            || name.eq_ignore_ascii_case("localhost")
            || name.to_ascii_lowercase().ends_with(".localhost")
            || self.0.public_url.as_ref().is_some_and(is_public)
    }
}

/// The host that a request names in its target or its `Host` header. The client chooses it; only its syntax is checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host(Option<Authority>);

impl Host {
    /// Name and port.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        self.0.as_ref().map(Authority::as_str)
    }

    /// Name and port; `None` if the request names no host, which HTTP/1.0 allows.
    #[must_use]
    pub fn authority(&self) -> Option<&Authority> {
        self.0.as_ref()
    }

    fn of(uri: &Uri, headers: &HeaderMap) -> Result<Self, Problem> {
        if let Some(authority) = uri.authority() {
            return Self::checked(authority.clone());
        }
        let mut named = headers.get_all(header::HOST).into_iter();
        let Some(value) = named.next() else { return Ok(Host(None)) };
        let authority = Authority::try_from(value.as_bytes()).ok().filter(|_| named.next().is_none());
        authority.map_or_else(|| Err(Self::rejection()), Self::checked)
    }

    fn checked(authority: Authority) -> Result<Self, Problem> {
        if authority.as_str().contains('@') || authority.host().is_empty() {
            return Err(Self::rejection());
        }
        Ok(Host(Some(authority)))
    }

    fn rejection() -> Problem {
        Problem::new(Kind::BAD_REQUEST, "The header `Host` must name exactly one host, as in `Host: 127.0.0.1:8080`.")
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Host {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        Host::of(&parts.uri, &parts.headers)
    }
}

/// Middleware: rejects a missing or repeated `Host` (400). Except on public routes, it also rejects a malformed one (400) and, on a
/// loopback address, one of another site (421).
pub(crate) async fn reject_foreign_host<G: RouteGroup>(
    State(own): State<OwnAddress>,
    request: Request,
    next: Next,
) -> Response {
    // RFC 9112, section 3.2, requires 400.
    let fields = request.headers().get_all(header::HOST).iter().count();
    let names_none = fields == 0 && request.uri().authority().is_none() && request.version() == Version::HTTP_11;
    if names_none || fields > 1 {
        return Host::rejection().into_response();
    }
    let group = G::of(request.extensions().get::<MatchedPath>().map(MatchedPath::as_str));
    if group.is_public() {
        return next.run(request).await;
    }
    match Host::of(request.uri(), request.headers()) {
        Ok(host) if own.accepts(&host) => next.run(request).await,
        Ok(_) => Problem::plain(Kind::FOREIGN_HOST).into_response(),
        Err(problem) => problem.into_response(),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn host(value: &'static str) -> Result<Host, Problem> {
        let headers = HeaderMap::from_iter([(header::HOST, HeaderValue::from_static(value))]);
        Host::of(&Uri::from_static("/"), &headers)
    }

    fn accepts(listen: &str, public_url: Option<&str>, named: &'static str) -> bool {
        let public_url = public_url.map(|url| url.parse().unwrap());
        OwnAddress::new(listen.parse().unwrap(), public_url).accepts(&host(named).unwrap())
    }

    #[test]
    fn loopback_service_accepts_local_hosts_and_its_public_host() {
        for own in ["127.0.0.1:8080", "localhost:8080", "links.localhost", "[::1]:8080", "192.168.1.2"] {
            assert!(accepts("127.0.0.1:8080", None, own), "{own}");
        }
        assert!(!accepts("127.0.0.1:8080", None, "evil.example"));
        assert!(!accepts("127.0.0.1:8080", Some("https://s.example"), "evil.example"));
        assert!(accepts("127.0.0.1:8080", Some("https://s.example"), "S.Example"));
        assert!(accepts("0.0.0.0:80", None, "anything.example"));
    }

    #[test]
    fn malformed_host_is_rejected() {
        for malformed in ["a b", "user@host", "host/path", "", "\"", ":80"] {
            assert!(host(malformed).is_err(), "{malformed:?}");
        }
    }

    #[test]
    fn urls_use_the_public_url_or_the_requested_host() {
        let listen = "127.0.0.1:8080".parse().unwrap();
        let plain = OwnAddress::new(listen, None);
        assert_eq!(plain.url(&host("localhost:8080").unwrap(), "abc"), "http://localhost:8080/abc");
        assert_eq!(plain.url(&Host(None), "abc"), "http://127.0.0.1:8080/abc");
        let public = OwnAddress::new(listen, Some("https://s.example/go/".parse().unwrap()));
        assert_eq!(public.url(&host("localhost").unwrap(), "abc"), "https://s.example/go/abc");
    }
}
