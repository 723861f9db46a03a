//! The source code of the programs that decided, as far as it is in the command line or in files of the
//! working tree: what it does with errors.

use std::path::PathBuf;

use super::super::error_handlers::ErrorHandlers;
use super::super::operation;
use super::super::script::ScriptCommand;
use super::{DecidingCommands, FailureAnalysis, resolve};

/// The files that are read of one run.
const MOST: usize = 8;
/// Ends of the names of scripts.
const SCRIPTS: [&str; 14] = [
    ".java", ".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".go", ".tcl", ".lua", ".php",
    ".sh", ".mk",
];

/// The error handlers of a run's programs.
#[derive(Debug, Default)]
pub(super) struct RunHandlers {
    /// Those of interpreters.
    code: ErrorHandlers,
    /// Those of shells and recipes.
    lines: ErrorHandlers,
}

impl RunHandlers {
    /// Returns whether the code passes over each error that `program` meets.
    pub(super) fn pass_over(&self, program: Option<&str>) -> bool {
        // Node works with files in threads of its own.
        let others = ["libuv-worker", "java"];
        let runs_code = |name: &str| operation::is_interpreter(name) || others.contains(&name);
        program.is_some_and(runs_code) && self.code.pass_over_all()
    }

    /// Returns whether `output` has what a handler says.
    pub(super) fn say(&self, output: &str) -> bool {
        self.code.say(output) || self.lines.say(output)
    }
}

impl FailureAnalysis<'_> {
    /// Reads what the programs that decided do with errors.
    pub(super) fn error_handlers(&self) -> RunHandlers {
        let DecidingCommands { own, feeders } = self.deciders();
        let mut found = RunHandlers::default();
        let mut files: Vec<PathBuf> = Vec::new();
        for step in own.into_iter().chain(feeders) {
            if operation::is_interpreter(step.program()) {
                step.words.iter().skip(1).for_each(|word| found.code.add(word));
            }
            files.extend(self.sources(step));
        }
        let mut at = 0;
        while let Some(file) = files.get(at).filter(|_| at < MOST) {
            if let Some(text) = (self.look.text)(file) {
                let runs_code =
                    !file.ends_with("Makefile") && !is_named(file, &[".sh", ".mk", ".json"]);
                if runs_code { &mut found.code } else { &mut found.lines }.add(&text);
                let inner = text.split(|c: char| !c.is_alphanumeric() && !"._-/".contains(c));
                let inner = inner.filter(|word| SCRIPTS.iter().any(|end| word.ends_with(end)));
                let inner: Vec<PathBuf> = inner.flat_map(|word| self.meanings(word)).collect();
                inner.into_iter().for_each(|one| {
                    if !files.contains(&one) {
                        files.push(one)
                    }
                });
            }
            at += 1;
        }
        found
    }

    /// Returns the files that have the source code of `step`.
    fn sources(&self, step: &ScriptCommand) -> Vec<PathBuf> {
        let names: &[&str] = match step.program() {
            "make" | "gmake" => &["Makefile", "makefile"],
            "npm" | "yarn" | "pnpm" => &["package.json"],
            _ => &[],
        };
        let words = step.words.iter().map(String::as_str);
        let named = words.filter(|word| SCRIPTS.iter().any(|end| word.ends_with(end)));
        let found = named.chain(names.iter().copied());
        let bases = &self.roles.bases;
        let real = |name: &str| {
            bases.first().map(|base| resolve(base, name.as_ref(), true, self.look.link))
        };
        found.filter_map(real).collect()
    }
}

fn is_named(file: &std::path::Path, ends: &[&str]) -> bool {
    let name = file.to_string_lossy();
    ends.iter().any(|end| name.ends_with(end))
}
