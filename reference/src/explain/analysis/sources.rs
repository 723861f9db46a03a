//! The source code of the programs that decided, as far as it is in the command line or in files of the
//! working tree: what it does with errors.

use std::path::PathBuf;

use super::super::errno_messages::RefusalClass;
use super::super::error_handlers::ErrorHandlers;
use super::super::script::{self, ScriptCommand};
use super::super::{deciding_commands, download, operation, silent_commands};
use super::{
    AccessKind, DecidingCommands, FailureAnalysis, RunDenial, cause, ends, of_line, resolve,
};

/// The files that are read of one run.
const MOST: usize = 8;
/// Ends of the names of scripts.
const SCRIPTS: [&str; 14] = [
    ".java", ".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".go", ".tcl", ".lua", ".php",
    ".sh", ".mk",
];

/// Ends of the names of files in which a shell's lines are.
const RECIPES: [&str; 3] = [".sh", ".mk", ".json"];

/// The kind of a source text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SourceKind {
    /// Code of an interpreter.
    Code,
    /// Lines for a shell.
    Recipe,
}

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

    /// Returns whether the code passes over each error.
    pub(super) fn pass_over_code(&self) -> bool {
        self.code.pass_over_all()
    }

    /// Returns whether code goes on after an error of which it says `line`.
    pub(super) fn go_on_after(&self, line: &str) -> bool {
        self.code.go_on_after(line)
    }

    /// Returns the code of which errors are caught and that gives a value to a variable in `line`.
    pub(super) fn guarding(&self, line: &str) -> impl Iterator<Item = &str> {
        self.code.guarding(line)
    }

    /// Returns whether `output` has what a handler says of a file that `is_it`, as far as that can be told.
    pub(super) fn say(&self, output: &str, is_it: &dyn Fn(&str) -> bool) -> bool {
        self.code.say(output, is_it) || self.lines.say(output, is_it)
    }
}

