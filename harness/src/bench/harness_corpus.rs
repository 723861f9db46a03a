//! The small corpus by which the harness itself is measured ([`HarnessCorpus`]).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::prepared_run::base_env;
use crate::backend::{Backend, BackendKind, SpawnPlan};

const REQUIREMENT: &str = "R-bench: {text: A command runs., source: bench, polarity: positive}\n";

const CASE: &str = "purpose: A command runs.
requirement: R-bench
act: {argv: [\"true\"]}
expect: {allowed: {}, exit: 0}
rows: {a: {}, b: {}, c: {}, d: {}, e: {}, f: {}, g: {}, h: {}, i: {}, j: {}}
";

/// A corpus of rows that do nothing.
#[derive(Debug)]
pub(super) struct HarnessCorpus {
    cases: PathBuf,
}

impl HarnessCorpus {
    /// The arms that its rows are run in.
    pub(super) const ARMS: u64 = 20;

    /// Writes it below `directory`.
    pub(super) fn write(directory: &Path) -> io::Result<Self> {
        let cases = directory.join("cases");
        for (name, text) in [("requirements/bench.yaml", REQUIREMENT), ("exec/nothing.yaml", CASE)]
        {
            let path = cases.join(name);
            fs::create_dir_all(path.parent().unwrap_or(&cases))?;
            fs::write(path, text)?;
        }
        Ok(Self { cases })
    }

    /// Returns the run over it by the program behind `backend`, which has to be a boxproof.
    ///
    /// # Errors
    /// A backend that is not the reference of a boxproof.
    pub(super) fn spawn(&self, backend: &Backend, directory: &Path) -> Result<SpawnPlan, String> {
        let BackendKind::Native { program, prefix, .. } = &backend.kind else {
            return Err("the program is no boxproof".to_owned());
        };
        if prefix != &["reference"] {
            return Err("the program is no boxproof".to_owned());
        }
        let scratch = directory.join("scratch");
        let words = ["run", "--backend", "none", "--jobs", "1", "--cases"];
        let mut argv = vec![program.clone().into_os_string()];
        argv.extend(words.map(Into::into));
        argv.extend([self.cases.clone().into(), "--scratch".into(), scratch.into()]);
        let cwd = directory.to_owned();
        Ok(SpawnPlan { argv, env: base_env(directory), cwd, ..SpawnPlan::default() })
    }
}
