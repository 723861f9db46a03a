//! One finished run before its policy: the streams are read line by line, and a refusal without a
//! message is inferred from the commands ([`FailureAnalysis`]).

mod advice;
mod indirect;
mod products;
mod recorded;
mod routes;
mod search_path;
mod sockets;
mod sources;
mod unsaid;

use std::path::{Path, PathBuf};

use boxproof_cases::protocol::Command;

pub(super) use recorded::classes;

use super::cause::{self, FailureCause, LocatedDenial};
use super::command_parser::{ParsedCommand, commands, of_line};
use super::deciding_commands::{self, DecidingCommands};
use super::errno_messages::RefusalClass;
use super::message::{self, RefusalMessage};
use super::operation::{self, PathRoles};
use super::policy_index::{AccessKind, PolicyIndex};
use super::resolve_path::{HostLookup, resolve};
use super::rule::DenialRule;
use super::script::{self, ShellScript};
use super::{
    CompletedRun, RunDenial, download, ends, network, shell_functions, shell_pattern,
    silent_commands, unset_variable,
};

/// A run, with its policy and command lines parsed.
pub(super) struct FailureAnalysis<'a> {
    run: &'a CompletedRun<'a>,
    look: HostLookup<'a>,
    ground: PolicyIndex<'a>,
    /// The lines of the command, and of the typed form.
    lines: [Vec<ParsedCommand>; 2],
    script: ShellScript,
    /// The command ends with a script in a file.
    is_file: bool,
    /// The line by which a shell told of the variable that it ended for.
    unset: Option<String>,
    roles: PathRoles,
}

impl<'a> FailureAnalysis<'a> {
    /// Reads the command lines and the policy of `run`.
    pub(super) fn new(run: &'a CompletedRun<'a>, look: HostLookup<'a>) -> Self {
        let lines = [commands(run.command), run.original.map(of_line).unwrap_or_default()];
        let mut script = match run.command {
            Command::Shell(line) => script::parse(line),
            Command::Argv(argv) => script::of_argv(argv),
        };
        shell_functions::inline(&mut script);
        let roles = PathRoles::new(&lines.concat(), run.cwd, look.link);
        let base = roles.bases.first().map_or(run.cwd, PathBuf::as_path);
        let ground = PolicyIndex::new(run, look.link);
        // One that the policy closes was not run.
        let text = |file: &str| {
            let path = resolve(base, file.as_ref(), true, look.link);
            let refused = ground.refuses(&path, AccessKind::Read, RefusalClass::Access);
            let is_open = refused.is_none() && ground.lacks(&path).is_none();
            is_open.then(|| (look.text)(&path)).flatten()
        };
        let is_file = script::read_files(&mut script, &text);
        let stderr = ends(run.stderr.unwrap_or_default());
        let unset = run.exit_code.and_then(|code| unset_variable::ending(&script, code, &stderr));
        let unset = unset.map(str::to_owned);
        Self { run, look, ground, lines, script, is_file, unset, roles }
    }

