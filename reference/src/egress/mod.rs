//! Ways out of a private network: one port of the host, or named hosts through a proxy of our own.
//!
//! The command keeps a network of its own, so that nothing but these ways leads out. Doors are
//! sockets that listen in there and are accepted from outside: no process of ours is inside.

mod decide;
#[cfg_attr(not(target_os = "linux"), path = "../elsewhere/door.rs")]
mod door;
mod gate;
mod heads;
mod host;
mod hosts;
mod http;
mod life;
mod log;
mod outlet;
#[cfg_attr(not(target_os = "linux"), path = "../elsewhere/pipe.rs")]
mod pipe;
mod rule;
#[cfg_attr(not(target_os = "linux"), path = "../elsewhere/socket.rs")]
mod socket;
mod socks;
mod special;
mod variables;

pub use decide::{Rules, Why};
pub(crate) use door::Door;
pub use host::{NoHost, Target};
pub use log::{Denied, HostRemedy};
pub(crate) use outlet::{Outlet, Shut, Way, prepare};
pub use rule::{NoRule, Rule};
pub(crate) use variables::{EXCEPTIONS, JAVA, NODE, PROXIES};

#[cfg(test)]
mod tests;
