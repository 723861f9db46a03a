//! Names and addresses of a network that is the harness's own: each leads to the harness.

use core::net::IpAddr;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Bytes in a name (RFC 1035).
const NAME: usize = 253;

/// Names, as hosts(5) has them, and the addresses that each leads to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "BTreeMap<String, HostAddresses>")]
pub struct Hosts(BTreeMap<String, HostAddresses>);

/// The addresses of one name, in the order in which they are tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a name leads to an address, or to a list of them")]
enum HostAddresses {
    /// One.
    One(IpAddr),
    /// Several.
    Several(Vec<IpAddr>),
}

impl HostAddresses {
    fn all(&self) -> &[IpAddr] {
        match self {
            Self::One(address) => std::slice::from_ref(address),
            Self::Several(addresses) => addresses,
        }
    }
}

/// The reason why a name or an address is not allowed here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoHosts {
    /// A text that is no name.
    #[error("`{0}` is no name: use a-z, 0-9, `-` and `.`, at most 253 in all")]
    Name(String),
    /// A name that leads nowhere.
    #[error("`{0}` leads to no address: name one")]
    Nowhere(String),
    /// An address that no interface can have.
    #[error("`{0}`: {1} is an address that no interface can have")]
    Address(String, IpAddr),
}

impl TryFrom<BTreeMap<String, HostAddresses>> for Hosts {
    type Error = NoHosts;

    fn try_from(hosts: BTreeMap<String, HostAddresses>) -> Result<Self, NoHosts> {
        for (name, addresses) in &hosts {
            if !is_name(name) {
                return Err(NoHosts::Name(name.clone()));
            }
            if addresses.all().is_empty() {
                return Err(NoHosts::Nowhere(name.clone()));
            }
            let odd = |ip: &&IpAddr| ip.is_unspecified() || ip.is_multicast();
            if let Some(address) = addresses.all().iter().find(odd) {
                return Err(NoHosts::Address(name.clone(), *address));
            }
        }
        Ok(Self(hosts))
    }
}

fn is_name(name: &str) -> bool {
    let known = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    let label = |label: &str| !label.is_empty() && label.bytes().all(known);
    // A dot at the end makes another spelling, which resolvers tell from the one without.
    let labels = name.strip_suffix('.').unwrap_or(name);
    name.len() <= NAME && labels.split('.').all(label) && name.parse::<IpAddr>().is_err()
}

impl Hosts {
    /// Returns whether there are no names, and so no network of the harness's own.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Every address, those of loopback included.
    pub fn addresses(&self) -> impl Iterator<Item = IpAddr> + '_ {
        self.0.values().flat_map(HostAddresses::all).copied()
    }

    /// Renders a file of hosts(5), loopback's own names in front.
    pub fn file(&self) -> String {
        let mut text = "127.0.0.1 localhost\n::1 localhost\n".to_owned();
        for (name, addresses) in &self.0 {
            for address in addresses.all() {
                text += &format!("{address} {name}\n");
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[test]
    fn names_lead_to_addresses() {
        let yaml = "{b.test: 192.31.196.1, a.test: ['fd00:ec2::254', 127.0.0.1]}";
        let hosts: Hosts = crate::load::fragment(yaml).unwrap();
        let file = "127.0.0.1 localhost\n::1 localhost\nfd00:ec2::254 a.test\n\
                    127.0.0.1 a.test\n192.31.196.1 b.test\n";
        assert_eq!(hosts.file(), file);
        assert_eq!(hosts.addresses().count(), 3);
        let json = serde_json::to_value(&hosts).unwrap();
        assert_eq!(serde_json::from_value::<Hosts>(json).unwrap(), hosts);
    }

    #[rstest]
    #[case("{A.test: 127.0.0.1}", "`A.test` is no name")]
    #[case("{'a b': 127.0.0.1}", "is no name")]
    #[case("{a..test: 127.0.0.1}", "is no name")]
    #[case("{a.test..: 127.0.0.1}", "is no name")]
    #[case("{127.0.0.1: 127.0.0.1}", "is no name")]
    #[case("{a.test: []}", "leads to no address")]
    #[case("{a.test: 0.0.0.0}", "no interface can have")]
    #[case("{a.test: 'ff02::1'}", "no interface can have")]
    #[case("{a.test: loopback}", "a name leads to an address")]
    fn refuses(#[case] yaml: &str, #[case] message: &str) {
        let error = crate::load::fragment::<Hosts>(yaml).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}
