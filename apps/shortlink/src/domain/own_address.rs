//! [`OwnAddress`]: an address of this service, to recognize links that would loop back to it.

use std::net::IpAddr;
use url::{Host, Url};

/// The address of the service itself. Without a port it is at both 80 and 443: `Url` drops the default port of the scheme, and a service on
/// one of them usually answers on both.
#[derive(Clone, Debug)]
pub(super) struct OwnAddress(Url);

impl OwnAddress {
    /// Parses `https://s.example.com`, `s.example.com` or `127.0.0.1:8080`; `None` for anything else.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let url = if text.contains("://") { Url::parse(text) } else { Url::parse(&format!("http://{text}")) }.ok()?;
        url.has_host().then_some(Self(url))
    }

    /// Whether `host` and `port` reach this address. All loopback names and addresses are equal, and so is the unspecified address,
    /// because a service that listens on it is reached by all of them.
    pub(super) fn is_at(&self, host: &Host<&str>, port: Option<u16>) -> bool {
        let ports_meet = match self.0.port() {
            Some(own) => port == Some(own),
            None => matches!(port, Some(80 | 443)),
        };
        ports_meet && self.0.host().is_some_and(|own| same(&own, host) || (is_here(&own) && is_here(host)))
    }
}

fn same(one: &Host<&str>, other: &Host<&str>) -> bool {
    match (one, other) {
        // `Url` has lower-cased both. A trailing dot names the same host.
        (Host::Domain(one), Host::Domain(other)) => one.trim_end_matches('.') == other.trim_end_matches('.'),
        _ => address(one).is_some_and(|known| address(other) == Some(known)),
    }
}

/// A loopback name or address, or the unspecified address.
fn is_here(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(name) => {
            let name = name.trim_end_matches('.');
            name == "localhost" || name.ends_with(".localhost")
        }
        _ => address(host).is_some_and(|address| address.is_loopback() || address.is_unspecified()),
    }
}

fn address(host: &Host<&str>) -> Option<IpAddr> {
    match host {
        Host::Domain(_) => None,
        Host::Ipv4(address) => Some(IpAddr::V4(*address)),
        Host::Ipv6(address) => Some(IpAddr::V6(*address).to_canonical()),
    }
}
