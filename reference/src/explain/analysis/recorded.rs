//! Refusals that the mechanism recorded itself: the last that can be the cause of the failure.

use std::path::Path;

use nix::errno::Errno;

use super::super::errno_messages::{self, RefusalClass};
use super::super::script::ScriptCommand;
use super::super::{RefusedChange, deciding_commands, operation, silent_commands};
use super::indirect::is_of_database;
use super::{AccessKind, DecidingCommands, FailureAnalysis, RunDenial, cause, ends, lines, strip};
use crate::control::ProcessFate;

impl FailureAnalysis<'_> {
    /// Returns the last refusal that the mechanism itself recorded and that can be the cause.
    pub(super) fn refused_change(&self, stderr: &str) -> Option<RunDenial> {
        // SQLite opens a database to make it, where it is only asked.
        let asks = self.commands().any(|one| one.program() == "sqlite3" && self.only_reads(one));
        let (op, called) = match asks {
            true => (AccessKind::Read, "read"),
            false => (AccessKind::Write, "write"),
        };
        let refusal = |change: &RefusedChange| {
            let path = &change.place;
            let classes = classes(change.errno).into_iter();
            let mut found = classes.filter_map(|class| self.ground.refuses(path, op, class));
            let (rule, _) = found.next()?;
            self.is_of_decider(change).then_some(())?;
            Some(RunDenial { rule, op: Some(called), path: Some(path.clone()), what: None })
        };
        if fault!("explain.notes-unread") {
            return None;
        }
        let output = match stderr.trim().is_empty() {
            true => ends(self.run.stdout),
            false => stderr.to_owned(),
        };
        let lines = lines(&output);
        let handlers = self.error_handlers();
        // A program that tells a result beside what it says did not fail for want of the file.
        let shown = ends(self.run.stdout);
        let gives_result = !stderr.trim().is_empty() && cause::gives_verdict(&self::lines(&shown));
        let is_it = |path: &Path| {
            let path = path.to_owned();
            move |text: &str| self.meanings(text).contains(&path)
        };
        let counts = |change: &&RefusedChange| {
            let path = &change.place;
            let optional = is_optional(self.ground.beyond_common(path));
            let known = self.fate(change.fate, change.status);
            let fits = match known.filter(|_| !answers_apart(change)) {
                Some(ProcessFate::Apart) => false,
                Some(ProcessFate::FailedLast) if self.gives_no_reason(stderr) => {
                    !handlers.pass_over(change.program.as_deref())
                }
                Some(_) if !gives_result && handlers.say(&of_refusal(&lines), &is_it(path)) => true,
                Some(ProcessFate::Failed) if self.is_of_failed_recipe(path) => true,
                fate => self.is_borne_out(change, stderr, fate.is_some()),
            };
            let noted = path != Path::new(MOUNTS) || output.contains(MOUNTS);
            fits && noted && (!optional || self.is_wanted(change, &lines))
        };
        let found = self.run.refused.iter().rev().filter(counts).find_map(refusal);
        let own = cause::ordinary(&lines).filter(|at| !is_of_database(lines[*at]));
        // A file with a status of its own ends so in every case, where nothing is said of it.
        let regardless = stderr.trim().is_empty()
            && self.is_file
            && deciding_commands::ends_regardless(&self.script);
        found.filter(|_| own.is_none() && !regardless)
    }

    /// Returns whether the kernel tells that no refused change at `path` can be the cause: the processes that
    /// were refused it did not fail, or their failure was not passed on.
    pub(super) fn is_apart(&self, path: &Path) -> bool {
        let mut changes = self.run.refused.iter().filter(|change| change.place == path).peekable();
        changes.peek().is_some()
            && changes
                .all(|change| self.fate(change.fate, change.status) == Some(ProcessFate::Apart))
    }

    /// Returns what became of a refused process: its `fate`, but that it is apart if the shell that the command
    /// is had another `status` of it than its own, and takes its own of a command, which did not lack what the refused
    /// one was to make.
    pub(super) fn fate(
        &self,
        fate: Option<ProcessFate>,
        status: Option<i32>,
    ) -> Option<ProcessFate> {
        let is_other = status.is_some_and(|status| Some(status) != self.run.exit_code);
        let is_apart = is_other && deciding_commands::passes_status(&self.script);
        match is_apart && !self.lacks_products(&self.stderr()) {
            true => Some(ProcessFate::Apart),
            false => fate,
        }
    }

    /// Returns whether the output gives no reason of its own for the failure: stderr only passes the failure of
    /// another program on, and stdout has no result of work that was done.
    pub(super) fn gives_no_reason(&self, stderr: &str) -> bool {
        let stdout = ends(self.run.stdout);
        let words = |line: &&str| !line.trim().is_empty() && !cause::passes_on(strip(line));
        !lines(stderr).iter().any(words) && !cause::gives_verdict(&lines(&stdout))
    }

    /// Returns whether the output of the command lets the refusal at `path` be its cause: it says nothing, or
    /// speaks of a file that could not be used. A program that goes on without the file, and then reports the
    /// result of its own work, did not fail for it. A command that names the path did, if it is known to have
    /// `failed`, and so did one that only looks at it. If the output says nothing, and another program was
    /// started since, the command must name the path.
    fn is_borne_out(&self, change: &RefusedChange, stderr: &str, failed: bool) -> bool {
        let path = change.place.as_path();
        let stdout = ends(self.run.stdout);
        let (told, shown) = (lines(stderr), lines(&stdout));
        let is_about = |step: &&&ScriptCommand| {
            step.words.iter().skip(1).chain(&step.files).any(|word| names(path, word))
        };
        let deciders = self.deciders();
        let mut about = deciders.own.iter().filter(is_about).peekable();
        let named = match failed {
            true => deciders.own.iter().chain(&deciders.feeders).any(|step| self.uses(step, path)),
            false => about.peek().is_some(),
        };
        let gives_verdict = cause::gives_verdict(&shown) || cause::gives_verdict(&told);
        if about.any(|step| cause::is_plain(step)) || failed && named && !gives_verdict {
            return true;
        }
        let silent = stderr.trim().is_empty();
        let output = if silent { &shown } else { &told };
        let about = |at: &usize| {
            let line = output[*at];
            let trouble = || cause::tells_trouble(line) && is_of_refusal(line);
            names(path, line) || is_of_database(line) || trouble()
        };
        let mut about = (0..output.len()).filter(about).peekable();
        match about.peek() {
            Some(_) => about.any(|at| {
                let warns = cause::warns(output[at]) && cause::gives_verdict(&shown);
                let goes_on = || !silent && self.is_gone_on_after(output, at);
                let is_elsewhere = || self.is_of_another_recipe(output[at]);
                !warns && !cause::is_passed_over(output, at) && !goes_on() && !is_elsewhere()
            }),
            None => {
                let is_bare = || stdout.trim().is_empty();
                silent && (named || is_bare() && (!failed || self.is_of_git(change)))
            }
        }
    }

    /// Returns whether the recipe that make says has failed, and not why, names `path`.
    fn is_of_failed_recipe(&self, path: &Path) -> bool {
        self.failed_recipes().iter().any(|recipe| names(path, recipe))
    }

    /// Returns whether git itself, which does not go on without what it was to write, was refused `change` by one
    /// of its commands that decided.
    fn is_of_git(&self, change: &RefusedChange) -> bool {
        let program = change.program.as_deref();
        program.is_some_and(|name| name == "git" || name.starts_with("git-"))
            && self.is_program_of_decider(program) == Some(true)
    }

    /// Returns whether the refused process can have decided: by the path where a command names it, else by its
    /// program where that is one of the line's.
    fn is_of_decider(&self, change: &RefusedChange) -> bool {
        let mut all = Vec::new();
        deciding_commands::collect(&self.script, &mut all);
        let uses = |step: &&ScriptCommand| self.uses(step, &change.place);
        let codes = |step: &&ScriptCommand| {
            let mut words = step.words.iter().flat_map(|word| silent_commands::literals(word));
            operation::is_interpreter(step.program())
                && words.any(|(name, _)| self.meanings(&name).contains(&change.place))
        };
        match self.is_program_of_decider(change.program.as_deref()) {
            Some(decides) if change.fate.is_some() && !all.iter().any(uses) => {
                decides && (!all.iter().any(codes) || self.decides(&change.place, ""))
            }
            _ => self.decides(&change.place, ""),
        }
    }

    /// Returns whether a command that decided runs `program`, or a part of itself of which that is the name
    /// (`git-remote-http`, `npm view`); none if no command of the line does.
    pub(super) fn is_program_of_decider(&self, program: Option<&str>) -> Option<bool> {
        let mut all = Vec::new();
        deciding_commands::collect(&self.script, &mut all);
        let program = program?;
        let whole = program.split([' ', '-']).next().unwrap_or(program);
        let runs = |step: &&ScriptCommand| [program, whole].contains(&step.program());
        all.iter().any(runs).then_some(())?;
        let DecidingCommands { own, feeders } = self.deciders();
        Some(own.iter().chain(&feeders).any(runs))
    }

    /// Returns whether `step` runs a program on `path`, not code that has it somewhere.
    fn uses(&self, step: &ScriptCommand, path: &Path) -> bool {
        let mut words = step.words.iter().skip(1).chain(&step.files);
        // What was to lie below it was to be made with it.
        let is_made = || !(self.look.there)(path);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_path = |word: &String| {
            let mut real = self.meanings(&word.replace("{}", &name)).into_iter();
            real.any(|real| real == path || real.starts_with(path) && is_made())
        };
        !operation::is_interpreter(step.program()) && words.any(is_path)
    }

    /// Returns whether a file that is made only if it can be is what the command was about: a message
    /// names it, or git was to write and says nothing, or a program that needs its cache does.
    fn is_wanted(&self, change: &RefusedChange, lines: &[&str]) -> bool {
        let path = &change.place;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let writes = || {
            let mut git = self.commands().filter(|one| one.program() == "git");
            git.any(|one| one.git_subcommand().is_some_and(silent_commands::git_writes))
        };
        let is_silent = lines.iter().all(|line| line.trim().is_empty());
        let told = || name == INDEX_LOCK && self.says_what_it_was_told(&lines.join("\n"));
        match is_silent || told() {
            true => name == INDEX_LOCK && writes() || self.needs_cache(change),
            false => lines.iter().any(|line| names(path, line)),
        }
    }

    /// Returns whether the refused process fails without its cache: go does, and npm ends with the errno then.
    fn needs_cache(&self, change: &RefusedChange) -> bool {
        let begins = |name: &str| change.program.as_deref().is_some_and(|it| it.starts_with(name));
        let by_errno = self.run.exit_code == Some(256 - change.errno as i32);
        change.fate.is_some() && (begins("go") || begins("npm") && by_errno)
    }
}

