//! The verbs of the receipts channel.

use std::path::PathBuf;

use clap::Subcommand;

use super::daemon::{self, DaemonArgs};
use super::demo::{self, DemoArgs};
use super::did;
use super::export::{self, ExportArgs};
use super::keys;
use super::observer::{self, ObserverArgs};
use super::proxy::{self, ProxyArgs};
use super::relay::{self, RelayArgs};
use super::stdout;
use super::verify::{self, VerifyArgs};

const DAEMON: &str = "\
Exit codes: 0 after SIGTERM or SIGINT, 1 if it could not start or the store failed.

Example:
  refbox receipts daemon --socket /run/receipts/events.sock --store receipts.jsonl --key key";

const VERIFY: &str = "\
Exit codes: 0 valid, 1 broken, 2 if nothing could be verified, 3 valid but with --provenance without\n\
word of whose process it was.

Example:
  refbox receipts verify --key key.pub --strict receipts.jsonl";

/// The verbs of the receipts channel.
#[derive(Debug, Subcommand)]
pub enum ReceiptsVerb {
    /// Sign, chain and store the events of emitters
    #[command(after_help = DAEMON)]
    Daemon(DaemonArgs),
    /// Take frames of sandboxes by mutual TLS and hand them to the daemon
    Relay(RelayArgs),
    /// Serve in front of execd and report its actions to the relay
    Proxy(ProxyArgs),
    /// Report a sandbox's network connections to the daemon
    Observer(ObserverArgs),
    /// Verify receipts of any implementation
    #[command(after_help = VERIFY)]
    Verify(VerifyArgs),
    /// Make or show a signing key
    Keys {
        /// The action
        #[command(subcommand)]
        verb: KeysVerb,
    },
    /// Print the receipts of a store
    Export(ExportArgs),
    /// Run the whole channel once and show the signed receipts
    Demo(DemoArgs),
}

/// An action on a key.
#[derive(Debug, Subcommand)]
pub enum KeysVerb {
    /// Make a key file and its public one, FILE.pub
    New {
        /// The file for the private key; it must not exist
        #[arg(long, value_name = "FILE")]
        key: PathBuf,
    },
    /// Print the fingerprint of a key and its name as a `did:key`
    Show {
        /// The private or the public key
        #[arg(long, value_name = "FILE")]
        key: PathBuf,
    },
}

/// Runs a verb; returns the exit code.
pub fn main(verb: &ReceiptsVerb) -> i32 {
    stdout::checked(match verb {
        ReceiptsVerb::Daemon(args) => daemon::main(args),
        ReceiptsVerb::Relay(args) => relay::main(args),
        ReceiptsVerb::Proxy(args) => proxy::main(args),
        ReceiptsVerb::Observer(args) => observer::main(args),
        ReceiptsVerb::Verify(args) => verify::main(args),
        ReceiptsVerb::Keys { verb } => key(verb),
        ReceiptsVerb::Export(args) => export::main(args),
        ReceiptsVerb::Demo(args) => demo::main(args),
    })
}

fn key(verb: &KeysVerb) -> i32 {
    let key = match verb {
        KeysVerb::New { key } => keys::make(key),
        KeysVerb::Show { key } => keys::show(key),
    };
    match key {
        Ok(key) => {
            stdout::line(format_args!("{} {}", keys::fingerprint(&key), did::name(&key)));
            0
        }
        Err(error) => {
            eprintln!("refbox receipts keys: {error}");
            2
        }
    }
}
