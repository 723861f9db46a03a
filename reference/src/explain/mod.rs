//! Why a run failed, where the sandbox is why ([`explain`]): the streams name a refusal and a path,
//! and the policy says whether it would have refused that. What it lets be done it did not refuse,
//! whatever the message. Pure but for what links say.

mod ground;
mod message;
mod network;
mod operation;
mod phrases;
mod place;
pub(crate) mod rule;
mod words;

use std::ffi::OsStr;
use std::path::Path;

use boxproof_cases::protocol::{Blocked, Command, Mode, Policy, Stage};
use nix::sys::signal::Signal;

use crate::law::Law;
use crate::supervise::{REDACTED_ENV, SHORTEST_SECRET, is_sensitive_env_name};
use ground::{Ground, Op};
use message::Complaint;
use operation::Roles;
use phrases::Class;
use place::{ReadLink, resolve};
use rule::Rule;
use words::{Simple, commands, of_line};

/// Bytes of a stream that are looked at, at either end.
const END: usize = 32 * 1024;
/// Characters of a reason at most.
const REASON: usize = 400;

/// A run that is over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Finished<'a> {
    pub(crate) policy: &'a Policy,
    /// The profile that the workspace is under.
    pub(crate) law: Option<&'a Law>,
    pub(crate) command: &'a Command,
    /// What the user typed, where the command is a rewritten form of it.
    pub(crate) original: Option<&'a str>,
    pub(crate) cwd: &'a Path,
    pub(crate) exit_code: Option<i32>,
    pub(crate) signal: Option<i32>,
    /// Empty where nobody looked at it.
    pub(crate) stdout: &'a [u8],
    /// None where nobody looked at it.
    pub(crate) stderr: Option<&'a [u8]>,
    /// Values that must not be shown.
    pub(crate) secrets: &'a [String],
}

/// What was refused: by which rule, what and where.
struct Denial {
    rule: Rule,
    op: Option<&'static str>,
    path: Option<std::path::PathBuf>,
    what: Option<&'static str>,
}

/// Why the run failed, if the sandbox is why.
pub(crate) fn explain(run: &Finished<'_>, link: ReadLink<'_>) -> Option<Blocked> {
    if run.policy.mode == Mode::Unconfined || run.exit_code == Some(0) {
        return None;
    }
    if is_a_filtered_call(run) {
        let what = Some("a system call that it closes ended the command");
        return Some(told(
            &Denial { rule: Rule::RuntimeDenied, op: None, path: None, what },
            run.secrets,
        ));
    }
    run.exit_code?;
    let denial = Scene::new(run, link).denial()?;
    Some(told(&denial, run.secrets))
}

/// The values of `env` that must not be shown.
pub(crate) fn secrets<'a>(env: impl Iterator<Item = (&'a OsStr, &'a OsStr)>) -> Vec<String> {
    let hidden =
        env.filter(|(name, value)| is_sensitive_env_name(name) && value.len() >= SHORTEST_SECRET);
    let mut values: Vec<String> =
        hidden.map(|(_, value)| value.to_string_lossy().trim().to_owned()).collect();
    values.sort_by_key(|value| std::cmp::Reverse(value.len()));
    values
}

/// Where the link at `path` leads on this host.
pub(crate) fn link(path: &Path) -> Option<std::path::PathBuf> {
    std::fs::read_link(path).ok()
}

/// SIGSYS, also where a shell tells of it.
fn is_a_filtered_call(run: &Finished<'_>) -> bool {
    let number = Signal::SIGSYS as i32;
    let shell = run.exit_code == Some(128 + number)
        && String::from_utf8_lossy(run.stderr.unwrap_or_default()).contains("Bad system call");
    run.signal == Some(number) || shell
}

struct Scene<'a> {
    run: &'a Finished<'a>,
    link: ReadLink<'a>,
    ground: Ground<'a>,
    commands: Vec<Simple>,
    roles: Roles,
}

impl<'a> Scene<'a> {
    fn new(run: &'a Finished<'a>, link: ReadLink<'a>) -> Self {
        let mut commands = commands(run.command);
        commands.extend(run.original.into_iter().flat_map(of_line));
        let roles = Roles::new(&commands, run.cwd, link);
        Self { run, link, ground: Ground::new(run.policy, run.law, link), commands, roles }
    }

