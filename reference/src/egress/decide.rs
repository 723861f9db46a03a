//! The decision about a destination: first by the client's request, then by the resolved address.

use std::fmt;
use std::net::IpAddr;

use super::host::{self, Target};
use super::log::HostRemedy;
use super::rule::{NoRule, Rule};
use super::special::special;

/// The destinations that the command may reach.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    allow: Vec<Rule>,
    deny: Vec<Rule>,
}

/// The reason for denying a destination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// No rule allows it.
    Unlisted,
    /// Rules allow the host, but none this port of it.
    Port,
    /// This rule denies it.
    Denied(String),
    /// The name leads to this address, which is special in this way, and no rule names it.
    Special(IpAddr, &'static str),
}

impl Rules {
    /// Reads both lists.
    ///
    /// # Errors
    ///
    /// The list and the first text that is no rule.
    pub fn read(allow: &[String], deny: &[String]) -> Result<Self, (&'static str, NoRule)> {
        let list = |name, texts: &[String]| {
            let rules: Result<Vec<_>, _> = texts.iter().map(|text| Rule::read(text)).collect();
            rules.map_err(|error| (name, error))
        };
        Ok(Self { allow: list("allow", allow)?, deny: list("deny", deny)? })
    }

    /// Checks that `target` may be resolved and connected to. An address that passes may be
    /// reached.
    ///
    /// # Errors
    ///
    /// The reason; `deny` takes precedence.
    pub fn admit(&self, target: &Target, port: u16) -> Result<(), Why> {
        self.denied(target, port)?;
        let about = || self.allow.iter().filter(|rule| rule.is_about(target));
        if about().any(|rule| rule.opens(port)) {
            return Ok(());
        }
        Err(if about().next().is_some() { Why::Port } else { Why::Unlisted })
    }

    /// Checks that `address`, resolved from an admitted name, may be reached.
    ///
    /// # Errors
    ///
    /// The reason: a rule denies it, or it is special and no rule names it.
    pub fn admit_address(&self, address: IpAddr, port: u16) -> Result<(), Why> {
        let address = host::unwrapped(address);
        let target = Target::Address(address);
        self.denied(&target, port)?;
        match special(address) {
            Some(what) if self.admit(&target, port).is_err() => Err(Why::Special(address, what)),
            _ => Ok(()),
        }
    }

    /// Returns whether an allow rule applies to `host`, at any port.
    pub(crate) fn name(&self, host: &str) -> bool {
        let target = Target::read(host);
        target.is_ok_and(|target| self.allow.iter().any(|rule| rule.is_about(&target)))
    }

    fn denied(&self, target: &Target, port: u16) -> Result<(), Why> {
        match self.deny.iter().find(|rule| rule.is_about(target) && rule.shuts(port)) {
            Some(rule) => Err(Why::Denied(rule.to_string())),
            None => Ok(()),
        }
    }
}

impl Why {
    /// Returns the change that would let `whom` be reached at `port`.
    pub(super) fn remedy(&self, whom: &str, port: u16) -> HostRemedy {
        match self {
            Self::Unlisted | Self::Port => HostRemedy::Allow(whom.to_owned()),
            Self::Special(IpAddr::V4(address), _) => HostRemedy::Allow(format!("{address}:{port}")),
            Self::Special(IpAddr::V6(address), _) => {
                HostRemedy::Allow(format!("[{address}]:{port}"))
            }
            Self::Denied(rule) => HostRemedy::WithoutDeny(rule.clone()),
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unlisted => f.write_str("no rule of network.domains.allow names it"),
            Self::Port => f.write_str("no rule of network.domains.allow names this port of it"),
            Self::Denied(rule) => write!(f, "network.domains.deny has `{rule}`"),
            Self::Special(address, what) => write!(
                f,
                "it leads to {address} ({what}), which no rule of network.domains.allow names"
            ),
        }
    }
}
