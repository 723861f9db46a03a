//! The verbs of the channel.

use clap::Subcommand;

use super::{proxy, relay};

/// A part of the channel.
#[derive(Debug, Subcommand)]
pub(crate) enum ReceiptsVerb {
    /// Take frames from proxies by TLS, and hand them to the daemon
    Relay(relay::Options),
    /// Stand in front of execd, and tell the relay what is done
    Proxy(proxy::Options),
}

/// Carries out one verb; returns the exit code.
pub(crate) fn main(verb: &ReceiptsVerb) -> i32 {
    let done = match verb {
        ReceiptsVerb::Relay(options) => relay::main(options),
        ReceiptsVerb::Proxy(options) => proxy::main(options),
    };
    match done {
        Ok(()) => 0,
        Err(why) => {
            eprintln!("refbox: {why}");
            2
        }
    }
}
