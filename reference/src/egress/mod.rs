//! Ways out of a private network: one port of the host, or named hosts through a proxy of our own.
//!
//! The command keeps a network of its own, so that nothing but these ways leads out. Doors are
//! sockets that listen in there and are accepted from outside: no process of ours is inside.

mod decide;
#[cfg(target_os = "linux")]
mod door;
#[cfg(target_os = "linux")]
mod gate;
#[cfg(target_os = "linux")]
mod heads;
mod host;
#[cfg(target_os = "linux")]
mod hosts;
#[cfg(target_os = "linux")]
mod http;
#[cfg(target_os = "linux")]
mod life;
#[cfg(target_os = "linux")]
mod log;
#[cfg(target_os = "linux")]
mod outlet;
#[cfg(target_os = "linux")]
mod pipe;
mod rule;
#[cfg(target_os = "linux")]
mod socks;
mod special;
mod variables;

pub use decide::{Rules, Why};
#[cfg(target_os = "linux")]
pub(crate) use door::Door;
pub use host::{NoHost, Target};
#[cfg(target_os = "linux")]
pub use log::Denied;
#[cfg(target_os = "linux")]
pub(crate) use outlet::{Outlet, Shut, Way, prepare};
pub use rule::{NoRule, Rule};
pub(crate) use variables::{EXCEPTIONS, PROXIES};

#[cfg(test)]
mod tests;
