//! `boxproof judge`: every verdict of a record, derived again from what the record keeps.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use boxproof_reports::{ExitCode, record};

use super::{CliFailure, print_text};
use crate::output::OutputTarget;
use crate::rejudge::{differences, rejudge, written};

const EXAMPLES: &str = "\
Examples:
  boxproof run --report run.ndjson
  boxproof judge run.ndjson                     are these the verdicts of these observations?
  boxproof judge run.ndjson --report now.ndjson writes the record that this boxproof makes of them

A later boxproof lists what it would judge otherwise. Whether a case was run at all, and whether its
failure was known, is not judged again.
Exit codes: 0 no difference, 1 differences, 2 a record that cannot be judged again, 4 nothing judged.";

/// Arguments of `judge`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct JudgeArgs {
    /// The records (NDJSON).
    #[arg(required = true, value_name = "RECORD")]
    records: Vec<PathBuf>,

    /// Write the one record as it is judged now to this file.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

pub(super) fn run(args: &JudgeArgs) -> Result<i32, CliFailure> {
    let mut report = match (&args.report, &args.records[..]) {
        (Some(path), [_]) => Some(target(path)?),
        (Some(_), _) => {
            return Err(CliFailure::usage("--report is for one record; name no other".to_owned()));
        }
        (None, _) => None,
    };
    let (mut judged, mut differing) = (0, 0);
    for path in &args.records {
        let (rows, lines) = judge_one(path, report.as_mut())?;
        judged += rows;
        differing += lines;
    }
    Ok(match (judged, differing) {
        (0, 0) => i32::from(ExitCode::Vacuous.code()),
        (_, 0) => 0,
        _ => 1,
    })
}

/// Opens the place of a record before anything is judged.
fn target(path: &Path) -> Result<OutputTarget, CliFailure> {
    let opened = OutputTarget::open(path).and_then(|target| target.try_new().map(|()| target));
    opened.map_err(|error| CliFailure::usage(format!("{}: {error}", path.display())))
}

/// Judges the record at `path` again, prints what differs, and writes the new record to `report`. Returns
/// how many rows were judged, and how many differences there are.
fn judge_one(path: &Path, report: Option<&mut OutputTarget>) -> Result<(usize, usize), CliFailure> {
    let fault =
        |why: &dyn std::fmt::Display| CliFailure::usage(format!("{}: {why}", path.display()));
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|mut file| file.read_to_end(&mut bytes));
    read.map_err(|error| fault(&error))?;
    let bytes = record::unpacked(bytes).map_err(|error| fault(&error))?;
    let run = record::read(bytes.as_slice()).map_err(|error| fault(&error))?;
    let rejudged = rejudge(&run).map_err(|error| fault(&error))?;
    let mut lines: Vec<String> = differences(&run, &rejudged)
        .iter()
        .map(|row| format!("{} on {}: {}", row.id, row.backend, row.saying))
        .collect();
    let now = written(&run, &rejudged).map_err(|error| fault(&error))?;
    // A record is what its rows make, to the byte.
    if lines.is_empty() && now != bytes {
        lines.push("the rows are written otherwise than this boxproof writes them".to_owned());
    }
    let count = lines.len();
    let versions = match env!("CARGO_PKG_VERSION") {
        own if own == run.header.harness => String::new(),
        own => format!(", which boxproof {} has judged and {own} judges", run.header.harness),
    };
    lines.push(format!(
        "{}: {count} differences in {} judged rows ({} not run){versions}",
        path.display(),
        rejudged.judged,
        rejudged.not_run,
    ));
    if let Some(report) = report {
        report.write(&now)?;
    }
    print_text(&(lines.join("\n") + "\n"))?;
    Ok((rejudged.judged, count))
}