    /// Returns its policy as rules about paths.
    pub(super) fn ground(&self) -> &PolicyIndex<'a> {
        &self.ground
    }

    fn commands(&self) -> impl Iterator<Item = &ParsedCommand> {
        self.lines.iter().flatten()
    }

    fn runs(&self, programs: &[&str]) -> bool {
        self.commands().any(|one| programs.contains(&one.program()))
    }

    /// Returns the refusal that is the cause of the failure.
    pub(super) fn cause(&self) -> Option<FailureCause> {
        let stderr = self.stderr();
        let alone = |denial| FailureCause { denial, also: Vec::new() };
        let noted = self.unreached_socket(&stderr).or_else(|| self.refused_change(&stderr));
        let told = self.told_in(&stderr, true);
        let found = match (noted, told) {
            (Some(denial), told) => Some(cause::with_others(denial, told)),
            (None, told) => told,
        };
        // Messages written to stderr may have gone to stdout.
        let found = found.or_else(|| match self.redirects() || stderr.trim().is_empty() {
            true => self.told_in(&ends(self.run.stdout), false),
            false => None,
        });
        let unsaid = || {
            let unnamed = self.index(&stderr).or_else(|| self.database(&stderr));
            let unnamed = unnamed.or_else(|| self.repository(&stderr));
            let unnamed = unnamed.or_else(|| self.unremoved(&stderr));
            let unnamed = unnamed.or_else(|| self.foreign_owner(&stderr));
            let unnamed = unnamed.or_else(|| self.unassigned(&stderr));
            unnamed.or_else(|| self.unfound(&stderr)).map(alone)
        };
        let found = found.or_else(unsaid);
        let quiet = || self.quiet(self.run.stderr.is_some().then_some(&stderr)).map(alone);
        found.or_else(quiet).or_else(|| self.found_no_service(&stderr).map(alone))
    }

    /// Returns stderr, without a line that only tells which variable was not set.
    fn stderr(&self) -> String {
        let stderr = ends(self.run.stderr.unwrap_or_default());
        let Some(unset) = &self.unset else { return stderr };
        stderr.lines().filter(|line| line != unset).map(|line| format!("{line}\n")).collect()
    }

    fn is_named(&self, denial: &RunDenial) -> bool {
        let mut steps = Vec::new();
        deciding_commands::collect(&self.script, &mut steps);
        let mut words = steps.into_iter().flat_map(|step| step.words.iter().chain(&step.files));
        words.any(|word| {
            let mut bases = self.roles.bases.iter();
            bases.any(|base| {
                let real = resolve(base, word.as_ref(), true, self.look.link);
                Some(&real) == denial.path.as_ref()
            })
        })
    }

    /// Returns whether a refusal at `path`, reported by `line`, can be the cause of the exit code.
    fn decides(&self, path: &Path, line: &str) -> bool {
        let real = |word: &str| self.meanings(word);
        let leads = |word: &str| {
            let word = word.split_once('=').map_or(word, |(_, value)| value);
            // `unix:///x`, `UNIX-CONNECT:/x`
            let address = word
                .split_once(":/")
                .map_or(word, |(_, rest)| &word[word.len() - rest.len() - 1..]);
            let found = [real(word), real(address)].concat();
            let in_code = || {
                let named = silent_commands::literals(word).into_iter();
                named.flat_map(|(name, _)| real(&name)).any(|real| real == path)
            };
            let expands =
                |real: &PathBuf| shell_pattern::is_pattern(real) && real.parent() == Some(path);
            let exact = found.iter().any(|real| real == path || expands(real)) || in_code();
            (exact || found.iter().any(|real| path.starts_with(real) || real.starts_with(path)))
                .then_some(exact)
        };
        let mut steps = Vec::new();
        deciding_commands::collect(&self.script, &mut steps);
        cause::decides(&self.deciders(), &steps, after_shell(line), &leads)
    }

    /// Returns the paths that `word` of the command line can mean.
    fn meanings(&self, word: &str) -> Vec<PathBuf> {
        let bases = self.roles.bases.iter();
        let written = self.below_home(word);
        let both = bases.flat_map(|base| {
            [true, false].map(|follows| resolve(base, &written, follows, self.look.link))
        });
        both.collect()
    }

    /// Returns `written` with the home directory that the command has in the place of its signs.
    fn below_home(&self, written: &str) -> PathBuf {
        let set = self.run.policy.env.set.get("HOME").map(std::ffi::OsString::from);
        let home = set.or_else(|| std::env::var_os("HOME"));
        let below = ["~/", "$HOME/", "${HOME}/"].iter().find_map(|own| written.strip_prefix(own));
        match (&home, below) {
            (Some(home), Some(rest)) => Path::new(home).join(rest),
            _ => Path::new(written).to_owned(),
        }
    }

    fn deciders(&self) -> DecidingCommands<'_> {
        match &self.unset {
            Some(line) => unset_variable::deciders(&self.script, line),
            None => {
                deciding_commands::deciders(&self.script, self.run.exit_code.unwrap_or_default())
            }
        }
    }

    /// Returns whether the command line redirects stderr to stdout.
    fn redirects(&self) -> bool {
        if fault!("explain.redirections") {
            return false;
        }
        let marks = ["2>&1", "|&", "&>"];
        let text = self.run.command.to_argv().join(" ");
        marks.iter().any(|mark| text.contains(mark))
    }

    /// Returns the refusal in `text` that is the cause; `on_stderr` if `text` was written to
    /// stderr.
    fn told_in(&self, text: &str, on_stderr: bool) -> Option<FailureCause> {
        let lines = lines(text);
        let deciders = self.deciders();
        let (mut found, mut passed) = (Vec::new(), Vec::new());
        for (at, line) in lines.iter().enumerate() {
            let Some(complaint) = message::read(strip(line)) else { continue };
            if self.is_echoed(line) && !fault!("explain.echoes")
                || is_noise(line)
                || cause::compares(line)
                || self.is_only_a_warning(&lines, at) && !fault!("explain.warnings")
                || cause::is_shown(&deciders, after_shell(line), on_stderr)
                || self.is_gone_on_after(&lines, at)
                || self.is_of_another_recipe(line)
            {
                continue;
            }
            let beside = &lines[at.saturating_sub(3)..lines.len().min(at + 4)];
            match self.judge(&complaint, line, beside) {
                Some(denial) => {
                    let whole = denial.path.as_ref();
                    let decides = |path: &PathBuf| self.decides(path, line) && !self.is_apart(path);
                    if whole.is_none_or(decides) {
                        found.push(LocatedDenial { line: at, denial });
                    }
                }
                None if self.stands_open(&complaint) => passed.push(at),
                None => {}
            }
        }
        cause::last(found, &lines, &passed)
    }

    /// Returns whether line `at` is a warning, and the command failed for what is told after it or in
    /// the result that stdout has.
    fn is_only_a_warning(&self, lines: &[&str], at: usize) -> bool {
        let shown = ends(self.run.stdout);
        let result = || cause::gives_verdict(&self::lines(&shown));
        cause::is_passed_over(lines, at) || cause::warns(lines[at]) && result()
    }

    /// Returns whether line `at` is of an error handler that goes on, and the program has told of something else
    /// since, or of a result.
    pub(super) fn is_gone_on_after(&self, lines: &[&str], at: usize) -> bool {
        let mut rest = lines.iter().skip(at + 1);
        let later = rest.any(|line| !line.trim().is_empty() && !cause::passes_on(strip(line)));
        let shown = || cause::gives_verdict(&self::lines(&ends(self.run.stdout)));
        (later || shown()) && self.error_handlers().go_on_after(lines[at])
    }

    /// Returns whether `line` is part of the command line, and so is no message of the system.
    fn is_echoed(&self, line: &str) -> bool {
        self.run
            .command
            .to_argv()
            .iter()
            .any(|word| word.contains(line.trim()) || word.replace('\\', "").contains(line.trim()))
            || self.is_said_by_function(line.trim())
    }

    /// Returns whether `line` is what a function was given to print.
    fn is_said_by_function(&self, line: &str) -> bool {
        let mut steps = Vec::new();
        deciding_commands::collect(&self.script, &mut steps);
        let mut said = steps.iter().filter(|step| ["echo", "printf"].contains(&step.program()));
        let is_it = |word: &String| self.values_of(word.clone()).iter().any(|text| text == line);
        said.any(|step| step.words.iter().skip(1).any(is_it))
    }

    /// Returns whether a complaint is about a path that exists and that the policy leaves open.
    fn stands_open(&self, complaint: &RefusalMessage) -> bool {
        matches!(complaint.class, RefusalClass::Access | RefusalClass::Permission)
            && complaint.paths.iter().any(|path| self.is_there(path))
    }

    /// Returns whether the host has `path` as written, or a link of that name.
    fn is_there(&self, path: &str) -> bool {
        let mut found = self.meanings(path).into_iter();
        found.any(|real| (self.look.there)(&real))
    }

    /// Returns whether a complaint about two places is about a first one that is not there: it would not be moved
    /// outside either.
    fn moves_nothing(&self, complaint: &RefusalMessage) -> bool {
        let [from, _, ..] = &complaint.paths[..] else { return false };
        !self.is_there(from)
    }

    fn judge(&self, complaint: &RefusalMessage, line: &str, beside: &[&str]) -> Option<RunDenial> {
        match complaint.class {
            RefusalClass::Network => return self.network_said(line),
            RefusalClass::Privileges => {
                return Some(runtime_denial("a program cannot gain privileges in it"));
            }
            RefusalClass::Permission if self.made_no_socket(line, beside) => return self.network(),
            _ => {}
        }
        if complaint.class == RefusalClass::Permission && self.wants_namespaces(&complaint.words) {
            return Some(runtime_denial("a system call that it closes"));
        }
        match complaint.class {
            RefusalClass::Missing => return self.missing(complaint),
            RefusalClass::CrossDevice if self.moves_nothing(complaint) => return None,
            _ => {}
        }
        let said = operation::said(complaint.class, &complaint.words);
        // What is not there cannot be removed outside either.
        let removes = complaint.words.contains("failed to remove");
        let here = complaint.paths.iter().filter(|path| !removes || self.is_there(path));
        let here = here
            .filter(|path| complaint.class != RefusalClass::Access || !self.means_nothing(path));
        let mut here: Vec<RunDenial> =
            here.filter_map(|path| self.at(path, said, complaint.class)).collect();
        if !here.is_empty() {
            // The one that the command line names is surely whole.
            let at = here.iter().position(|denial| self.is_named(denial)).unwrap_or_default();
            return Some(here.swap_remove(at));
        }
        if let Some(denial) = self.mounted(complaint) {
            return Some(denial);
        }
        if let Some(path) = complaint.paths.iter().find(|path| is_git_path(path)) {
            let written = Path::new(".git").join(path);
            return self.at(&written.to_string_lossy(), AccessKind::Write, complaint.class);
        }
        if is_connect(&complaint.words) && !complaint.paths.iter().any(|path| path.starts_with('/'))
        {
            return self.network();
        }
        let nameless = !complaint.paths.iter().any(|path| path.contains('/') || path.contains('.'));
        if nameless && continues(line) {
            let beside = named_before(line, beside);
            let found = self.near(beside, said, complaint.class);
            if found.is_some() {
                return found;
            }
        }
        let lost = || self.lost_capability(complaint, line);
        match complaint.class {
            RefusalClass::ReadOnly if nameless => self.somewhere(),
            RefusalClass::Access if nameless => self.named_by_code().or_else(lost),
            _ => lost(),
        }
    }

    /// Returns the denial of an operation on a path that one of the lines `beside` a message names.
    fn near(&self, beside: &[&str], said: AccessKind, class: RefusalClass) -> Option<RunDenial> {
        let near = beside.iter().filter(|line| !is_position(line));
        let mut near = near.flat_map(|line| message::mentioned(strip(line)));
        let words = beside.join(" ").to_lowercase();
        let said = match said {
            AccessKind::Unknown => operation::said(class, &words),
            said => said,
        };
        near.find_map(|path| self.at(&path, said, class))
    }

    /// Returns the denial of the operation on `written`.
    fn at(&self, written: &str, said: AccessKind, class: RefusalClass) -> Option<RunDenial> {
        let written = self.below_home(written);
        let text = written.to_string_lossy();
        for base in &self.roles.bases {
            for follows in [true, false] {
                let path = resolve(base, &written, follows, self.look.link);
                let op = match said {
                    AccessKind::Unknown => self.roles.access_to(&path, &text),
                    said => said,
                };
                if let Some((rule, op)) = self.ground.refuses(&path, op, class) {
                    let op = Some(if op == AccessKind::Write { "write" } else { "read" });
                    return Some(RunDenial { rule, op, path: Some(path), what: None });
                }
            }
            if written.is_absolute() {
                break;
            }
        }
        None
    }

    /// Returns whether the socket itself was refused, as without any network: Node names the
    /// address that it was for, Python the line that creates it.
    fn made_no_socket(&self, line: &str, beside: &[&str]) -> bool {
        let destination = line.split_once("connect EPERM ");
        destination.is_some_and(|(_, destination)| !destination.starts_with('/'))
            || beside.iter().any(|line| line.contains("_socket.socket.__init__("))
                && self.commands().any(network::by_code)
    }

    /// Returns whether the command asks for user namespaces, which any user may create outside the
    /// sandbox.
    fn wants_namespaces(&self, words: &str) -> bool {
        let own = |word: &String| match word.strip_prefix("--") {
            Some(long) => long.starts_with("user") || long.starts_with("map-"),
            None => word.starts_with('-') && word.contains(['U', 'r', 'c']),
        };
        let asks = |program: &str, words: &[String]| {
            program == "unshare" && words.iter().skip(1).any(own)
                || words.iter().any(|word| word.contains("CLONE_NEWUSER"))
        };
        let last = self.deciders().own;
        words.contains("unshare")
            && match last.iter().any(|one| one.program() == "unshare") {
                true => last.iter().any(|one| asks(one.program(), &one.words)),
                false => self.commands().any(|one| asks(one.program(), &one.words)),
            }
    }
}

