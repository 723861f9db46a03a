//! The decision about a destination: first by the client's request, then by the resolved address.

use std::fmt;
use std::net::IpAddr;

use super::denial_log::HostRemedy;
use super::host::{self, TargetHost};
use super::rule::{HostRule, HostRuleError};
use super::special_addresses::special;

/// The destinations that the command may reach.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EgressRules {
    allow: Vec<HostRule>,
    deny: Vec<HostRule>,
}

/// The reason for denying a destination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EgressDenial {
    /// No rule allows it.
    Unlisted,
    /// Rules allow the host, but none this port of it.
    Port,
    /// This rule denies it.
    Denied(String),
    /// The name leads to this address, which is special in this way, and no rule names it.
    Special(IpAddr, &'static str),
}

impl EgressRules {
    /// Reads both lists.
    ///
    /// # Errors
    ///
    /// The list and the first text that is no rule.
    pub fn read(allow: &[String], deny: &[String]) -> Result<Self, (&'static str, HostRuleError)> {
        let list = |name, texts: &[String]| {
            let rules: Result<Vec<_>, _> = texts.iter().map(|text| HostRule::read(text)).collect();
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
    pub fn admit(&self, target: &TargetHost, port: u16) -> Result<(), EgressDenial> {
        self.denied(target, port)?;
        let about = || self.allow.iter().filter(|rule| rule.is_about(target));
        if fault!("network.unlisted-open") {
            return Ok(());
        }
        if about().any(|rule| rule.opens(port)) {
            return Ok(());
        }
        Err(if about().next().is_some() { EgressDenial::Port } else { EgressDenial::Unlisted })
    }

    /// Checks that `address`, resolved from an admitted name, may be reached.
    ///
    /// # Errors
    ///
    /// The reason: a rule denies it, or it is special and no rule names it.
    pub fn admit_address(&self, address: IpAddr, port: u16) -> Result<(), EgressDenial> {
        let address = host::unwrapped(address);
        let target = TargetHost::Address(address);
        if !fault!("network.address-denies") {
            self.denied(&target, port)?;
        }
        match special(address) {
            Some(what) if self.admit(&target, port).is_err() && !fault!("network.special-open") => {
                Err(EgressDenial::Special(address, what))
            }
            _ => Ok(()),
        }
    }

    /// Returns whether an allow rule applies to `host`, at any port.
    pub(crate) fn name(&self, host: &str) -> bool {
        let target = TargetHost::read(host);
        target.is_ok_and(|target| self.allow.iter().any(|rule| rule.is_about(&target)))
    }

    fn denied(&self, target: &TargetHost, port: u16) -> Result<(), EgressDenial> {
        if fault!("network.denies-ignored") {
            return Ok(());
        }
        match self.deny.iter().find(|rule| rule.is_about(target) && rule.shuts(port)) {
            Some(rule) => Err(EgressDenial::Denied(rule.to_string())),
            None => Ok(()),
        }
    }
}

impl EgressDenial {
    /// Returns the change that would let `destination` be reached at `port`.
    pub(super) fn remedy(&self, destination: &str, port: u16) -> HostRemedy {
        match self {
            Self::Unlisted | Self::Port => HostRemedy::Allow(destination.to_owned()),
            Self::Special(IpAddr::V4(address), _) => HostRemedy::Allow(format!("{address}:{port}")),
            Self::Special(IpAddr::V6(address), _) => {
                HostRemedy::Allow(format!("[{address}]:{port}"))
            }
            Self::Denied(rule) => HostRemedy::WithoutDeny(rule.clone()),
        }
    }
}

impl fmt::Display for EgressDenial {
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
