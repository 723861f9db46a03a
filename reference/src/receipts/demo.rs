//! The demonstration, which another change adds.

use clap::Args;

/// How the demonstration is called.
#[derive(Debug, Args)]
pub struct DemoArgs {}

/// Returns the exit code.
pub(crate) fn main(_: &DemoArgs) -> i32 {
    eprintln!("refbox receipts demo: is not there yet");
    2
}
