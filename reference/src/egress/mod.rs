//! Ways out of a private network: one port of the host, or named hosts through a proxy of our own.
//!
//! The command keeps a network of its own, so that nothing but these ways leads out. Doors are
//! sockets that listen in there and are accepted from outside: no process of ours is inside.

mod decide;
mod host;
mod rule;
mod special;

pub use decide::{Rules, Why};
pub use host::{NoHost, Target};
pub use rule::{NoRule, Rule};

#[cfg(test)]
mod tests;