/// Returns whether a refused process tells the one that it works for of its failure in its answer, and not by
/// its status. The kernel cuts its name.
fn answers_apart(change: &RefusedChange) -> bool {
    let cut = "git-receive-pac";
    change.program.as_deref().is_some_and(|name| name.starts_with(cut))
}

/// Returns whether `line` has the file name of `path` as a word.
fn names(path: &Path, line: &str) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_end = |c: char| !c.is_alphanumeric() && !"._-".contains(c);
    line.split(is_end).any(|word| word == name) && !line.contains(UNLOGGED)
}

/// Returns the classes of a change that was refused with `errno`. A name above one that is held is refused as
/// if something were mounted there.
pub(in super::super) fn classes(errno: Errno) -> [RefusalClass; 2] {
    let class = match errno {
        Errno::EROFS => RefusalClass::ReadOnly,
        Errno::EBUSY => RefusalClass::Busy,
        Errno::EXDEV => RefusalClass::CrossDevice,
        Errno::EPERM => RefusalClass::Permission,
        _ => RefusalClass::Access,
    };
    [class, RefusalClass::Busy]
}

/// Returns those of `lines` that do not tell of something which is not there.
fn of_refusal(lines: &[&str]) -> String {
    let fits = |line: &&&str| is_of_refusal(line);
    lines.iter().filter(fits).copied().collect::<Vec<_>>().join("\n")
}

