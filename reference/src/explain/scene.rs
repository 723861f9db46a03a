//! One finished run before its policy: the streams are read line by line, and what none of them
//! says is told from what the command was to do ([`Scene`]).

use std::path::{Path, PathBuf};

use super::ground::{Ground, Op};
use super::message::{self, Complaint};
use super::operation::{self, Roles};
use super::phrases::Class;
use super::place::{Look, resolve};
use super::rule::Rule;
use super::words::{Simple, commands, of_line};
use super::{Denial, Finished, ends, fetch, network, silent};

/// A run, and what its policy and the host make of it.
pub(super) struct Scene<'a> {
    run: &'a Finished<'a>,
    look: Look<'a>,
    ground: Ground<'a>,
    /// The command's, and those of what was typed.
    lines: [Vec<Simple>; 2],
    roles: Roles,
}

impl<'a> Scene<'a> {
    /// That of `run`.
    pub(super) fn new(run: &'a Finished<'a>, look: Look<'a>) -> Self {
        let lines = [commands(run.command), run.original.map(of_line).unwrap_or_default()];
        let roles = Roles::new(&lines.concat(), run.cwd, look.link);
        Self { run, look, ground: Ground::new(run.policy, run.law, look.link), lines, roles }
    }

    fn commands(&self) -> impl Iterator<Item = &Simple> {
        self.lines.iter().flatten()
    }

    fn runs(&self, programs: &[&str]) -> bool {
        self.commands().any(|one| programs.contains(&one.program()))
    }

    /// What was refused, if that is why it failed.
    pub(super) fn denial(&self) -> Option<Denial> {
        let stderr = ends(self.run.stderr.unwrap_or_default());
        let found = self.handed_over().or_else(|| self.told_in(&stderr));
        // What was written to stderr may have gone to stdout.
        let found = found.or_else(|| match self.redirects() {
            true => self.told_in(&ends(self.run.stdout)),
            false => None,
        });
        let found = found.or_else(|| self.index(&stderr)).or_else(|| self.database(&stderr));
        found.or_else(|| self.quiet(self.run.stderr.is_some().then_some(&stderr)))
    }

    /// What the mechanism itself refused, the last first.
    fn handed_over(&self) -> Option<Denial> {
        let refusal = |path: &PathBuf| {
            let classes = [Class::Access, Class::Busy].into_iter();
            let mut found = classes.filter_map(|class| self.ground.refuses(path, Op::Write, class));
            let (rule, _) = found.next()?;
            Some(Denial { rule, op: Some("write"), path: Some(path.clone()), what: None })
        };
        self.run.refused.iter().rev().find_map(refusal)
    }

    /// Whether the command line has stderr go where stdout goes.
    fn redirects(&self) -> bool {
        let marks = ["2>&1", "|&", "&>"];
        let text = self.run.command.to_argv().join(" ");
        marks.iter().any(|mark| text.contains(mark))
    }

