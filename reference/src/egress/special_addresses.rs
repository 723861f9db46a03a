//! Special addresses, which are no public hosts: a rule that allows a name does not cover them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The special IPv4 networks, the length of their prefix, and their kind.
const V4: &[(Ipv4Addr, u32, &str)] = &[
    (Ipv4Addr::new(0, 0, 0, 0), 8, "this host"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, "private"),
    (Ipv4Addr::new(100, 64, 0, 0), 10, "shared by a carrier"),
    (Ipv4Addr::new(127, 0, 0, 0), 8, "loopback"),
    // Before its network: clouds serve credentials there.
    (Ipv4Addr::new(169, 254, 169, 254), 32, "cloud metadata"),
    (Ipv4Addr::new(169, 254, 0, 0), 16, "link-local"),
    (Ipv4Addr::new(168, 63, 129, 16), 32, "cloud metadata"),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "private"),
    (Ipv4Addr::new(192, 0, 0, 0), 24, "reserved"),
    (Ipv4Addr::new(192, 0, 2, 0), 24, "documentation"),
    (Ipv4Addr::new(192, 88, 99, 0), 24, "a relay of IPv6"),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "private"),
    (Ipv4Addr::new(198, 18, 0, 0), 15, "benchmarks"),
    (Ipv4Addr::new(198, 51, 100, 0), 24, "documentation"),
    (Ipv4Addr::new(203, 0, 113, 0), 24, "documentation"),
    (Ipv4Addr::new(224, 0, 0, 0), 4, "multicast"),
    (Ipv4Addr::new(240, 0, 0, 0), 4, "reserved"),
];

/// The special IPv6 networks. An address outside the global unicast range is special anyway.
const V6: &[(Ipv6Addr, u32, &str)] = &[
    (Ipv6Addr::UNSPECIFIED, 128, "this host"),
    (Ipv6Addr::LOCALHOST, 128, "loopback"),
    (Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254), 128, "cloud metadata"),
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7, "private"),
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10, "link-local"),
    (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8, "multicast"),
    // These lead to an IPv4 address, which may be special to the translator or the end of the
    // tunnel.
    (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96, "a translation to IPv4"),
    (Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, 0, 0), 48, "a translation to IPv4"),
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 32, "a tunnel to IPv4"),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16, "a tunnel to IPv4"),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32, "documentation"),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20, "documentation"),
];

/// The range of public IPv6 addresses.
const GLOBAL: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// Returns the kind of a special `address`; none for a public one.
pub(super) fn special(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(v4) => {
            let within = |(net, length, _): &&(Ipv4Addr, u32, &str)| {
                let apart = u32::from(*net) ^ u32::from(v4);
                apart.leading_zeros() >= *length
            };
            let kept = |(net, length, _): &&(Ipv4Addr, u32, &str)| {
                !dropped!("special-networks", format_args!("{net}/{length}"))
            };
            V4.iter().filter(kept).find(within).map(|(_, _, what)| *what)
        }
        IpAddr::V6(v6) => {
            let within = |net: Ipv6Addr, length| {
                (u128::from(net) ^ u128::from(v6)).leading_zeros() >= length
            };
            if fault!("network.special-v6-open") {
                return None;
            }
            let kept = |(net, length, _): &&(Ipv6Addr, u32, &str)| {
                !dropped!("special-networks", format_args!("{net}/{length}"))
            };
            let known = V6.iter().filter(kept).find(|(net, length, _)| within(*net, *length));
            let elsewhere = (!within(GLOBAL.0, GLOBAL.1)).then_some("reserved");
            known.map(|(_, _, what)| *what).or(elsewhere)
        }
    }
}
