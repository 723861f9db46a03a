//! Verification: of one chain as every verifier does it, and strictly, of all that a file holds.

mod anchors;
mod chain;
mod file;
mod missing_chains;
mod numbers;
mod provenance;
mod pty;
mod rotation;
mod schema;
mod strict;
mod text;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::{canonical, ijson, keys};
pub use chain::{ChainExpectations, ChainVerification, CheckedReceipt, verify};
pub use file::{FileReport, VerifyOptions, verify_file};
pub use provenance::ProvenanceReport;
pub use pty::UnpairedSession;
pub use strict::StrictFinding;

/// The arguments of `verify`.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// The public key that the first receipt of each chain is signed with
    #[arg(long, value_name = "FILE.pub")]
    pub key: PathBuf,
    /// Also report findings that other verifiers accept; each has a name and makes the file invalid
    #[arg(long)]
    pub strict: bool,
    /// Verify this chain only
    #[arg(long, value_name = "NAME")]
    pub chain: Option<String>,
    /// The number of receipts that the chain must have
    #[arg(long, value_name = "N")]
    pub expected_length: Option<usize>,
    /// The hash that the last receipt of the chain must have
    #[arg(long, value_name = "HASH")]
    pub expected_final_hash: Option<String>,
    /// A JSON object of responses by the receipts' ids, for `response_hash` to be compared with
    #[arg(long, value_name = "FILE.json")]
    pub response_bodies: Option<PathBuf>,
    /// Every event must name the process that the daemon saw; exit code 3 if all else is valid
    #[arg(long)]
    pub provenance: bool,
    /// The chain must have ended
    #[arg(long)]
    pub require_terminal: bool,
    /// The format of the result
    #[arg(long, value_enum, default_value_t)]
    pub format: ReportFormat,
    /// Receipts, one a line
    #[arg(value_name = "FILE.jsonl")]
    pub file: PathBuf,
}

/// The format of a result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// A line a receipt and a summary
    #[default]
    Text,
    /// One object
    Json,
}

/// Responses by the ids of their receipts, each as JSON text.
fn bodies(file: &Path) -> Result<BTreeMap<String, Vec<u8>>, String> {
    let said = |error: String| format!("--response-bodies {}: {error}", file.display());
    let bytes = std::fs::read(file).map_err(|error| said(error.to_string()))?;
    let bodies = canonical::parse(&bytes).map_err(said)?;
    ijson::check(&bytes).map_err(said)?;
    let bodies = bodies.as_object().ok_or_else(|| said("not an object by ids".to_owned()))?;
    Ok(bodies.iter().map(|(id, body)| (id.clone(), body.to_string().into_bytes())).collect())
}

/// Verifies a file; returns the exit code: 0 valid, 1 broken, 2 nothing could be verified, 3 valid
/// but not known to be a daemon's.
pub(crate) fn main(args: &VerifyArgs) -> i32 {
    let report = keys::read_public(&args.key).and_then(|key| {
        let bytes = std::fs::read(&args.file);
        let bytes = bytes.map_err(|error| format!("{}: {error}", args.file.display()))?;
        let options = ChainExpectations {
            expected_length: args.expected_length,
            expected_final_hash: args.expected_final_hash.clone(),
            require_terminal: args.require_terminal,
            bodies: args.response_bodies.as_deref().map(bodies).transpose()?.unwrap_or_default(),
        };
        let (strict, provenance) = (args.strict, args.provenance);
        let wanted = VerifyOptions { chain: args.chain.as_deref(), strict, provenance };
        let report = verify_file(&bytes, &key, &options, wanted);
        report.map_err(|error| format!("{}: {error}", args.file.display()))
    });
    let report = match report {
        Ok(report) => report,
        Err(error) => {
            eprintln!("refbox receipts verify: {error}");
            return 2;
        }
    };
    match args.format {
        ReportFormat::Text => crate::stdout::text(format_args!("{}", text::text(&report))),
        ReportFormat::Json => match serde_json::to_string_pretty(&report) {
            Ok(text) => crate::stdout::line(format_args!("{text}")),
            Err(error) => {
                eprintln!("refbox receipts verify: {error}");
                return 2;
            }
        },
    }
    match &report.provenance {
        _ if !report.valid => 1,
        Some(provenance) if !provenance.missing.is_empty() => 3,
        _ => 0,
    }
}
