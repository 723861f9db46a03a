//! The receipts channel as a program of its own, without the sandbox; everything is in the library.

#[cfg(target_os = "linux")]
use boxproof_receipts::ReceiptsVerb;

/// Sign the actions in sandboxes, and verify receipts
#[cfg(target_os = "linux")]
#[derive(Debug, clap::Parser)]
#[command(name = "boxproof-receipts", version)]
struct ReceiptsCli {
    /// The part of the channel
    #[command(subcommand)]
    verb: ReceiptsVerb,
}

#[cfg(target_os = "linux")]
fn main() {
    let cli: ReceiptsCli = clap::Parser::parse();
    std::process::exit(boxproof_receipts::main(&cli.verb));
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("boxproof-receipts: the channel runs on Linux alone");
    std::process::exit(2);
}
