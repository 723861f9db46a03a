//! The observer, which another change adds.

use clap::Args;

/// How the observer is called.
#[derive(Debug, Args)]
pub struct ObserverArgs {}

/// Returns the exit code.
pub(crate) fn main(_: &ObserverArgs) -> i32 {
    eprintln!("refbox receipts observer: is not there yet");
    2
}
