//! The proxy, which another change adds.

use clap::Args;

/// How the proxy is called.
#[derive(Debug, Args)]
pub struct ProxyArgs {}

/// Returns the exit code.
pub(crate) fn main(_: &ProxyArgs) -> i32 {
    eprintln!("refbox receipts proxy: is not there yet");
    2
}
