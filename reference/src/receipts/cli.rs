//! The verbs of the receipts channel.

use clap::Subcommand;

use super::demo::{self, DemoArgs};
use super::proxy::{self, ProxyArgs};
use super::relay::{self, RelayArgs};

/// The verbs of the receipts channel.
#[derive(Debug, Subcommand)]
pub enum ReceiptsVerb {
    /// Take frames of sandboxes by mutual TLS and hand them to the daemon
    Relay(RelayArgs),
    /// Stand in front of execd and tell the relay what it does
    Proxy(ProxyArgs),
    /// Run the whole channel once and show what it signed
    Demo(DemoArgs),
}

/// Runs a verb; returns the exit code.
pub fn main(verb: &ReceiptsVerb) -> i32 {
    match verb {
        ReceiptsVerb::Relay(args) => relay::main(args),
        ReceiptsVerb::Proxy(args) => proxy::main(args),
        ReceiptsVerb::Demo(args) => demo::main(args),
    }
}
