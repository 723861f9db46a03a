//! The signing daemon: frames come in by a unix socket, receipts go out to the store.

mod inbox;
mod listener;
mod receipt_writer;
mod serve;

use std::path::PathBuf;

use clap::Args;

use super::accept;
use super::receipt::ReceiptProfile;

/// The arguments of the daemon.
#[derive(Debug, Args)]
pub struct DaemonArgs {
    /// The socket for emitters: a path in the run directory of the user or the system
    #[arg(long, value_name = "FILE")]
    pub socket: PathBuf,
    /// The file to which receipts are appended, one a line
    #[arg(long, value_name = "FILE")]
    pub store: PathBuf,
    /// The private key; the public one is published as FILE.pub
    #[arg(long, value_name = "FILE")]
    pub key: PathBuf,
    /// The name of the root chain
    #[arg(long, value_name = "NAME", default_value = "root", value_parser = chain_name)]
    pub chain: String,
    /// The place of the members of a sandbox's receipts
    #[arg(long, value_enum, default_value_t)]
    pub profile: ReceiptProfile,
    /// Take a socket path outside the run directories, and warn of it every minute
    #[arg(long)]
    pub unsafe_socket_path: bool,
}

fn chain_name(text: &str) -> Result<String, String> {
    let good = accept::is_sandbox_id(text);
    good.then(|| text.to_owned()).ok_or_else(|| "1 to 128 of A-Z a-z 0-9 . _ -".to_owned())
}

/// Serves until a signal ends it; returns the exit code.
pub(crate) fn main(args: &DaemonArgs) -> i32 {
    match serve::run(args) {
        Ok(()) => 0,
        Err(error) => {
            log(&error);
            1
        }
    }
}

/// One line to the operator.
fn log(line: &str) {
    eprintln!("refbox receipts daemon: {line}");
}
