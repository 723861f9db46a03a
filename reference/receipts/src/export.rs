//! Export: the receipts of a store as they were stored, whole lines only.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::PathBuf;

use clap::Args;

use super::parsed_receipt;

/// The arguments of `export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// The store of a daemon, which may be running
    #[arg(long, value_name = "FILE")]
    pub store: PathBuf,
    /// The receipts of this chain only
    #[arg(long, value_name = "NAME")]
    pub chain: Option<String>,
}

/// Prints receipts, one a line, in the order of the store; returns the exit code.
pub(crate) fn main(args: &ExportArgs) -> i32 {
    match export(args) {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("refbox receipts export: {}: {error}", args.store.display());
            2
        }
    }
}

fn export(args: &ExportArgs) -> Result<(), String> {
    let file = File::open(&args.store).map_err(|error| error.to_string())?;
    let mut from = BufReader::with_capacity(1 << 16, file);
    let mut to = BufWriter::new(std::io::stdout().lock());
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        from.read_until(b'\n', &mut line).map_err(|error| error.to_string())?;
        let Some(text) = line.strip_suffix(b"\n") else { break };
        if let Some(wanted) = &args.chain {
            let read =
                parsed_receipt::read(text).map_err(|error| format!("line {number}: {error}"))?;
            if read.chain_id() != wanted {
                continue;
            }
        }
        to.write_all(&line).map_err(|error| error.to_string())?;
    }
    to.flush().map_err(|error| error.to_string())
}
