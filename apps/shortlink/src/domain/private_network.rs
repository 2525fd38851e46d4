//! Hosts in private networks.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use url::Host;

/// Suffixes that public DNS does not serve (RFC 6761, RFC 6762, RFC 8375, and ICANN's reservation of `internal`).
const PRIVATE_ENDINGS: [&str; 5] = [".localhost", ".local", ".internal", ".home.arpa", ".lan"];

/// Whether the host is in a private network, according to its name or address without a DNS lookup.
pub(super) fn is_private(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(name) => {
            let name = name.trim_end_matches('.');
            // A resolver completes a name without a dot from the local search list.
            !name.contains('.') || PRIVATE_ENDINGS.iter().any(|ending| name.ends_with(ending))
        }
        Host::Ipv4(address) => is_private_v4(*address),
        Host::Ipv6(address) => match IpAddr::V6(*address).to_canonical() {
            IpAddr::V4(inner) => is_private_v4(inner),
            IpAddr::V6(address) => is_private_v6(address),
        },
    }
}

fn is_private_v4(address: Ipv4Addr) -> bool {
    let [first, second, ..] = address.octets();
    address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_broadcast()
        || first == 0
        || (first == 100 && (second & 0b1100_0000) == 64) // carrier-grade NAT, RFC 6598
        || (first == 198 && (second & 0b1111_1110) == 18) // benchmarks, RFC 2544
}

fn is_private_v6(address: Ipv6Addr) -> bool {
    if let [0x64, 0xff9b, 0, 0, 0, 0, high, low] = address.segments() {
        // NAT64 (RFC 6052) carries an IPv4 address.
        return is_private_v4(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)));
    }
    address.is_loopback() || address.is_unspecified() || address.is_unique_local() || address.is_unicast_link_local()
}
