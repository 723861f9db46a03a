//! Ways out of a private network: one port of the host, or named hosts through a proxy of our own.
//!
//! The command keeps a network of its own, so that nothing but these ways leads out. Doors are
//! sockets that listen in there and are accepted from outside: no process of ours is inside.

mod connector;
mod decide;
mod denial_log;
mod framing_check;
mod host;
mod hosts;
mod http;
#[cfg_attr(not(target_os = "linux"), path = "unsupported/listener_handoff.rs")]
mod listener_handoff;
#[cfg_attr(not(target_os = "linux"), path = "unsupported/pipe.rs")]
mod pipe;
mod proxy_server;
mod rule;
mod shutdown;
#[cfg_attr(not(target_os = "linux"), path = "unsupported/socket.rs")]
mod socket;
mod socks;
mod special_addresses;

pub use decide::{EgressDenial, EgressRules};
pub use denial_log::{DeniedHost, HostRemedy};
pub use host::{HostError, TargetHost};
pub(crate) use listener_handoff::ListenerHandoff;
pub(crate) use proxy_server::{EgressRoute, PreparedProxy, ProxyServer, prepare};
pub use rule::{HostRule, HostRuleError};

#[cfg(test)]
mod tests;
