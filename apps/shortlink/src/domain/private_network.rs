//! Hosts in private networks.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use url::Host;

/// Names that public DNS does not serve: reserved (RFC 6761, RFC 6762, RFC 8375, ICANN's reservation of `internal`), or used in private
/// networks (RFC 6762, appendix G).
const PRIVATE_ENDINGS: [&str; 13] = [
    ".localhost",
    ".localdomain",
    ".local",
    ".internal",
    ".intranet",
    ".private",
    ".corp",
    ".home",
    ".home.arpa",
    ".lan",
    ".mail",
    ".test",
    ".invalid",
];

/// Whether the host is in a private network, according to its name or address without a DNS lookup.
pub(super) fn is_private(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(name) => {
            let name = format!(".{}", name.trim_end_matches('.'));
            // A resolver completes a name without a dot from the local search list.
            name.rfind('.') == Some(0) || PRIVATE_ENDINGS.iter().any(|ending| name.ends_with(ending))
        }
        Host::Ipv4(address) => is_private_v4(*address),
        Host::Ipv6(address) => match IpAddr::V6(*address).to_canonical() {
            IpAddr::V4(inner) => is_private_v4(inner),
            IpAddr::V6(address) => is_private_v6(address),
        },
    }
}

/// Every address of IANA's registry of special addresses that is not globally reachable, and multicast.
fn is_private_v4(address: Ipv4Addr) -> bool {
    let [first, second, third, _] = address.octets();
    address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || first == 0
        || first >= 224 // multicast, reserved, broadcast
        || (first == 100 && (second & 0b1100_0000) == 64) // carrier-grade NAT, RFC 6598
        || (first == 198 && (second & 0b1111_1110) == 18) // benchmarks, RFC 2544
        || (first == 192 && second == 0 && third == 0) // protocol assignments, RFC 6890
        || (first == 192 && second == 88 && third == 99) // relays of 6to4, RFC 7526
}

/// Every address that is not global unicast (`2000::/3`), and those that carry a private IPv4 address.
fn is_private_v6(address: Ipv6Addr) -> bool {
    let v4 = |high: u16, low: u16| is_private_v4(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)));
    match address.segments() {
        // NAT64 (RFC 6052), 6to4 (RFC 3056), ISATAP (RFC 5214).
        [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..]
        | [0x2000..=0x3fff, _, _, _, 0 | 0x200, 0x5efe, high, low] => v4(high, low),
        // Teredo and other protocol assignments (RFC 2928), documentation (RFC 3849, RFC 9637).
        [0x2001, second, ..] => second <= 0x1ff || second == 0xdb8,
        [0x3fff, second, ..] => second <= 0xfff,
        // The others are loopback, IPv4-compatible, local NAT64, unique and site-local, link-local, multicast, or reserved.
        [first, ..] => !(0x2000..=0x3fff).contains(&first),
    }
}
