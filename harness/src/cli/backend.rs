//! `boxproof backend`: list, show and check backends.

use std::path::PathBuf;

use boxproof_cases::Capability;
use boxproof_cases::protocol::ClaimLevel;
use clap::Subcommand;

use super::user::{UserArgs, become_run_user, settle_questions};
use super::{CliFailure, backends, check, install, print_text};
use crate::backend::{Backend, BackendKind, shipped_names};

/// Arguments of `backend`.
#[derive(Debug, clap::Args)]
pub(super) struct BackendArgs {
    #[command(subcommand)]
    verb: BackendVerb,
}

#[derive(Debug, Subcommand)]
enum BackendVerb {
    /// Every shipped backend, whether it is installed, and how to install it.
    List,
    /// Show a backend's claims, and its known limits.
    Show {
        /// A shipped NAME, a PROGRAM or a manifest FILE.yaml.
        backend: String,
    },
    /// List what backends lack on this system, and how to install it.
    InstallHint {
        /// Shipped NAMEs or manifest FILEs; by default every shipped backend.
        names: Vec<String>,
        /// Print a shell script that installs it, versions pinned.
        #[arg(long)]
        script: bool,
    },
    /// Ask the plain cases about every claim: a second pair of eyes for a manifest.
    Check {
        /// A shipped NAME, a PROGRAM or a manifest FILE.yaml.
        backend: String,
        /// The directory in which the scratch directory is made.
        #[arg(long, value_name = "DIR")]
        scratch: Option<PathBuf>,
        #[command(flatten)]
        who: UserArgs,
    },
}

pub(super) fn run(args: BackendArgs) -> Result<i32, CliFailure> {
    match args.verb {
        BackendVerb::List => list(),
        BackendVerb::Show { backend } => show(&backends(&[backend], &settle_questions(None)?)?[0]),
        BackendVerb::InstallHint { names, script } => install::run(&names, script),
        BackendVerb::Check { backend, scratch, who } => {
            let specs = [backend];
            let settled = become_run_user(&who, &specs, || Ok(()))?;
            check::run(backends(&specs, &settled)?, scratch)
        }
    }
}

/// Returns the version of a backend, or a text in its place.
fn version_words(backend: &Backend) -> String {
    let unknown = match &backend.kind {
        BackendKind::Argv(_) => "no version to be had",
        _ => "built in",
    };
    backend.version.clone().unwrap_or_else(|| unknown.to_owned())
}

fn list() -> Result<i32, CliFailure> {
    let names: Vec<String> =
        std::iter::once("reference").chain(shipped_names()).map(str::to_owned).collect();
    for backend in backends(&names, &settle_questions(None)?)? {
        let state = match &backend.missing {
            Some(missing) => format!("not installed: {}", missing.hint),
            None => version_words(&backend),
        };
        let claims = backend.claims.values().filter(|level| **level != ClaimLevel::None).count();
        print_text(&format!("{:12} {claims:3} claims  {state}\n", backend.name))?;
    }
    Ok(0)
}

fn show(backend: &Backend) -> Result<i32, CliFailure> {
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "none".to_owned());
    print_text(&format!("{}\n", backend.name))?;
    print_text(&format!("  version    {}\n", or_none(backend.version.clone())))?;
    print_text(&format!(
        "  program    {}\n",
        or_none(backend.program.as_ref().map(|p| p.display().to_string()))
    ))?;
    print_text(&format!("  mechanism  {}\n", or_none(backend.mechanism.clone())))?;
    if let Some(missing) = &backend.missing {
        print_text(&format!("  missing    {}: {}\n", missing.what, missing.hint))?;
    }
    for capability in Capability::all() {
        let level = match backend.claim(&capability) {
            ClaimLevel::None if backend.asked.contains(&capability) => "asked",
            level => level.keyword(),
        };
        let evidence = backend.evidence.get(&capability).map_or("", |evidence| evidence.keyword());
        let (name, meaning) = (capability.name(), capability.meaning());
        print_text(&format!("  {level:9} {name:30} {evidence:11} {meaning}\n"))?;
    }
    for limit in &backend.limits {
        print_text(&format!("  limit      {limit}\n"))?;
    }
    Ok(0)
}
