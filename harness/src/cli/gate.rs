//! `boxproof gate`: the decision on a release, by records and a policy file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use boxproof_reports::gate::{GateDecision, GateInputs, GatePolicy, decide, decide_timing, render};
use boxproof_reports::{ExitCode, Run, joined, merge};
use sha2::{Digest, Sha256};

use super::run::record;
use super::{CliFailure, print, project, records, unusable};
use crate::known::CivilDate;
use crate::output::OutputTarget;

/// Arguments of `gate`.
#[derive(Debug, clap::Args)]
pub(super) struct GateArgs {
    /// The evidence: run records (NDJSON), or directories of them; shards are merged.
    #[arg(value_name = "FILE", required = true)]
    records: Vec<PathBuf>,
    /// Write the evidence as one record to this file.
    #[arg(long, value_name = "FILE")]
    merged: Option<PathBuf>,
    /// A timing record, written by `boxproof bench --report`; one a backend. Repeatable.
    #[arg(long, value_name = "FILE")]
    timing: Vec<PathBuf>,
    /// Decide without the timing record that the policy asks for; the reason is told.
    #[arg(long, value_name = "REASON", conflicts_with = "timing", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    skip_timing: Option<String>,
    /// The policy of the gate: the table `gate` of a project file, by default of the one here; or a
    /// file of its own.
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// The commit that would be released: the evidence must be of it.
    #[arg(long, value_name = "SHA")]
    commit: Option<String>,
    /// The program that would be released: the evidence on BACKEND must be of it. Repeatable.
    #[arg(long = "program", value_name = "BACKEND=FILE")]
    programs: Vec<String>,
}

pub(super) fn run(args: &GateArgs) -> Result<i32, CliFailure> {
    let (file, policy) = policy(args.policy.as_deref())?;
    let circumstances = circumstances(args)?;
    let mut red = Vec::new();
    let record = file.parent().unwrap_or(Path::new("")).join(&policy.baseline.record);
    let before = evidence("baseline", std::slice::from_ref(&record), &mut red);
    let after = evidence("evidence", &args.records, &mut red);
    let before = merged("baseline", &before, &mut red);
    if let Some(path) = &args.merged {
        write_merged(path, &after, &mut red)?;
    }
    let after = merged("evidence", &after, &mut red);
    let decision = match (before, after) {
        (Some(before), Some(after)) => {
            let decision = decide(&policy, (&before, &after), &circumstances);
            GateDecision { red: [red, decision.red].concat(), ..decision }
        }
        _ => GateDecision { red, ..GateDecision::default() },
    };
    let timing = timing(args, &policy, &circumstances);
    let decision = GateDecision {
        red: [decision.red, timing.red].concat(),
        told: [decision.told, timing.told].concat(),
        compared: decision.compared,
    };
    print(&render(&decision))?;
    let code = if decision.is_green() { ExitCode::Expected } else { ExitCode::Gate };
    Ok(i32::from(code.code()))
}

/// Decides on the timing records, where the policy or the caller names some.
fn timing(args: &GateArgs, policy: &GatePolicy, circumstances: &GateInputs) -> GateDecision {
    let mut decision = GateDecision::default();
    match (&args.skip_timing, &policy.timing) {
        (Some(reason), _) => decision.told.push(format!("timing: skipped: {reason}")),
        (None, None) if args.timing.is_empty() => {}
        (None, rules) => {
            let mut found = Vec::new();
            for path in &args.timing {
                match records::read_timing(path) {
                    Ok(record) => found.push(record),
                    Err(failure) => decision.red.push(format!("timing: {}", failure.message)),
                }
            }
            // The failure to read any record has been reported.
            if decision.red.is_empty() || !found.is_empty() {
                let rules = rules.clone().unwrap_or_default();
                let decided = decide_timing(&rules, &found, circumstances);
                decision.red.extend(decided.red);
                decision.told.extend(decided.told);
            }
        }
    }
    decision
}

/// Reads the records at `paths`; a record that cannot be read is a reason to be red.
fn evidence(what: &str, paths: &[PathBuf], red: &mut Vec<String>) -> Vec<Run> {
    let mut runs = Vec::new();
    for path in paths {
        match records::read_all(std::slice::from_ref(path)) {
            Ok(found) => runs.extend(found),
            Err(failure) => red.push(format!("{what}: {}", failure.message)),
        }
    }
    runs
}

fn merged<'a>(
    what: &str,
    runs: &'a [Run],
    red: &mut Vec<String>,
) -> Option<boxproof_reports::Matrix<'a>> {
    // The failure to read any record has been reported.
    if runs.is_empty() {
        return None;
    }
    merge(runs).map_err(|error| red.push(format!("{what}: {error}"))).ok()
}

/// Writes `runs` as one record; that they are none is a reason.
fn write_merged(path: &Path, runs: &[Run], red: &mut Vec<String>) -> Result<(), CliFailure> {
    let mut place = OutputTarget::open(path).map_err(unusable)?;
    match joined(runs) {
        Ok((header, rows)) => Ok(place.write(&record(header, rows, None)?.1)?),
        Err(error) => {
            red.push(format!("evidence: cannot be written as one record: {error}"));
            Ok(())
        }
    }
}

/// Returns the policy, and the file that it is in.
fn policy(file: Option<&Path>) -> Result<(PathBuf, GatePolicy), CliFailure> {
    let (file, project) = match file {
        Some(file) => (file.to_owned(), project::read(file)?),
        None => project::here()?,
    };
    let missing = || {
        let file = file.display();
        CliFailure::usage(format!(
            "{file}: gate: the table is missing, see `boxproof schema project`"
        ))
    };
    let policy = project.gate.ok_or_else(missing)?;
    Ok((file, policy))
}

fn circumstances(args: &GateArgs) -> Result<GateInputs, CliFailure> {
    let mut programs = BTreeMap::new();
    for text in &args.programs {
        let (backend, file) = text
            .split_once('=')
            .ok_or_else(|| CliFailure::usage(format!("--program {text}: write BACKEND=FILE")))?;
        programs.insert(backend.to_owned(), sha256(Path::new(file))?);
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let commit = args.commit.clone().or_else(|| std::env::var("GITHUB_SHA").ok());
    Ok(GateInputs { now, today: CivilDate::today().to_string(), commit, programs })
}

fn sha256(path: &Path) -> Result<String, CliFailure> {
    let fault = |error: std::io::Error| CliFailure::usage(format!("{}: {error}", path.display()));
    let mut hash = Sha256::new();
    std::io::copy(&mut std::fs::File::open(path).map_err(fault)?, &mut hash).map_err(fault)?;
    Ok(format!("{:x}", hash.finalize()))
}
