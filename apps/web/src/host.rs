//! Which host a request believes it talks to: checked before it is used in an answer.

use crate::{Family, Kind, Problem};
use axum::extract::{FromRequestParts, MatchedPath, Request, State};
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Uri, Version, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use url::Url;

/// Where a service is reached: what its addresses begin with, and which `Host` is believed.
#[derive(Clone, Debug)]
pub struct OwnAddress(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    listen: SocketAddr,
    public_url: Option<Url>,
}

impl OwnAddress {
    /// `listen` is the bound socket; `public_url` what the outside calls this service, if it is set.
    #[must_use]
    pub fn new(listen: SocketAddr, public_url: Option<Url>) -> Self {
        OwnAddress(Arc::new(Inner { listen, public_url }))
    }

    /// The address of `path` (without a slash before it): under the public address, or else under the host the request named.
    #[must_use]
    pub fn url(&self, host: &Host, path: &str) -> String {
        match (&self.0.public_url, host.authority()) {
            (Some(url), _) => format!("{}/{path}", url.as_str().trim_end_matches('/')),
            (None, Some(authority)) => format!("http://{authority}/{path}"),
            (None, None) => format!("http://{}/{path}", self.0.listen),
        }
    }

    /// What the addresses of this service begin with, without a slash at the end, for a reader whose request is not known.
    #[must_use]
    pub fn base(&self) -> String {
        self.url(&Host(None), "").trim_end_matches('/').to_owned()
    }

    /// A service on a loopback address is meant for this machine's programs. A page from elsewhere can make a browser call it
    /// under the page's own name (DNS rebinding) and read the answers; such a request names a foreign host.
    fn believes(&self, host: &Host) -> bool {
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

/// The host a request named, in its target or its `Host` header. Whoever sends the request chooses it: only its form is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host(Option<Authority>);

impl Host {
    /// Name and port as text.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        self.0.as_ref().map(Authority::as_str)
    }

    /// Name and port, if the request named a host at all (HTTP/1.0 need not).
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
        authority.map_or_else(|| Err(Self::refused()), Self::checked)
    }

    fn checked(authority: Authority) -> Result<Self, Problem> {
        if authority.as_str().contains('@') || authority.host().is_empty() {
            return Err(Self::refused());
        }
        Ok(Host(Some(authority)))
    }

    fn refused() -> Problem {
        Problem::new(Kind::BAD_REQUEST, "The header `Host` must name one host, as in `Host: 127.0.0.1:8080`.")
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Host {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        Host::of(&parts.uri, &parts.headers)
    }
}

/// Middleware: refuses a malformed `Host` (400) and, on a loopback address, a foreign one (421), where an
/// answer is not public.
pub(crate) async fn refuse_foreign<F: Family>(State(own): State<OwnAddress>, request: Request, next: Next) -> Response {
    // RFC 9112, 3.2: a server must refuse it.
    let names_none = request.uri().authority().is_none() && !request.headers().contains_key(header::HOST);
    if names_none && request.version() == Version::HTTP_11 {
        return Host::refused().into_response();
    }
    let family = F::of(request.extensions().get::<MatchedPath>().map(MatchedPath::as_str));
    if family.is_public() {
        return next.run(request).await;
    }
    match Host::of(request.uri(), request.headers()) {
        Ok(host) if own.believes(&host) => next.run(request).await,
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

    fn believes(listen: &str, public_url: Option<&str>, named: &'static str) -> bool {
        let public_url = public_url.map(|url| url.parse().unwrap());
        OwnAddress::new(listen.parse().unwrap(), public_url).believes(&host(named).unwrap())
    }

    #[test]
    fn a_loopback_service_believes_only_this_machine_and_its_public_name() {
        for own in ["127.0.0.1:8080", "localhost:8080", "links.localhost", "[::1]:8080", "192.168.1.2"] {
            assert!(believes("127.0.0.1:8080", None, own), "{own}");
        }
        assert!(!believes("127.0.0.1:8080", None, "evil.example"));
        assert!(!believes("127.0.0.1:8080", Some("https://s.example"), "evil.example"));
        assert!(believes("127.0.0.1:8080", Some("https://s.example"), "S.Example"));
        assert!(believes("0.0.0.0:80", None, "anything.example"));
    }

    #[test]
    fn a_host_that_is_not_one_is_refused() {
        for refused in ["a b", "user@host", "host/path", "", "\"", ":80"] {
            assert!(host(refused).is_err(), "{refused:?}");
        }
    }

    #[test]
    fn addresses_begin_with_the_public_address_or_the_named_host() {
        let listen = "127.0.0.1:8080".parse().unwrap();
        let plain = OwnAddress::new(listen, None);
        assert_eq!(plain.url(&host("localhost:8080").unwrap(), "abc"), "http://localhost:8080/abc");
        assert_eq!(plain.url(&Host(None), "abc"), "http://127.0.0.1:8080/abc");
        let public = OwnAddress::new(listen, Some("https://s.example/go/".parse().unwrap()));
        assert_eq!(public.url(&host("localhost").unwrap(), "abc"), "https://s.example/go/abc");
    }
}