    fn denial(&self) -> Option<Denial> {
        let stderr = ends(self.run.stderr.unwrap_or_default());
        let found = self.told_in(&stderr);
        // What was written to stderr may have gone to stdout.
        let found = found.or_else(|| match self.redirects() {
            true => self.told_in(&ends(self.run.stdout)),
            false => None,
        });
        let silent = self.run.stderr.is_some() && stderr.trim().is_empty();
        let found = found.or_else(|| self.index(&stderr));
        found.or_else(|| self.quiet(silent))
    }

    /// Whether the command line has stderr go where stdout goes.
    fn redirects(&self) -> bool {
        let marks = ["2>&1", "|&", "&>"];
        let text = self.run.command.to_argv().join(" ");
        marks.iter().any(|mark| text.contains(mark))
    }

    fn told_in(&self, text: &str) -> Option<Denial> {
        let argv = self.run.command.to_argv();
        let lines: Vec<&str> = text.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            let Some(complaint) = message::read(strip(line)) else { continue };
            // What the command line says itself is no message of the system's.
            let echoed = argv.iter().any(|word| word.contains(line.trim()));
            if echoed || is_noise(line) {
                continue;
            }
            let beside = &lines[at.saturating_sub(3)..lines.len().min(at + 4)];
            if let Some(denial) = self.judge(&complaint, line, beside) {
                return Some(denial);
            }
        }
        None
    }

    fn judge(&self, complaint: &Complaint, line: &str, beside: &[&str]) -> Option<Denial> {
        match complaint.class {
            Class::Network => return self.network(),
            Class::Privileges => {
                let what = Some("a program cannot gain privileges in it");
                return Some(Denial { rule: Rule::RuntimeDenied, op: None, path: None, what });
            }
            _ => {}
        }
        let said = operation::said(complaint.class, &complaint.words);
        let here = complaint.paths.iter();
        if let Some(denial) = here.filter_map(|path| self.at(path, said, complaint.class)).next() {
            return Some(denial);
        }
        if is_connect(&complaint.words) && !complaint.paths.iter().any(|path| path.starts_with('/'))
        {
            return self.network();
        }
        let nameless = !complaint.paths.iter().any(|path| path.contains('/') || path.contains('.'));
        if nameless && continues(line) {
            let near = beside.iter().flat_map(|line| message::mentioned(strip(line)));
            let words = beside.join(" ").to_lowercase();
            let said = match said {
                Op::Unknown => operation::said(complaint.class, &words),
                said => said,
            };
            let found = near.filter_map(|path| self.at(&path, said, complaint.class)).next();
            if found.is_some() {
                return found;
            }
        }
        (nameless && complaint.class == Class::ReadOnly).then(|| self.somewhere())
    }

    /// The rule that keeps what was done from `written`.
    fn at(&self, written: &str, said: Op, class: Class) -> Option<Denial> {
        let home = std::env::var_os("HOME").filter(|_| written.starts_with("~/"));
        let written = match (&home, written.strip_prefix("~/")) {
            (Some(home), Some(rest)) => Path::new(home).join(rest),
            _ => Path::new(written).to_owned(),
        };
        let text = written.to_string_lossy();
        for base in &self.roles.bases {
            for follows in [true, false] {
                let path = resolve(base, &written, follows, self.link);
                let op = match said {
                    Op::Unknown => self.roles.of(&path, &text),
                    said => said,
                };
                if let Some((rule, op)) = self.ground.refuses(&path, op, class) {
                    let op = Some(if op == Op::Write { "write" } else { "read" });
                    return Some(Denial { rule, op, path: Some(path), what: None });
                }
            }
            if written.is_absolute() {
                break;
            }
        }
        None
    }

    /// A change was refused, and the message does not say of what.
    fn somewhere(&self) -> Denial {
        let named = self.roles.written().iter();
        let named = named.filter_map(|path| self.at(path, Op::Write, Class::ReadOnly)).next();
        let what = Some("a file system is read-only in it");
        named.unwrap_or(Denial {
            rule: self.ground.anywhere(),
            op: Some("write"),
            path: None,
            what,
        })
    }

    fn network(&self) -> Option<Denial> {
        self.ground.restricts_network().then_some(Denial {
            rule: Rule::NetworkRestricted,
            op: Some("connect"),
            path: None,
            what: None,
        })
    }

    /// Git says of its index that it was not written, and not why.
    fn index(&self, text: &str) -> Option<Denial> {
        let said = [
            "could not write index",
            "unable to write new index file",
            "unable to write new_index file",
        ];
        let told = said.iter().any(|said| text.contains(said));
        told.then(|| self.at(".git/index", Op::Write, Class::Access))?
    }

    fn quiet(&self, silent: bool) -> Option<Denial> {
        /// What curl says of a file that it could not write.
        const UNWRITTEN: i32 = 23;
        let code = self.run.exit_code?;
        if silent && code == UNWRITTEN && self.commands.iter().any(|one| one.program() == "curl") {
            let mut named = self.roles.written().iter();
            return named.find_map(|path| self.at(path, Op::Write, Class::Access));
        }
        network::failed(&self.commands, code, silent).then(|| self.network())?
    }
}

