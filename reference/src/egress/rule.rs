//! A rule about hosts: a name, all names below one, or an address, and which ports of them.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use super::host::TargetHost;

/// The ports of an allow rule without a port: HTTP and HTTPS.
const USUAL: [u16; 2] = [80, 443];

/// One rule, as it was written and as it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRule {
    written: String,
    destination: HostPattern,
    ports: PortPattern,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum HostPattern {
    Name(String),
    /// Names with at least one label more.
    Below(String),
    Address(IpAddr),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PortPattern {
    Unsaid,
    All,
    One(u16),
}

/// The reason why a text is no rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}`: {why}; write a name, `*.name` or an address, each with `:PORT` or `:*` if need be"
)]
pub struct HostRuleError {
    /// The text as written.
    pub text: String,
    /// The error in it.
    pub why: String,
}

impl HostRule {
    /// Reads a rule.
    ///
    /// # Errors
    ///
    /// If it names neither, or something besides.
    pub fn read(text: &str) -> Result<Self, HostRuleError> {
        let no = |why: String| HostRuleError { text: text.to_owned(), why };
        let (host, ports) = split(text).map_err(|why| no(why.to_owned()))?;
        let target = |host: &str| TargetHost::read(host).map_err(|error| no(error.to_string()));
        let destination = match host.strip_prefix("*.") {
            Some(name) if !name.contains('*') => match target(name)? {
                TargetHost::Name(name) => HostPattern::Below(name),
                TargetHost::Address(_) => return Err(no("nothing is below an address".to_owned())),
            },
            _ if host.contains('*') => {
                return Err(no("a star stands for whole labels in front of a name".to_owned()));
            }
            _ => match target(host)? {
                TargetHost::Name(name) => HostPattern::Name(name),
                TargetHost::Address(address) => HostPattern::Address(address),
            },
        };
        Ok(Self { written: text.to_owned(), destination, ports })
    }

    /// Returns whether it applies to `target`, at any port.
    pub(super) fn is_about(&self, target: &TargetHost) -> bool {
        match (&self.destination, target) {
            (HostPattern::Name(rule), TargetHost::Name(name)) => rule == name,
            (HostPattern::Below(rule), TargetHost::Name(name)) => {
                let itself = fault!("network.wildcard-itself") && name == rule;
                let end = fault!("network.wildcard-without-dot");
                let front = name.strip_suffix(rule.as_str());
                itself
                    || front.is_some_and(|front| front.ends_with('.') || end && !front.is_empty())
            }
            (HostPattern::Address(rule), TargetHost::Address(address)) => rule == address,
            _ => false,
        }
    }

    /// Returns whether it covers `port` as an allow rule.
    pub(super) fn opens(&self, port: u16) -> bool {
        match self.ports {
            _ if fault!("network.ports-ignored") => true,
            PortPattern::Unsaid => USUAL.contains(&port),
            PortPattern::All => true,
            PortPattern::One(one) => one == port,
        }
    }

    /// Returns whether it covers `port` as a deny rule.
    pub(super) fn shuts(&self, port: u16) -> bool {
        self.ports == PortPattern::Unsaid && !fault!("network.denies-usual-ports")
            || self.opens(port)
    }
}

impl fmt::Display for HostRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

/// Host and port of a rule.
fn split(text: &str) -> Result<(&str, PortPattern), &'static str> {
    if text.parse::<Ipv6Addr>().is_ok() {
        return Ok((text, PortPattern::Unsaid));
    }
    let end = text.rfind(']').map_or(0, |end| end + 1);
    match text[end..].split_once(':') {
        None => Ok((text, PortPattern::Unsaid)),
        Some((before, "*")) => Ok((&text[..end + before.len()], PortPattern::All)),
        Some((before, port)) => match port.parse::<u16>() {
            Ok(port @ 1..) if !port_has_sign(text) => {
                Ok((&text[..end + before.len()], PortPattern::One(port)))
            }
            _ => Err("its port is none"),
        },
    }
}

/// Numbers of Rust may have a sign, ports may not.
fn port_has_sign(text: &str) -> bool {
    text.rsplit(':').next().is_some_and(|port| port.starts_with('+'))
}
