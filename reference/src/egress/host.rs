//! A client's spelling of a host, normalized: one name, or one address.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Bytes in a name, and in one of its labels (RFC 1035).
const NAME: usize = 253;
const LABEL: usize = 63;

/// The destination host of a client.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum TargetHost {
    /// A name: ASCII, lower case, without a dot at its end.
    Name(String),
    /// An address; never an IPv6 address that only wraps an IPv4 address.
    Address(IpAddr),
}

/// The reason why a text is no host, so that its meaning is unknown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no host: {why}")]
pub struct HostError {
    /// The text as written.
    pub text: String,
    /// The error in it.
    pub why: &'static str,
}

impl TargetHost {
    /// Reads a host as URLs have it (WHATWG), so that it means the same here as in a client: names
    /// by IDNA, IPv4 addresses as any numbers, IPv6 addresses with brackets or without.
    ///
    /// # Errors
    ///
    /// If it holds an account, a port, a zone, percent signs or an empty label.
    pub fn read(text: &str) -> Result<Self, HostError> {
        let no = |why| HostError { text: text.to_owned(), why };
        if let Ok(address) = text.parse::<Ipv6Addr>() {
            return Ok(Self::Address(unwrapped(address.into())));
        }
        if text.contains('%') {
            return Err(no("percent signs and zones have no place in it"));
        }
        if text.contains('@') {
            return Err(no("it names an account"));
        }
        match url::Host::parse(text) {
            Err(_) => Err(no("it is neither a name nor an address")),
            Ok(url::Host::Ipv4(address)) => Ok(Self::Address(unwrapped(address.into()))),
            Ok(url::Host::Ipv6(address)) => Ok(Self::Address(unwrapped(address.into()))),
            Ok(url::Host::Domain(name)) => {
                named(&name).ok_or_else(|| no("a label is empty or too long"))
            }
        }
    }
}

impl fmt::Display for TargetHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
            Self::Address(address) => address.fmt(f),
        }
    }
}

fn named(name: &str) -> Option<TargetHost> {
    let name = name.strip_suffix('.').filter(|_| !fault!("network.dot-at-end")).unwrap_or(name);
    let fits = name.split('.').all(|label| (1..=LABEL).contains(&label.len()));
    (fits && name.len() <= NAME).then(|| TargetHost::Name(name.to_owned()))
}

/// Returns the address that `address` leads to: the IPv4 address embedded in an IPv6 address that
/// is IPv4-mapped or IPv4-compatible; loopback for the unspecified address, as in the kernel.
pub(super) fn unwrapped(address: IpAddr) -> IpAddr {
    let v4 = match address {
        IpAddr::V4(v4) => Some(v4),
        // `::` and `::1` are addresses of their own.
        IpAddr::V6(_) if fault!("network.wrapped-addresses") => None,
        IpAddr::V6(v6) => v6.to_ipv4().filter(|_| u128::from(v6) > 1),
    };
    match (v4, address) {
        (Some(Ipv4Addr::UNSPECIFIED), _) => Ipv4Addr::LOCALHOST.into(),
        (Some(v4), _) => v4.into(),
        (None, IpAddr::V6(Ipv6Addr::UNSPECIFIED)) => Ipv6Addr::LOCALHOST.into(),
        (None, address) => address,
    }
}
