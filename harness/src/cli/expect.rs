//! `boxproof expect update`: a backend's list of known failures, written from what was measured.

use std::path::{Path, PathBuf};

use boxproof_reports::{CaseRow, Header, Run, UserKind};
use clap::Subcommand;

use super::user::settle_questions;
use super::{
    CaseArgs, CliFailure, SettledCases, backends, child, note, print_text, records, unusable,
};
use crate::backend::{Backend, BackendKind};
use crate::expect::{MeasuredRun, UpdateOptions, changes, text, update};
use crate::known::{CivilDate, KnownFailures, KnownRow, RunSetting, SystemName, is_exempt};
use crate::output::OutputTarget;

/// Arguments of `expect`.
#[derive(Debug, clap::Args)]
pub(super) struct ExpectArgs {
    #[command(subcommand)]
    verb: ExpectVerb,
}

#[derive(Debug, Subcommand)]
enum ExpectVerb {
    /// Write a backend's list of known failures anew. Reasons, links and dates stay with failures
    /// that are still alike; rows that were not measured stay as they are.
    Update(UpdateArgs),
}

#[derive(Debug, clap::Args)]
struct UpdateArgs {
    #[command(flatten)]
    cases: CaseArgs,
    /// The backend: a manifest FILE.yaml, whose list is FILE.known.yaml, or a shipped NAME with
    /// --out.
    #[arg(long, value_name = "BACKEND")]
    backend: String,
    /// Take the outcomes of these run records (NDJSON, or directories of them) instead of running
    /// the cases. Repeatable: one a user, version or system.
    #[arg(long, value_name = "FILE")]
    report: Vec<PathBuf>,
    /// Write this file; by default the one beside the manifest.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write down what is inconclusive or an error, too.
    #[arg(long)]
    unlearnt: bool,
    /// Run as this account, as `boxproof run` has it.
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// The directory in which the scratch directory is made.
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
}

pub(super) fn run(args: ExpectArgs) -> Result<i32, CliFailure> {
    let ExpectVerb::Update(args) = args.verb;
    let settled = settle_questions(args.user.as_deref())?;
    let backend = backends(std::slice::from_ref(&args.backend), &settled)?.remove(0);
    if is_exempt(&backend.name) {
        let name = &backend.name;
        return Err(CliFailure::usage(format!(
            "{name} never has known failures: fix it, or the cases"
        )));
    }
    let file = args.file()?;
    let mut target = OutputTarget::open(&file).map_err(unusable)?;
    target.try_new().map_err(unusable)?;
    let old = old(&file, &target, &backend)?;
    let cases = args.cases.settle()?;
    let suite = cases.corpus.suite()?;
    let runs = match measure(&args, &cases, &backend)? {
        Ok(runs) => runs,
        Err(code) => return Ok(code),
    };
    if let Some((header, _)) = runs.iter().find(|(h, _)| h.corpus.sha256 != suite.sha256) {
        let started = &header.started;
        return Err(CliFailure::usage(format!(
            "the record of {started} is of another corpus: run it again"
        )));
    }
    let measured = runs.iter().map(|(header, rows)| of_run(header, rows, &backend.name));
    let measured = measured.collect::<Result<Vec<_>, _>>()?;
    let options = UpdateOptions {
        unlearnt: args.unlearnt,
        several_systems: runs_on_several_systems(&backend),
    };
    let new = update(&suite, &old, &measured, options);
    write(&file, &mut target, &backend.name, &new)?;
    let (added, removed) = changes(&old, &new);
    print_text(&format!(
        "{}: {} known failures; {added} rows are new, {removed} are gone\n",
        file.display(),
        new.len()
    ))?;
    Ok(0)
}

impl UpdateArgs {
    fn file(&self) -> Result<PathBuf, CliFailure> {
        let spec = Path::new(&self.backend);
        match &self.out {
            Some(out) => Ok(out.clone()),
            None if spec.extension().is_some_and(|end| end == "yaml" || end == "yml") => {
                Ok(spec.with_extension("known.yaml"))
            }
            None => Err(CliFailure::usage(format!(
                "{} is built in or has no manifest: say where the list goes (--out FILE.known.yaml)",
                self.backend
            ))),
        }
    }
}

