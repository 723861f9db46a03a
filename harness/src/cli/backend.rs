//! `boxproof backend`: list, show and check backends.

use std::collections::BTreeMap;
use std::path::PathBuf;

use boxproof_cases::protocol::ClaimLevel;
use boxproof_cases::{Capability, Suite};
use boxproof_reports::{CaseRow, Verdict};
use clap::Subcommand;

use super::user::{Who, settle};
use super::{Failure, backends, print};
use crate::backend::{Backend, shipped_names};
use crate::selection::{Selection, Slow};
use crate::session::{Conclusion, Request, conduct, tools_for};

/// Arguments of `backend`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Every shipped backend, whether it is installed, and how to install it.
    List,
    /// What a backend claims, and its known limits.
    Show {
        /// A shipped NAME, a PROGRAM or a manifest FILE.yaml.
        backend: String,
    },
    /// Measure every claim: for each claimed capability, is there a case that passes and none that
    /// fails?
    Check {
        /// A shipped NAME, a PROGRAM or a manifest FILE.yaml.
        backend: String,
        /// Where the scratch folder is made.
        #[arg(long, value_name = "DIR")]
        scratch: Option<PathBuf>,
        #[command(flatten)]
        who: Who,
    },
}

pub(super) fn run(args: Args) -> Result<i32, Failure> {
    match args.verb {
        Verb::List => list(),
        Verb::Show { backend } => show(&backends(&[backend])?[0]),
        Verb::Check { backend, scratch, who } => {
            let specs = [backend];
            settle(&who, &specs, || Ok(()))?;
            check(backends(&specs)?, scratch)
        }
    }
}

fn list() -> Result<i32, Failure> {
    let names: Vec<String> =
        std::iter::once("reference").chain(shipped_names()).map(str::to_owned).collect();
    for backend in backends(&names)? {
        let state = match &backend.missing {
            Some(missing) => format!("not installed: {}", missing.hint),
            None => backend.version.clone().unwrap_or_else(|| "built in".to_owned()),
        };
        let claims = backend.claims.values().filter(|level| **level != ClaimLevel::None).count();
        print(&format!("{:12} {claims:3} claims  {state}\n", backend.name));
    }
    Ok(0)
}

fn show(backend: &Backend) -> Result<i32, Failure> {
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "none".to_owned());
    print(&format!("{}\n", backend.name));
    print(&format!("  version    {}\n", or_none(backend.version.clone())));
    print(&format!(
        "  program    {}\n",
        or_none(backend.program.as_ref().map(|p| p.display().to_string()))
    ));
    print(&format!("  mechanism  {}\n", or_none(backend.mechanism.clone())));
    if let Some(missing) = &backend.missing {
        print(&format!("  missing    {}: {}\n", missing.what, missing.hint));
    }
    for capability in Capability::all() {
        let level = match backend.claim(&capability) {
            ClaimLevel::None if backend.asked.contains(&capability) => "asked",
            level => level.word(),
        };
        let evidence = backend.evidence.get(&capability).map_or("", |evidence| evidence.word());
        let (name, meaning) = (capability.name(), capability.meaning());
        print(&format!("  {level:9} {evidence:11}{name:30} {meaning}\n"));
    }
    for limit in &backend.limits {
        print(&format!("  limit      {limit}\n"));
    }
    Ok(0)
}

/// What the cases about a capability (the last one they need) came to.
#[derive(Debug, Default)]
struct Measured {
    passed: u32,
    failed: Vec<String>,
}

fn check(backends: Vec<Backend>, scratch: Option<PathBuf>) -> Result<i32, Failure> {
    let backend = backends[0].clone();
    if let Some(missing) = &backend.missing {
        anstream::eprintln!("boxproof: {}: {}", missing.what, missing.hint);
        return Ok(3);
    }
    let suite = Suite::embedded().map_err(|errors| Failure::usage(format!("{errors:?}")))?;
    let request = Request {
        suite,
        selection: Selection::new::<&str>(&[], Slow::ByIdOnly)
            .map_err(|error| Failure::usage(error.to_string()))?,
        backends,
        all: false,
        strict: false,
        jobs: None,
        scratch,
        reproduce: String::new(),
    };
    let tools = tools_for(&request.suite, &request.selection);
    let finished = match conduct(&request, tools, |_, _| {})? {
        Conclusion::Finished(finished) => finished,
        Conclusion::Interrupted(signal) => return Ok(128 + signal as i32),
    };
    Ok(report(&backend, &measure(&finished.rows)))
}

fn measure(rows: &[CaseRow]) -> BTreeMap<String, Measured> {
    let mut measured: BTreeMap<String, Measured> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.verdict.is_judged()) {
        let Some(subject) = row.needs.last() else { continue };
        let measured = measured.entry(subject.clone()).or_default();
        if row.verdict == Verdict::Pass {
            measured.passed += 1;
        } else {
            measured.failed.push(format!("{} ({})", row.id, row.verdict.word()));
        }
    }
    measured
}

/// Prints a line a claim; red when one is contradicted or none could be measured.
fn report(backend: &Backend, measured: &BTreeMap<String, Measured>) -> i32 {
    let (mut red, mut confirmed) = (false, 0);
    for (capability, level) in backend.claims.iter().filter(|(_, l)| **l != ClaimLevel::None) {
        let nothing = Measured::default();
        let found = measured.get(capability.name()).unwrap_or(&nothing);
        let word = match (found.passed, found.failed.as_slice()) {
            (0, []) => "not measured",
            (_, []) => "confirmed",
            _ => "contradicted",
        };
        red |= word == "contradicted";
        confirmed += u32::from(word == "confirmed");
        let failed = found.failed.join(", ");
        print(&format!(
            "{:30} {:9} {word:13} {} pass {failed}\n",
            capability.name(),
            level.word(),
            found.passed
        ));
    }
    print(&format!("{}: {confirmed} claims confirmed\n", backend.name));
    match (red, confirmed) {
        (true, _) => 1,
        (false, 0) => 4,
        _ => 0,
    }
}