    fn told_in(&self, text: &str) -> Option<Denial> {
        let argv = self.run.command.to_argv();
        let lines: Vec<&str> = text.lines().map(beginning).collect();
        for (at, line) in lines.iter().enumerate() {
            let Some(complaint) = message::read(strip(line)) else { continue };
            // What the command line says itself is no message of the system's.
            let echoed = argv.iter().any(|word| {
                word.contains(line.trim()) || word.replace('\\', "").contains(line.trim())
            });
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
            Class::Permission if self.made_no_socket(line, beside) => return self.network(),
            _ => {}
        }
        if complaint.class == Class::Permission && self.wants_namespaces(&complaint.words) {
            let what = Some("a system call that it closes");
            return Some(Denial { rule: Rule::RuntimeDenied, op: None, path: None, what });
        }
        if complaint.class == Class::Missing {
            return self.missing(complaint);
        }
        let said = operation::said(complaint.class, &complaint.words);
        let here = complaint.paths.iter();
        if let Some(denial) = here.filter_map(|path| self.at(path, said, complaint.class)).next() {
            return Some(denial);
        }
        if let Some(path) = complaint.paths.iter().find(|path| is_git_path(path)) {
            let written = Path::new(".git").join(path);
            return self.at(&written.to_string_lossy(), Op::Write, complaint.class);
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
                let path = resolve(base, &written, follows, self.look.link);
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

    /// Whether a socket itself could not be had, as where no network is left to speak to: Node says so
    /// of whom it was for, Python of the line that makes it.
    fn made_no_socket(&self, line: &str, beside: &[&str]) -> bool {
        let whom = line.split_once("connect EPERM ");
        whom.is_some_and(|(_, whom)| !whom.starts_with('/'))
            || beside.iter().any(|line| line.contains("_socket.socket.__init__("))
                && self.commands().any(network::by_code)
    }

    /// Whether namespaces of a user's own were asked for, which anybody may have elsewhere.
    fn wants_namespaces(&self, words: &str) -> bool {
        let own = |word: &String| match word.strip_prefix("--") {
            Some(long) => long.starts_with("user") || long.starts_with("map-"),
            None => word.starts_with('-') && word.contains(['U', 'r', 'c']),
        };
        words.contains("unshare")
            && self.commands().any(|one| {
                one.program() == "unshare" && one.words.iter().skip(1).any(own)
                    || one.words.iter().any(|word| word.contains("CLONE_NEWUSER"))
            })
    }

    /// What was not found is on the host, but not in the sandbox; or could not be made where the
    /// host has a folder for it, which the command cannot write in.
    fn missing(&self, complaint: &Complaint) -> Option<Denial> {
        let makes = complaint.words.contains("mkdir") || complaint.words.contains("creat");
        let there = |path: &Path| (self.look.there)(path);
        let denied =
            |rule, op, path| Some(Denial { rule, op: Some(op), path: Some(path), what: None });
        let paths = complaint.paths.iter().flat_map(|written| {
            let bases = self.roles.bases.iter();
            bases.map(move |base| resolve(base, written.as_ref(), true, self.look.link))
        });
        paths.into_iter().find_map(|path| {
            if there(&path) {
                return self.ground.lacks(&path).and_then(|rule| denied(rule, "read", path));
            }
            let fits = makes && path.parent().is_some_and(there);
            let refused = self.ground.refuses(&path, Op::Write, Class::Access).filter(|_| fits);
            refused.and_then(|(rule, _)| denied(rule, "write", path))
        })
    }

    /// A change was refused, and the message does not say of what.
    fn somewhere(&self) -> Denial {
        let named = self.roles.written().iter().map(String::as_str);
        // Git says of its objects only that they were not written.
        let gits = self.runs(&["git"]).then_some(".git/objects");
        let named = named.chain(gits);
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

    /// Git says of some of its files that they were not written, and not why.
    fn index(&self, text: &str) -> Option<Denial> {
        let said = UNEXPLAINED.iter().filter(|(said, _)| text.contains(said));
        said.into_iter().find_map(|(_, path)| self.at(path, Op::Write, Class::Access))
    }

    /// A database names no file: it is one that the code names.
    fn database(&self, text: &str) -> Option<Denial> {
        let said = ["unable to open database file", "attempt to write a readonly database"];
        if !said.iter().any(|said| text.contains(said)) {
            return None;
        }
        let code =
            self.commands().flat_map(operation::code).flat_map(|code| silent::literals(code));
        let operands = self.commands().filter(|one| one.program() == "sqlite3");
        let operands = operands.flat_map(|one| one.operands().take(1)).map(str::to_owned);
        let mut named = code.map(|(path, _)| path).chain(operands);
        named.find_map(|path| self.at(&path, Op::Write, Class::Access))
    }

    /// Nobody said why; `stderr` is none where nobody looked at it.
    fn quiet(&self, stderr: Option<&str>) -> Option<Denial> {
        /// What curl says of a file that it could not write.
        const UNWRITTEN: i32 = 23;
        let code = self.run.exit_code?;
        let silent = stderr.is_some_and(|stderr| stderr.trim().is_empty());
        if silent && code == UNWRITTEN && self.runs(&["curl"]) {
            let mut named = self.roles.written().iter();
            return named.find_map(|path| self.at(path, Op::Write, Class::Access));
        }
        let said = stderr.unwrap_or(UNKNOWN);
        let offline =
            |line: &[Simple]| network::failed(line, code, said) || fetch::is_why(line, code, said);
        if self.lines.iter().any(|line| offline(line)) || self.recipe_is_offline(code, said) {
            return self.network();
        }
        let unseen = self.lines.iter().filter(|_| silent);
        let unseen: Vec<_> = unseen.flat_map(|line| silent::paths(line, code)).collect();
        let absent = |path: &str| {
            let real = resolve(self.run.cwd, path.as_ref(), true, self.look.link);
            !(self.look.there)(&real)
        };
        // What there is nothing of is not read: that is why then.
        if unseen.iter().any(|(path, op)| *op == Op::Read && absent(path)) {
            return None;
        }
        unseen.iter().find_map(|(path, op)| self.at(path, *op, Class::Access))
    }

    /// Whether a command that make or a package manager shows on stdout failed for want of a network.
    fn recipe_is_offline(&self, code: i32, said: &str) -> bool {
        let make = self.runs(&["make", "gmake"]);
        if !make && !self.runs(&["npm", "yarn", "pnpm"]) {
            return false;
        }
        let stdout = ends(self.run.stdout);
        let shown = |line: &str| match make {
            true => Some(line.to_owned()).filter(|line| !line.starts_with("make")),
            false => line.strip_prefix("> ").map(str::to_owned),
        };
        let code = if make { fetch::of_recipe(said).unwrap_or(code) } else { code };
        let shown = stdout.lines().filter_map(shown);
        shown.into_iter().any(|line| network::failed(&of_line(&line), code, said))
    }
}

/// What git says without a reason, and what it was to write.
const UNEXPLAINED: [(&str, &str); 8] = [
    ("could not write index", ".git/index"),
    ("unable to write new index file", ".git/index"),
    ("unable to write new_index file", ".git/index"),
    ("could not lock config file .git/config", ".git/config"),
    ("unable to create temporary object directory", ".git/objects"),
    ("insufficient permission for adding an object", ".git/objects"),
    ("unable to create directory for .git/refs", ".git/refs"),
    ("unable to create directory for .git/logs", ".git/logs"),
];

/// In place of a stderr that nobody looked at: it was not empty.
const UNKNOWN: &str = "?";

/// As much of a line as a message with two paths can have.
fn beginning(line: &str) -> &str {
    /// Bytes.
    const LONGEST: usize = 10 * 1024;
    let end = line.char_indices().map(|(at, _)| at).find(|at| *at >= LONGEST);
    end.map_or(line, |end| &line[..end])
}

/// Lines that continue others: what failed stands beside them.
fn continues(line: &str) -> bool {
    line.starts_with([' ', '\t'])
        || line.contains("os error")
        || line.starts_with("npm ")
        || line.contains("[Errno")
}

/// Git names these from its own folder on.
fn is_git_path(path: &str) -> bool {
    ["refs/", "logs/", "objects/"].iter().any(|own| path.starts_with(own))
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