/// The most bytes of a list.
const LIMIT: u64 = 64 << 20;

/// The list as it is: the file's, else the one that came with the backend.
fn old(file: &Path, target: &OutputTarget, backend: &Backend) -> Result<Vec<KnownRow>, CliFailure> {
    if !target.exists().map_err(unusable)? {
        return Ok(backend.known.rows().to_vec());
    }
    let text = String::from_utf8(target.read(LIMIT).map_err(unusable)?)
        .map_err(|error| CliFailure::usage(format!("{}: {error}", file.display())))?;
    let known = KnownFailures::parse(file, &text, &backend.name);
    Ok(known.map_err(|error| CliFailure::usage(error.to_string()))?.rows().to_vec())
}

type RecordedRun = (Header, Vec<CaseRow>);

/// Headers and rows to go by; or the exit code where there are none.
fn measure(
    args: &UpdateArgs,
    cases: &SettledCases,
    backend: &Backend,
) -> Result<Result<Vec<RecordedRun>, i32>, CliFailure> {
    if !args.report.is_empty() {
        let named = |run: &Run| {
            run.header.backends.iter().any(|b| b.name == backend.name && b.missing.is_none())
        };
        let runs: Vec<Run> = records::read_all(&args.report)?.into_iter().filter(named).collect();
        return match runs.is_empty() {
            true => Err(CliFailure::usage(format!("no record has results of {}", backend.name))),
            false => Ok(Ok(runs.into_iter().map(|run| (run.header, run.rows)).collect())),
        };
    }
    if let Some(missing) = &backend.missing {
        note(format_args!("{}: {}", missing.what, missing.hint));
        return Ok(Err(3));
    }
    // As `run` would, as the user that the backend is for.
    let asked = child::ChildRequest {
        cases,
        backends: std::slice::from_ref(&args.backend),
        scratch: args.scratch.as_deref(),
        user: args.user.as_deref(),
    };
    let bytes = match child::record(asked)? {
        Ok(bytes) => bytes,
        Err(code) => return Ok(Err(code)),
    };
    let run = child::read_back(&bytes)?;
    Ok(if run.rows.is_empty() { Err(4) } else { Ok(vec![(run.header, run.rows)]) })
}

fn of_run<'a>(
    header: &Header,
    rows: &'a [CaseRow],
    backend: &str,
) -> Result<MeasuredRun<'a>, CliFailure> {
    let info = header.backends.iter().find(|info| info.name == backend);
    let version = info.map(|info| info.version.clone()).filter(|version| !version.is_empty());
    let os = match header.host.get("os").and_then(|os| os.as_str()) {
        Some("linux") => SystemName::Linux,
        Some("macos") => SystemName::Macos,
        other => {
            let os = other.unwrap_or("nothing");
            return Err(CliFailure::usage(format!(
                "a record says its system is {os}: run it again"
            )));
        }
    };
    let user: UserKind = header.user.kind;
    Ok(MeasuredRun {
        setting: RunSetting { os, user, version, today: CivilDate::today() },
        rows: rows.iter().filter(|row| row.backend == backend).collect(),
    })
}

fn runs_on_several_systems(backend: &Backend) -> bool {
    match &backend.kind {
        BackendKind::Argv(manifest) => manifest.platforms.len() > 1,
        _ => true,
    }
}

/// Writes the list whole or not at all; a list without rows is no file.
fn write(
    file: &Path,
    target: &mut OutputTarget,
    name: &str,
    rows: &[KnownRow],
) -> Result<(), CliFailure> {
    if rows.is_empty() {
        return Ok(target.remove()?);
    }
    let text = text(name, rows);
    // A file that cannot be read back must not take the place of one that can.
    KnownFailures::parse(file, &text, name)
        .map_err(|error| CliFailure::usage(error.to_string()))?;
    Ok(target.write(text.as_bytes())?)
}
