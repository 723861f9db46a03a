//! The relay on the host: takes frames from proxies, which their certificates identify, and hands
//! them to the daemon.

mod certificate_origins;
mod check;
mod daemon;
mod ingest;
mod serve;

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use tokio::net::TcpListener;
use tokio::runtime::Builder;

use super::tls::{TlsIdentity, provider};

/// The arguments of `refbox receipts relay`.
#[derive(Debug, Clone, Args)]
pub struct RelayArgs {
    /// The address for proxies, as IP:PORT; port 0 takes a free one
    #[arg(long, value_name = "ADDR")]
    pub listen: SocketAddr,
    /// The daemon's socket
    #[arg(long, value_name = "FILE")]
    pub socket: PathBuf,
    #[command(flatten)]
    pub identity: TlsIdentity,
}

/// Serves until SIGTERM or SIGINT; returns the exit code.
pub(crate) fn main(options: &RelayArgs) -> i32 {
    match run(options) {
        Ok(()) => 0,
        Err(why) => {
            eprintln!("refbox receipts relay: {why}");
            2
        }
    }
}

fn run(options: &RelayArgs) -> Result<(), String> {
    provider();
    let tls = options.identity.server()?;
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| error.to_string())?.block_on(async {
        let listener = TcpListener::bind(options.listen).await;
        let listener = listener.map_err(|error| format!("{}: {error}", options.listen))?;
        let bound = listener.local_addr().map_err(|error| error.to_string())?;
        crate::stdout::line(format_args!("listening {bound}"));
        let relay = ingest::RelayContext::new(options.socket.clone());
        serve::serve(listener, tls, relay).await.map_err(|error| error.to_string())
    })
}
