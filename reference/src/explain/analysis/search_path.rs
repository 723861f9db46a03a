//! Modules and programs that were looked for in directories which the command does not have: the
//! message names what was not found, the command line or `PATH` where it lies.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::super::errno_messages::RefusalClass;
use super::{AccessKind, DecidingCommands, DenialRule, FailureAnalysis, RunDenial, lines};

/// Messages about something that was found in no directory, and the files that it may be in.
const UNFOUND: [(&str, &[&str]); 6] = [
    (r"No module named '?([\w-]+)", &[".py", "/__init__.py"]),
    (r"Can't locate (\S+\.pm) in @INC", &[""]),
    (r"Cannot find module '([^']+)'", &["", ".js", ".json", "/index.js", "/package.json"]),
    (r"cannot load such file -- (\S+)", &[".rb"]),
    (r"fatal error: (\S+): No such file or directory$", &[""]),
    (r"Could not find or load main class (\S+)", &[".class"]),
];

static SEARCHES: LazyLock<Vec<(Regex, &'static [&'static str])>> = LazyLock::new(|| {
    let read =
        |(text, files): &(&str, &'static [&'static str])| Some((Regex::new(text).ok()?, *files));
    UNFOUND.iter().filter_map(read).collect()
});
/// A program that a shell found nowhere.
static PROGRAM: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?:^|: )([[:word:].+-]+): (?:command )?not found$|command not found: ([[:word:].+-]+)$|Unknown command: ([[:word:].+-]+)$").ok()
});
/// Absolute paths of a command line, also behind an option of one letter.
static DIRECTORIES: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"(?:^|[\s'"=:,(\[]|-[ILr])(/[^\s'":,;)\]]+)"#).ok());

/// The code with which a shell tells that it found no program.
const NO_PROGRAM: i32 = 127;

/// The code with which a shell tells that a program could not be executed.
const NO_EXECUTABLE: i32 = 126;
/// Scripts of which each is run by the next, at most, as Linux has it.
const MOST_INTERPRETERS: usize = 5;

impl FailureAnalysis<'_> {
    /// Returns the denial of the program that the command is, or that is to run it, where nothing was started.
    pub(in super::super) fn unstarted(&self) -> Option<RunDenial> {
        self.closed_program(self.run.command.to_argv().first()?)
    }

    /// Returns the denial of a program by which one that decided, and that is there, is to be run.
    fn interpreter(&self) -> Option<RunDenial> {
        let codes = [NO_PROGRAM, NO_EXECUTABLE];
        self.run.exit_code.filter(|code| codes.contains(code))?;
        let DecidingCommands { own, feeders } = self.deciders();
        let mut steps = own.iter().rev().chain(&feeders);
        steps.find_map(|step| self.closed_program(step.words.first()?))
    }

    /// Returns the denial of `program`, or of the interpreter that it names, if it is a script.
    fn closed_program(&self, program: &str) -> Option<RunDenial> {
        let mut next = self.programs(program);
        for _ in 0..MOST_INTERPRETERS {
            let path = next?;
            if let Some(denial) = self.read_denied(&path) {
                return Some(denial);
            }
            let text = (self.look.text)(&path)?;
            let mut words = text.strip_prefix("#!")?.lines().next()?.split_whitespace();
            let named = words.next()?;
            let by_path = named.ends_with("/env") && self.read_denied(Path::new(named)).is_none();
            let named = if by_path { words.find(|word| !word.starts_with('-'))? } else { named };
            next = self.programs(named);
        }
        None
    }

    /// Returns the executable file of the host that `program` means, by `PATH` if it is a bare name.
    fn programs(&self, program: &str) -> Option<PathBuf> {
        let is_program = |path: &PathBuf| {
            (self.look.there)(path) && (self.look.runs)(path) && !program.is_empty()
        };
        if program.contains('/') {
            return self.meanings(program).into_iter().find(is_program);
        }
        let set = self.run.policy.env.set.get("PATH").map(std::ffi::OsString::from);
        let search = set.or_else(|| std::env::var_os("PATH"))?;
        std::env::split_paths(&search).map(|directory| directory.join(program)).find(is_program)
    }

    /// Returns the denial of reading `path`.
    fn read_denied(&self, path: &Path) -> Option<RunDenial> {
        let refused = self.ground.refuses(path, AccessKind::Read, RefusalClass::Access);
        refused.filter(|(rule, _)| *rule == DenialRule::ReadDenied)?;
        let path = Some(path.to_owned());
        Some(RunDenial { rule: DenialRule::ReadDenied, op: Some("read"), path, what: None })
    }

    /// Returns the denial of a module or program that the host has where it was looked for.
    pub(super) fn unfound(&self, text: &str) -> Option<RunDenial> {
        if let Some(denial) = self.interpreter() {
            return Some(denial);
        }
        let found = lines(text).into_iter().rev().find_map(|line| self.searched(line));
        let (path, line) = found?;
        self.read_denied(&path).filter(|_| self.decides(&path, line))
    }

    /// Returns the file that `line` tells was not found, if a directory that was searched has it.
    fn searched<'l>(&self, line: &'l str) -> Option<(PathBuf, &'l str)> {
        let there = |path: &PathBuf| (self.look.there)(path);
        if self.run.exit_code == Some(NO_PROGRAM)
            && let Some(found) = PROGRAM.as_ref().and_then(|program| program.captures(line))
        {
            let name = found.iter().skip(1).flatten().next()?.as_str();
            let set = self.run.policy.env.set.get("PATH").map(std::ffi::OsString::from);
            let search = set.or_else(|| std::env::var_os("PATH"))?;
            let named = self.directories().into_iter().map(PathBuf::from);
            let mut files =
                named.chain(std::env::split_paths(&search)).map(|directory| directory.join(name));
            return files
                .find(|path| there(path) && (self.look.runs)(path))
                .map(|path| (path, line));
        }
        let mut searches = SEARCHES.iter();
        let (name, files) = searches
            .find_map(|(regex, files)| Some((regex.captures(line)?.get(1)?.as_str(), *files)))?;
        let name = if files == [".class"] { name.replace('.', "/") } else { name.to_owned() };
        let directories = self.directories().into_iter().map(PathBuf::from);
        let directories: Vec<PathBuf> = directories.chain(self.roles.bases.clone()).collect();
        let mut candidates = directories
            .iter()
            .flat_map(|directory| files.iter().map(|file| directory.join(format!("{name}{file}"))));
        candidates.find(there).map(|path| (path, line))
    }

    /// Absolute directories in the command line and in the variables that the policy sets.
    fn directories(&self) -> Vec<String> {
        let set = self.run.policy.env.set.values().cloned();
        let texts = self.run.command.to_argv().into_iter().chain(set);
        let Some(regex) = DIRECTORIES.as_ref() else { return Vec::new() };
        let found = texts.flat_map(|text| {
            let found = regex.captures_iter(&text).filter_map(|found| found.get(1));
            found.map(|path| path.as_str().to_owned()).collect::<Vec<_>>()
        });
        found.collect()
    }
}
