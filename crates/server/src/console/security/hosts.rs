//! [`Hosts`]: the hosts and the origins that are this console.
//!
//! A page of another site can make a browser send requests to a loopback address, under a name of that site (DNS rebinding) or from a form of
//! it. The first is recognized by its `Host`, the second by its `Origin`.

use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, header};
use std::net::SocketAddr;
use url::Url;

/// The addresses of one console.
#[derive(Clone, Debug)]
pub(crate) struct Hosts {
    listen: SocketAddr,
    public_url: Option<Url>,
}

impl Hosts {
    pub(crate) fn new(listen: SocketAddr, public_url: Option<Url>) -> Self {
        Self { listen, public_url }
    }

    /// The public address, if a proxy is in front.
    pub(crate) fn public_url(&self) -> Option<&Url> {
        self.public_url.as_ref()
    }

    /// The port, which is part of the cookie's name: browsers send cookies to every port of a host.
    pub(super) fn port(&self) -> u16 {
        self.listen.port()
    }

    /// Whether browsers reach it over HTTPS.
    pub(super) fn is_https(&self) -> bool {
        self.public_url.as_ref().is_some_and(|url| url.scheme() == "https")
    }

    /// Whether the request's `Host` names this console: its listening address, `localhost` with its port, or the public URL.
    pub(super) fn accepts(&self, headers: &HeaderMap) -> bool {
        self.of(headers).is_some_and(|host| self.is_local(&host) || self.is_public_host(&host))
    }

    /// Whether this `Origin` is a page of this console.
    pub(crate) fn is_own_origin(&self, origin: &HeaderValue, headers: &HeaderMap) -> bool {
        let Ok(origin) = origin.to_str() else { return false };
        if self.public_url.as_ref().is_some_and(|url| url.origin().ascii_serialization() == origin) {
            return true;
        }
        let local = self.of(headers).filter(|host| self.is_local(host));
        local
            .is_some_and(|host| origin.strip_prefix("http://").is_some_and(|of| of.eq_ignore_ascii_case(host.as_str())))
    }

    /// The only `Host` of a request.
    fn of(&self, headers: &HeaderMap) -> Option<Authority> {
        let mut hosts = headers.get_all(header::HOST).into_iter();
        let (first, second) = (hosts.next()?, hosts.next());
        Authority::try_from(first.as_bytes()).ok().filter(|host| second.is_none() && !host.as_str().contains('@'))
    }

    fn is_local(&self, host: &Authority) -> bool {
        let name = host.host().trim_matches(['[', ']']);
        let ip = self.listen.ip();
        let is_name = ip.is_loopback() && name.eq_ignore_ascii_case("localhost") || name == ip.to_string();
        is_name && host.port_u16().unwrap_or(80) == self.listen.port()
    }

    fn is_public_host(&self, host: &Authority) -> bool {
        let Some(url) = &self.public_url else { return false };
        let default = if url.scheme() == "https" { 443 } else { 80 };
        let is_name = url.host_str().is_some_and(|own| own.eq_ignore_ascii_case(host.host()));
        is_name && host.port_u16().unwrap_or(default) == url.port_or_known_default().unwrap_or(default)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests {
    use super::*;

    fn headers(host: &str) -> HeaderMap {
        HeaderMap::from_iter([(header::HOST, HeaderValue::from_str(host).unwrap())])
    }

    #[test]
    fn loopback_console_accepts_only_local_names_with_its_port() {
        let hosts = Hosts::new("127.0.0.1:8420".parse().unwrap(), None);
        for own in ["127.0.0.1:8420", "localhost:8420", "LOCALHOST:8420"] {
            assert!(hosts.accepts(&headers(own)), "{own}");
        }
        for foreign in [
            "evil.example",
            "127.0.0.1",
            "127.0.0.1:80",
            "localhost.evil.example:8420",
            "a@127.0.0.1:8420",
            "10.0.0.1:8420",
        ] {
            assert!(!hosts.accepts(&headers(foreign)), "{foreign}");
        }
        assert!(!hosts.accepts(&HeaderMap::new()));
        let mut two = headers("127.0.0.1:8420");
        two.append(header::HOST, HeaderValue::from_static("127.0.0.1:8420"));
        assert!(!hosts.accepts(&two), "two hosts");
    }

    #[test]
    fn public_console_accepts_its_public_host() {
        let hosts = Hosts::new("10.0.0.1:8420".parse().unwrap(), Some("https://ops.example".parse().unwrap()));
        assert!(hosts.accepts(&headers("ops.example")) && hosts.accepts(&headers("OPS.example:443")));
        assert!(hosts.accepts(&headers("10.0.0.1:8420")), "a health check by address");
        assert!(!hosts.accepts(&headers("ops.example:8443")) && !hosts.accepts(&headers("localhost:8420")));
    }

    #[test]
    fn only_own_origins_may_send_forms() {
        let local = Hosts::new("127.0.0.1:8420".parse().unwrap(), None);
        let own =
            |origin: &'static str| local.is_own_origin(&HeaderValue::from_static(origin), &headers("localhost:8420"));
        assert!(own("http://localhost:8420"));
        for foreign in
            ["null", "http://127.0.0.1:8420", "https://localhost:8420", "http://localhost:8421", "http://evil.example"]
        {
            assert!(!own(foreign), "{foreign}");
        }
        let public = Hosts::new("127.0.0.1:8420".parse().unwrap(), Some("https://ops.example/".parse().unwrap()));
        let host = headers("ops.example");
        assert!(public.is_own_origin(&HeaderValue::from_static("https://ops.example"), &host));
        assert!(!public.is_own_origin(&HeaderValue::from_static("http://ops.example"), &host));
    }
}