/// Returns the beginning of a line, long enough for a message with two paths.
fn beginning(line: &str) -> &str {
    /// Bytes.
    const LONGEST: usize = 10 * 1024;
    let end = line.char_indices().map(|(at, _)| at).find(|at| *at >= LONGEST);
    end.map_or(line, |end| &line[..end])
}

fn lines(text: &str) -> Vec<&str> {
    text.lines().map(beginning).collect()
}

/// Returns `line` without the prefix of a shell's message.
fn after_shell(line: &str) -> &str {
    let begin = message::shell_prefix(line);
    line.get(begin..).unwrap_or(line).trim_start()
}

/// Returns whether a line continues another: the failure is in a line beside it.
fn continues(line: &str) -> bool {
    line.starts_with([' ', '\t'])
        || line.contains("os error")
        || line.starts_with("npm ")
        || line.contains("[Errno")
        || line.starts_with(CALL)
}

/// Returns whether `line` says where in the source code an error came up.
fn is_position(line: &str) -> bool {
    line.trim_start().starts_with("File \"") && line.contains(", line ")
}

/// The beginning of a message that only names its call: the line before it has the path.
const CALL: &str = "open: ";

/// Returns the lines of `beside` that can name the path of `line`.
fn named_before<'a, 'b>(line: &str, beside: &'a [&'b str]) -> &'a [&'b str] {
    let at = beside.iter().position(|one| *one == line).filter(|_| line.starts_with(CALL));
    at.map_or(beside, |at| &beside[at.saturating_sub(1)..=at])
}

/// Git names these from its own directory on.
fn is_git_path(path: &str) -> bool {
    ["refs/", "logs/", "objects/"].iter().any(|own| path.starts_with(own))
}

/// Complaints that are no failures.
fn is_noise(line: &str) -> bool {
    line.starts_with("sudo: unable to resolve host")
}

/// Returns whether a message is about a connection.
fn is_connect(words: &str) -> bool {
    let words: Vec<&str> = words.split(|c: char| !c.is_alphanumeric()).collect();
    let socket = ["unix", "sock", "daemon"].iter().any(|word| words.contains(word));
    !socket && ["connect", "sendto", "sendmsg", "socket"].iter().any(|word| words.contains(word))
}

/// Returns `line` without the prefix of package managers.
fn strip(line: &str) -> &str {
    let marks = ["npm ERR! ", "npm error ", "npm WARN ", "npm warn ", "error: uncaughtException: "];
    marks.iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line)
}

/// Returns the denial of something that has no path.
fn runtime_denial(what: &'static str) -> RunDenial {
    RunDenial { rule: DenialRule::RuntimeDenied, op: None, path: None, what: Some(what) }
}
