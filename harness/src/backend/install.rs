//! Lacks of a shipped backend on this host, and the source of each missing program: [`lacks`].

use std::collections::BTreeMap;
use std::path::Path;

use boxproof_cases::case::HostPlatform;

use super::resolve::{self, BackendError};
use super::{Manifest, SettledUser, program};

/// A program that is not here, or not in the right version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingProgram {
    /// The program's name.
    pub program: String,
    /// Package manager → package.
    pub install: BTreeMap<String, String>,
}

/// Lists the programs that the backend of `spec` lacks here; none when it does not run on this
/// platform, has no manifest or needs nothing.
///
/// # Errors
/// An unknown backend, or one that cannot be queried.
pub fn lacks(
    spec: &str,
    me: &Path,
    settled: &SettledUser,
) -> Result<Vec<MissingProgram>, BackendError> {
    let Some((manifest, _)) = resolve::manifest(spec)? else { return Ok(Vec::new()) };
    if !manifest.platforms.contains(&HostPlatform::HERE) || manifest.program.is_empty() {
        return Ok(Vec::new());
    }
    let lack = |(program, install): (&String, &BTreeMap<String, String>)| MissingProgram {
        program: program.clone(),
        install: install.clone(),
    };
    let mut lacks: Vec<MissingProgram> = programs(&manifest)
        .filter(|(program, _)| program::find(program).is_none())
        .map(lack)
        .collect();
    // Everything is here, and still it cannot be run: it is another version.
    if lacks.is_empty() && !may_need_root(&manifest) && is_missing(spec, me, settled)? {
        lacks.extend(programs(&manifest).take(1).map(lack));
    }
    Ok(lacks)
}

fn programs(manifest: &Manifest) -> impl Iterator<Item = (&String, &BTreeMap<String, String>)> {
    std::iter::once((&manifest.program, &manifest.install)).chain(&manifest.requires)
}

fn may_need_root(manifest: &Manifest) -> bool {
    manifest.run_as() == super::RunAs::Root
}

fn is_missing(spec: &str, me: &Path, settled: &SettledUser) -> Result<bool, BackendError> {
    Ok(resolve::resolve(spec, me, settled)?.missing.is_some())
}