/// Lines that continue others: what failed stands beside them.
fn continues(line: &str) -> bool {
    line.starts_with([' ', '\t'])
        || line.contains("os error")
        || line.starts_with("npm ")
        || line.contains("[Errno")
}

/// Complaints that are no failures.
fn is_noise(line: &str) -> bool {
    line.starts_with("sudo: unable to resolve host")
}

/// Whether a message is about a connection.
fn is_connect(words: &str) -> bool {
    let words: Vec<&str> = words.split(|c: char| !c.is_alphanumeric()).collect();
    let socket = ["unix", "sock", "daemon"].iter().any(|word| words.contains(word));
    !socket && ["connect", "sendto", "sendmsg", "socket"].iter().any(|word| words.contains(word))
}

/// `line` without what package managers put before every line.
fn strip(line: &str) -> &str {
    let marks = ["npm ERR! ", "npm error ", "npm WARN ", "npm warn ", "error: uncaughtException: "];
    marks.iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line)
}

/// Both ends of a long stream.
fn ends(bytes: &[u8]) -> String {
    if bytes.len() <= 2 * END {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    let (head, tail) = (&bytes[..END], &bytes[bytes.len() - END..]);
    format!("{}\n{}", String::from_utf8_lossy(head), String::from_utf8_lossy(tail))
}

/// Why a run failed that wanted to reach `whom` and might not, `why`.
pub(crate) fn unreached(whom: &str, why: &str, secrets: &[String]) -> Blocked {
    let whom = hidden(whom.to_owned(), secrets);
    let reason = short(format!("{whom} cannot be reached: {}.", hidden(why.to_owned(), secrets)));
    let action = "Add the host to policy.network.domains.allow if this command should reach it.";
    Blocked {
        suggested_action: Some(action.to_owned()),
        ..blocked(Stage::Runtime, Rule::NetworkRestricted, reason, Some("connect"), Some(whom))
    }
}

fn hidden(text: String, secrets: &[String]) -> String {
    secrets.iter().fold(text, |text, secret| text.replace(secret.as_str(), REDACTED_ENV))
}

/// A reason, bounded.
fn short(mut reason: String) -> String {
    if let Some((end, _)) = reason.char_indices().nth(REASON) {
        reason.truncate(end);
        reason.push('…');
    }
    reason
}

fn told(denial: &Denial, secrets: &[String]) -> Blocked {
    let hidden = |text: String| hidden(text, secrets);
    let path = denial.path.as_ref().map(|path| hidden(path.to_string_lossy().into_owned()));
    let what = path.as_deref().or(denial.what).unwrap_or("a place");
    let reason = short(denial.rule.reason(what));
    blocked(Stage::Runtime, denial.rule, reason, denial.op, path)
}

fn blocked(
    stage: Stage,
    rule: Rule,
    reason: String,
    op: Option<&str>,
    path: Option<String>,
) -> Blocked {
    Blocked {
        stage,
        rule: rule.word().to_owned(),
        operation: op.map(str::to_owned),
        path: path.map(Into::into),
        reason,
        suggested_action: Some(rule.action().to_owned()),
    }
}

#[cfg(test)]
mod tests;
