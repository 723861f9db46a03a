//! The network as a case writes it: ports and hosts may be variables, which only a run can resolve.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::protocol::Network;
use crate::vars::{UnknownVariable, VariableValues};

/// The network that the command can reach; see [`Network`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum NetworkSpec {
    /// Nothing.
    None {},
    /// The host's network.
    Host {},
    /// One loopback port of the host.
    Proxy {
        /// The TCP port.
        port: PortSpec,
    },
    /// Named domains, through the backend's own proxy.
    Domains {
        /// Names that may be reached.
        #[serde(default)]
        allow: Vec<String>,
        /// Names that may not, even where `allow` covers them.
        #[serde(default)]
        deny: Vec<String>,
    },
}

/// A port: its number, or an address whose port it is (`$TCP4`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a port is a number, or a text such as $TCP4")]
pub enum PortSpec {
    /// The number.
    Number(u16),
    /// Text with variables, that ends with the number.
    Text(String),
}

/// The reason why a network cannot be derived.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownNetwork {
    /// A variable without a value.
    #[error(transparent)]
    Variable(#[from] UnknownVariable),
    /// A text that ends with no port.
    #[error("network.proxy.port: `{0}` ends with no port; name a number, or $TCP4")]
    Port(String),
}

impl NetworkSpec {
    /// Returns the network with every variable replaced.
    ///
    /// # Errors
    /// A name without a value, or an invalid port.
    pub fn resolve(&self, vars: &VariableValues) -> Result<Network, UnknownNetwork> {
        let all = |texts: &[String]| texts.iter().map(|text| vars.expand(text)).collect();
        Ok(match self {
            Self::None {} => Network::None {},
            Self::Host {} => Network::Host {},
            Self::Proxy { port: PortSpec::Number(port) } => Network::Proxy { port: *port },
            Self::Proxy { port: PortSpec::Text(text) } => {
                let text = vars.expand(text)?;
                match text.rsplit(':').next().unwrap_or_default().parse() {
                    Ok(port) => Network::Proxy { port },
                    Err(_) => return Err(UnknownNetwork::Port(text)),
                }
            }
            Self::Domains { allow, deny } => {
                let all = |texts: &[String]| -> Result<Vec<String>, UnknownVariable> { all(texts) };
                Network::Domains { allow: all(allow)?, deny: all(deny)? }
            }
        })
    }

    /// The strings a variable may stand in.
    pub fn strings(&self) -> Vec<&str> {
        match self {
            Self::Proxy { port: PortSpec::Text(text) } => vec![text],
            Self::Domains { allow, deny } => allow.iter().chain(deny).map(String::as_str).collect(),
            _ => Vec::new(),
        }
    }
}