impl FailureAnalysis<'_> {
    /// Reads what the programs that decided do with errors.
    pub(super) fn error_handlers(&self) -> RunHandlers {
        let mut found = RunHandlers::default();
        for (kind, text) in self.source_texts() {
            match kind {
                SourceKind::Code => found.code.add(&text),
                SourceKind::Recipe => found.lines.add(&text),
            }
        }
        found
    }

    /// Returns the denial of a file that the programs which decided were to read, where they say nothing: of one
    /// that their code names, if the code does not pass over errors.
    pub(super) fn unread_by_code(&self, code: i32) -> Option<RunDenial> {
        let mut handlers = ErrorHandlers::default();
        let texts = self.source_texts();
        let of_code = texts.iter().filter(|(kind, _)| *kind == SourceKind::Code);
        of_code.for_each(|(_, text)| handlers.add(text));
        let named = texts.iter().flat_map(|(kind, text)| match kind {
            SourceKind::Code if handlers.catch() => silent_commands::literals(text),
            SourceKind::Code => Vec::new(),
            SourceKind::Recipe => {
                let mut failed = of_line(self.failed_recipe(text).unwrap_or_default());
                failed.iter_mut().for_each(|one| one.diverted = true);
                let failed = silent_commands::paths(&failed, code, &|_| false, None);
                let all = silent_commands::paths(&of_line(text), code, &|_| false, None);
                failed.into_iter().chain(all).collect()
            }
        });
        let named = named.chain(self.arguments_of_code(&texts, handlers.catch()));
        let mut read = named.filter(|(_, op)| *op == AccessKind::Read);
        read.find_map(|(path, _)| self.unread(&path))
    }

    /// Returns the arguments of the code in `texts`, which reads them if it `catches` errors.
    fn arguments_of_code(
        &self,
        texts: &[(SourceKind, String)],
        catches: bool,
    ) -> Vec<(String, AccessKind)> {
        let takes = texts.iter().any(|(_, text)| text.contains("argv") && text.contains("open"));
        let DecidingCommands { own, .. } = self.deciders();
        let steps = own.into_iter().filter(|step| operation::is_interpreter(step.program()));
        let words = steps.filter(|_| takes && catches).flat_map(|step| step.words.iter().skip(2));
        words.map(|word| (word.clone(), AccessKind::Read)).collect()
    }

    /// Returns the recipes that make says have failed, where what they said is cut off.
    pub(super) fn failed_recipes(&self) -> Vec<String> {
        let texts = self.source_texts().into_iter();
        let recipes = texts.filter(|(kind, _)| *kind == SourceKind::Recipe);
        recipes.filter_map(|(_, text)| self.failed_recipe(&text).map(str::to_owned)).collect()
    }

    /// Returns the recipe in `text` that make says has failed, where what it said is cut off.
    fn failed_recipe<'t>(&self, text: &'t str) -> Option<&'t str> {
        let stderr = ends(self.run.stderr.unwrap_or_default());
        self.gives_no_reason(&stderr).then(|| self.told_recipe(text)).flatten()
    }

    /// Returns the recipe in `text` that make says has failed.
    fn told_recipe<'t>(&self, text: &'t str) -> Option<&'t str> {
        let stdout = ends(self.run.stdout);
        let stderr = ends(self.run.stderr.unwrap_or_default());
        let number =
            stdout.lines().chain(stderr.lines()).filter_map(download::recipe_line).next_back()?;
        let recipe = text.lines().nth(number.checked_sub(1)?)?.strip_prefix('\t')?;
        Some(recipe.trim_start_matches(['@', '+', '-']))
    }

    /// Returns whether `line` is a message of a program that a recipe runs, and make says that another recipe has
    /// failed, in which no program runs others.
    pub(super) fn is_of_another_recipe(&self, line: &str) -> bool {
        if !self.runs(&["make", "gmake"]) {
            return false;
        }
        let texts = self.source_texts().into_iter();
        let mut recipes = texts.filter(|(kind, _)| *kind == SourceKind::Recipe);
        recipes.any(|(_, text)| {
            let Some(recipe) = self.told_recipe(&text).filter(|it| !it.ends_with('\\')) else {
                return false;
            };
            let script = script::parse(recipe);
            let mut steps = Vec::new();
            deciding_commands::collect(&script, &mut steps);
            let others = text.lines().filter_map(|line| line.strip_prefix('\t'));
            let speaks = |line_of: &str| {
                let script = script::parse(line_of.trim_start_matches(['@', '+', '-']));
                let mut steps = Vec::new();
                deciding_commands::collect(&script, &mut steps);
                steps.iter().any(|step| cause::speaks(step, line))
            };
            !steps.is_empty()
                && steps.iter().all(|step| cause::is_plain(step))
                && !speaks(recipe)
                && others.into_iter().any(speaks)
        })
    }

    /// Returns the denial of a read of `path`, if the host has it.
    pub(super) fn unread(&self, path: &str) -> Option<RunDenial> {
        let real = self.meanings(path).into_iter();
        let real = real.map(|real| self.expanded(&real).unwrap_or(real));
        let mut real = real.filter(|real| (self.look.there)(real));
        real.find_map(|real| {
            let refused = self.ground.refuses(&real, AccessKind::Read, RefusalClass::Access);
            let rule = refused.map(|(rule, _)| rule).or_else(|| self.ground.lacks(&real))?;
            Some(RunDenial { rule, op: Some("read"), path: Some(real), what: None })
        })
    }

    /// Returns the source code of the programs that decided.
    fn source_texts(&self) -> Vec<(SourceKind, String)> {
        let DecidingCommands { own, feeders } = self.deciders();
        let mut found = Vec::new();
        let mut files: Vec<PathBuf> = Vec::new();
        for step in own.into_iter().chain(feeders) {
            if operation::is_interpreter(step.program()) {
                let code = step.words.iter().skip(1).chain(&step.document).cloned();
                found.extend(code.map(|word| (SourceKind::Code, word)));
            }
            files.extend(self.sources(step));
        }
        let mut at = 0;
        while let Some(file) = files.get(at).filter(|_| at < MOST) {
            if let Some(text) = (self.look.text)(file) {
                let is_recipe = file.ends_with("Makefile") || has_end(file, &RECIPES);
                let inner = text.split(|c: char| !c.is_alphanumeric() && !"._-/".contains(c));
                let inner = inner.filter(|word| SCRIPTS.iter().any(|end| word.ends_with(end)));
                let inner: Vec<PathBuf> = inner.flat_map(|word| self.meanings(word)).collect();
                files.extend(inner);
                found.push((if is_recipe { SourceKind::Recipe } else { SourceKind::Code }, text));
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

fn has_end(file: &std::path::Path, ends: &[&str]) -> bool {
    let name = file.to_string_lossy();
    ends.iter().any(|end| name.ends_with(end))
}