/// Returns whether `line` does not tell of something that is not there, nor of a network, in the words for an
/// errno.
fn is_of_refusal(line: &str) -> bool {
    let class = errno_messages::find(line).map(|(class, _)| class);
    !matches!(class, Some(RefusalClass::Missing | RefusalClass::Network))
}

/// The directory in which mount notes options that the kernel does not know.
const MOUNTS: &str = "/run/mount";
/// The lock that git takes to note what it found, also where it only looks.
const INDEX_LOCK: &str = "index.lock";
/// What npm says of its own log, beside every failure.
const UNLOGGED: &str = "Log files were not written";

/// Returns whether a file is one that a tool makes if it can, and does without otherwise: git's note of
/// what it found, byte code, caches, logs, histories and the swap files of an editor. `path` is without what
/// the workspace lies in, too, which
/// may be a cache itself.
fn is_optional(path: &Path) -> bool {
    let is_cache = |name: &std::ffi::OsStr| {
        let name = name.to_string_lossy();
        let known = ["__pycache__", ".npm", "_logs", ".viminfo", ".viminfz.tmp", ".wget-hsts"];
        let ends = ["cache", "_history", "hst", ".swp", ".swo", ".swx"];
        known.contains(&name.as_ref())
            || name.starts_with('.') && ends.iter().any(|end| name.ends_with(end))
    };
    path.ends_with(Path::new(".git").join(INDEX_LOCK)) || path.iter().any(is_cache)
}
