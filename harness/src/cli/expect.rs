//! `boxproof expect update`: a backend's list of known failures, written from what was measured.

use std::path::{Path, PathBuf};

use boxproof_reports::{CaseRow, Header, Run, UserKind};
use clap::Subcommand;

use super::{Cases, Failure, backends, print, records};
use crate::backend::{Backend, Kind};
use crate::expect::{Measured, Options, changes, text, update};
use crate::known::{Date, Known, KnownRow, Os, Setting, is_exempt};
use crate::session::{Conclusion, Request, conduct, tools_for};

/// Arguments of `expect`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Write a backend's list of known failures anew. Reasons, links and dates stay with what
    /// still fails alike; what was not measured stays as it is.
    Update(Update),
}

#[derive(Debug, clap::Args)]
struct Update {
    #[command(flatten)]
    cases: Cases,
    /// The backend: a manifest FILE.yaml, whose list is FILE.known.yaml, or a shipped NAME with
    /// --out.
    #[arg(long, value_name = "BACKEND")]
    backend: String,
    /// Take what these run records say (NDJSON, or folders of them) instead of running the cases.
    /// Repeatable: one a user, version or system.
    #[arg(long, value_name = "FILE")]
    report: Vec<PathBuf>,
    /// Write this file; by default the one beside the manifest.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write down what is inconclusive or an error, too.
    #[arg(long)]
    unlearnt: bool,
    /// Where the scratch folder is made.
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
}

pub(super) fn run(args: Args) -> Result<i32, Failure> {
    let Verb::Update(args) = args.verb;
    let backend = backends(std::slice::from_ref(&args.backend))?.remove(0);
    if is_exempt(&backend.name) {
        let name = &backend.name;
        return Err(Failure::usage(format!(
            "{name} never has known failures: fix it, or the cases"
        )));
    }
    let file = args.file()?;
    let old = old(&file, &backend)?;
    let suite = args.cases.suite()?;
    let runs = match measure(&args, &backend)? {
        Ok(runs) => runs,
        Err(code) => return Ok(code),
    };
    if let Some((header, _)) = runs.iter().find(|(h, _)| h.corpus.sha256 != suite.sha256) {
        let started = &header.started;
        return Err(Failure::usage(format!(
            "the record of {started} is of another corpus: run it again"
        )));
    }
    let measured = runs.iter().map(|(header, rows)| of_run(header, rows, &backend.name));
    let measured = measured.collect::<Result<Vec<_>, _>>()?;
    let options =
        Options { unlearnt: args.unlearnt, several_systems: runs_on_several_systems(&backend) };
    let new = update(&suite, &old, &measured, options);
    write(&file, &backend.name, &new)?;
    let (added, removed) = changes(&old, &new);
    print(&format!(
        "{}: {} known failures; {added} rows are new, {removed} are gone\n",
        file.display(),
        new.len()
    ));
    Ok(0)
}

impl Update {
    fn file(&self) -> Result<PathBuf, Failure> {
        let spec = Path::new(&self.backend);
        match &self.out {
            Some(out) => Ok(out.clone()),
            None if spec.extension().is_some_and(|end| end == "yaml" || end == "yml") => {
                Ok(spec.with_extension("known.yaml"))
            }
            None => Err(Failure::usage(format!(
                "{} is built in or has no manifest: say where the list goes (--out FILE.known.yaml)",
                self.backend
            ))),
        }
    }
}

/// The list as it is: the file's, else the one that came with the backend.
fn old(file: &Path, backend: &Backend) -> Result<Vec<KnownRow>, Failure> {
    if !file.exists() {
        return Ok(backend.known.rows().to_vec());
    }
    let fault = |error: String| Failure::usage(format!("{}: {error}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| fault(error.to_string()))?;
    let known = Known::parse(file, &text, &backend.name);
    Ok(known.map_err(|error| Failure::usage(error.to_string()))?.rows().to_vec())
}

type Ran = (Header, Vec<CaseRow>);

/// Headers and rows to go by; or the exit code where there are none.
fn measure(args: &Update, backend: &Backend) -> Result<Result<Vec<Ran>, i32>, Failure> {
    if !args.report.is_empty() {
        let named = |run: &Run| {
            run.header.backends.iter().any(|b| b.name == backend.name && b.missing.is_none())
        };
        let runs: Vec<Run> = records::read_all(&args.report)?.into_iter().filter(named).collect();
        return match runs.is_empty() {
            true => Err(Failure::usage(format!("no record has results of {}", backend.name))),
            false => Ok(Ok(runs.into_iter().map(|run| (run.header, run.rows)).collect())),
        };
    }
    if let Some(missing) = &backend.missing {
        anstream::eprintln!("boxproof: {}: {}", missing.what, missing.hint);
        return Ok(Err(3));
    }
    let suite = args.cases.suite()?;
    let request = Request {
        selection: args.cases.selection(&suite)?,
        suite,
        backends: vec![backend.clone()],
        all: false,
        strict: false,
        jobs: None,
        scratch: args.scratch.clone(),
        reproduce: args.cases.reproduce(),
    };
    let tools = tools_for(&request.suite, &request.selection);
    match conduct(&request, tools, |_, _| {})? {
        Conclusion::Finished(finished) if finished.rows.is_empty() => Ok(Err(4)),
        Conclusion::Finished(finished) => Ok(Ok(vec![(finished.header, finished.rows)])),
        Conclusion::Interrupted(signal) => Ok(Err(128 + signal as i32)),
    }
}

fn of_run<'a>(
    header: &Header,
    rows: &'a [CaseRow],
    backend: &str,
) -> Result<Measured<'a>, Failure> {
    let info = header.backends.iter().find(|info| info.name == backend);
    let version = info.map(|info| info.version.clone()).filter(|version| !version.is_empty());
    let os = match header.host.get("os").and_then(|os| os.as_str()) {
        Some("linux") => Os::Linux,
        Some("macos") => Os::Macos,
        other => {
            let os = other.unwrap_or("nothing");
            return Err(Failure::usage(format!("a record says its system is {os}: run it again")));
        }
    };
    let user: UserKind = header.user.kind;
    Ok(Measured {
        setting: Setting { os, user, version, today: Date::today() },
        rows: rows.iter().filter(|row| row.backend == backend).collect(),
    })
}

fn runs_on_several_systems(backend: &Backend) -> bool {
    match &backend.kind {
        Kind::Argv(manifest) => manifest.platforms.len() > 1,
        _ => true,
    }
}

/// Writes the list whole or not at all; a list without rows is no file.
fn write(file: &Path, name: &str, rows: &[KnownRow]) -> Result<(), Failure> {
    let fault =
        |error: &dyn std::fmt::Display| Failure::usage(format!("{}: {error}", file.display()));
    if rows.is_empty() {
        return match std::fs::remove_file(file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(fault(&error)),
            _ => Ok(()),
        };
    }
    let text = text(name, rows);
    // What cannot be read back must not take the place of what can.
    Known::parse(file, &text, name).map_err(|error| Failure::usage(error.to_string()))?;
    let draft = file.with_extension("yaml.new");
    std::fs::write(&draft, text).map_err(|error| fault(&error))?;
    std::fs::rename(&draft, file).map_err(|error| fault(&error))
}
