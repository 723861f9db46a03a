//! Refusals that a message does not name plainly: a path not found because it is hidden, an
//! operation that requires a capability, a read-only path without a name.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::super::errno_messages::RefusalClass;
use super::super::operation;
use super::super::script::ScriptCommand;
use super::super::shell_pattern;
use super::super::silent_commands;
use super::{
    AccessKind, DecidingCommands, DenialRule, FailureAnalysis, ParsedCommand, RefusalMessage,
    RunDenial, cause, ends, is_connect, resolve, runtime_denial,
};

/// Messages of git without a reason, and the file that git was to write.
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

/// Beginnings of messages that are the same for every reason why a file was not opened.
const UNSAID: [&str; 13] = [
    "unable to access jarfile",
    "cannot find or open",
    "not a git repository:",
    "does not appear to be a git repository",
    "does not exist",
    "file not found:",
    "can't cd to",
    "couldn't open file",
    "node:",
    "cannot find module",
    "could not access",
    "failed to load external entity",
    "is unavailable",
];

/// The message of binutils for a file that they could not make.
const BAD_DESCRIPTOR: &str = "bad file descriptor";

/// Words in messages about operations that require a capability and name no path.
const PRIVILEGED: [&str; 6] = ["niceness", "priority", "mount:", "setuid", "setgid", "set groups"];

/// The text of the SQLite shell about a file that it cannot use, for any reason.
static SQLITE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"(?m)(?:cannot open|cannot write to) "([^"\n]+)"|unable to open database: ([^\n]+?)(?: \(14\))?$"#).ok()
});

/// The message of tar for a file that it did not get to remove first.
static UNREMOVED: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?m)^tar: (.+): Cannot open: File exists$").ok());

/// Calls in a Java stack by which a file or directory is made.
const JAVA_MAKES: [&str; 3] = [".newOutputStream(", ".createDirectory(", "FileOutputStream.open"];

/// Returns whether `text` says that SQLite could not use a file, whichever the reason.
pub(super) fn is_of_database(text: &str) -> bool {
    let said = ["unable to open database file", "attempt to write a readonly database"];
    said.iter().any(|said| text.contains(said))
}

/// Verbs of npm that change the description of the package.
const DESCRIBES: [&str; 5] = ["init", "create", "pkg", "set-script", "version"];

/// Beginnings of orders to SQLite that change nothing.
const READING: [&str; 6] = ["select ", "with ", "explain ", ".tables", ".schema", ".dump"];

impl FailureAnalysis<'_> {
    /// Returns the denial behind a path that was not found although it is on the host, or that
    /// could not be made although the host has its directory, which the command cannot write in.
    pub(super) fn missing(&self, complaint: &RefusalMessage) -> Option<RunDenial> {
        let says = |word: &str| complaint.words.contains(word);
        let makes = says("mkdir")
            || says("creat")
            || says(BAD_DESCRIPTOR)
            || says("exception") && self.java_makes();
        let there = |path: &Path| (self.look.there)(path);
        let denied =
            |rule, op, path| Some(RunDenial { rule, op: Some(op), path: Some(path), what: None });
        let paths = complaint.paths.iter().flat_map(|written| {
            let bases = self.roles.bases.iter();
            let real = move |base| resolve(base, written.as_ref(), true, self.look.link);
            bases.map(move |base| (written, real(base)))
        });
        paths.into_iter().find_map(|(written, path)| {
            if there(&path) {
                let unsaid = UNSAID.iter().any(|words| says(words));
                let entered = unsaid
                    .then(|| self.ground.refuses(&path, AccessKind::Read, RefusalClass::Access));
                let entered = entered.flatten().map(|(rule, _)| rule);
                let rule = self.ground.lacks(&path).or(entered);
                let reads = says("for reading");
                let writes = says("mkdir")
                    || !reads && self.roles.access_to(&path, written) == AccessKind::Write;
                if (rule.is_some() || says(BAD_DESCRIPTOR)) && writes {
                    let refused =
                        self.ground.refuses(&path, AccessKind::Write, RefusalClass::Access);
                    return refused.and_then(|(rule, _)| denied(rule, "write", path));
                }
                return rule.and_then(|rule| denied(rule, "read", path));
            }
            if let Some(denial) = self.unexpanded(&path, written) {
                return Some(denial);
            }
            // The missing path was to be made where the sandbox does not even have its directory.
            let hidden = |parent: &Path| there(parent) && self.ground.lacks(parent).is_some();
            let above = || path.ancestors().skip(1).find(|parent| there(parent));
            // Most programs that look for a file are not about to make it.
            let made = || {
                let said = operation::said(RefusalClass::Access, &complaint.words);
                let op = match said {
                    AccessKind::Unknown => self.roles.access_to(&path, written),
                    said => said,
                };
                let open = match op {
                    AccessKind::Unknown => self.is_given_to_code(written),
                    op => op == AccessKind::Write,
                };
                open && above().is_some_and(hidden)
            };
            let fits = makes && path.parent().is_some_and(there) || made();
            let refused = self
                .ground
                .refuses(&path, AccessKind::Write, RefusalClass::Access)
                .filter(|_| fits);
            refused.and_then(|(rule, _)| denied(rule, "write", path))
        })
    }

    /// Returns the denial behind a pattern that a shell left as it is: of the directory that has what it means.
    pub(super) fn unexpanded(&self, pattern: &Path, written: &str) -> Option<RunDenial> {
        let meant = self.expanded(pattern)?;
        let plain = pattern.iter().take_while(|part| !shell_pattern::is_pattern(Path::new(part)));
        let around: PathBuf = plain.collect();
        let op = match self.roles.access_to(pattern, written) {
            AccessKind::Write => AccessKind::Write,
            _ => AccessKind::Read,
        };
        let refuses = |path: &Path, op| self.ground.refuses(path, op, RefusalClass::Access);
        let mut refused = [around, meant].into_iter().filter_map(|path| {
            let hidden = self.ground.lacks(&path).is_some();
            (hidden || refuses(&path, AccessKind::Read).is_some()).then_some(())?;
            let (rule, op) = refuses(&path, op)?;
            Some((rule, op, path))
        });
        let (rule, op, path) = refused.next()?;
        let op = Some(if op == AccessKind::Write { "write" } else { "read" });
        Some(RunDenial { rule, op, path: Some(path), what: None })
    }

    /// Returns the first path of the host that `pattern` means, if it is one.
    pub(super) fn expanded(&self, pattern: &Path) -> Option<PathBuf> {
        let is_one = shell_pattern::is_pattern(pattern) && !(self.look.there)(pattern);
        is_one.then(|| shell_pattern::expand(pattern, self.look)).flatten()
    }

    /// Returns whether `written` is a pattern that was to be read, and means nothing on the host either.
    pub(super) fn means_nothing(&self, written: &str) -> bool {
        let is_one = |path: &PathBuf| {
            shell_pattern::is_pattern(path)
                && self.roles.access_to(path, written) != AccessKind::Write
        };
        let real = self.meanings(written);
        let is_there = |path: &PathBuf| (self.look.there)(path) || self.expanded(path).is_some();
        real.iter().all(is_one) && !real.iter().any(is_there)
    }

    /// Returns whether the calls behind a Java exception are those that make a file or directory.
    fn java_makes(&self) -> bool {
        let stderr = ends(self.run.stderr.unwrap_or_default());
        JAVA_MAKES.iter().any(|call| stderr.contains(call))
    }

    /// Returns whether `written` is an argument of a script, which may be there to make it.
    fn is_given_to_code(&self, written: &str) -> bool {
        let mut scripts = self.commands().filter(|one| operation::is_interpreter(one.program()));
        scripts.any(|one| one.operands().skip(1).any(|word| word == written))
    }

    /// The denial of a change that a mount stands in the way of.
    pub(super) fn mounted(&self, complaint: &RefusalMessage) -> Option<RunDenial> {
        match complaint.class {
            RefusalClass::CrossDevice => self.moved(complaint),
            RefusalClass::Busy => self.replaced(),
            _ => None,
        }
    }

    /// A move between two places that are one file system on the host.
    fn moved(&self, complaint: &RefusalMessage) -> Option<RunDenial> {
        let [to, from, ..] = &complaint.paths[..] else { return self.moved_to() };
        let base = self.roles.bases.first()?;
        let [to, from] = [to, from].map(|one| resolve(base, one.as_ref(), true, self.look.link));
        let same = (self.look.device)(&to) == (self.look.device)(&from);
        let rule = self.ground.moves([&to, &from]).filter(|_| same)?;
        Some(RunDenial { rule, op: Some("write"), path: Some(to), what: None })
    }

    /// The change of a file that is a mount of its own, so that no other can be put in its place: of
    /// one that the command names.
    fn replaced(&self) -> Option<RunDenial> {
        let mut named = self.roles.written().iter();
        named.find_map(|path| self.at(path, AccessKind::Write, RefusalClass::Busy))
    }

    /// The denial of a file that is there and that the code of the command names, where a message
    /// names none.
    pub(super) fn named_by_code(&self) -> Option<RunDenial> {
        let DecidingCommands { own, feeders } = self.deciders();
        let steps = own.into_iter().chain(feeders);
        let steps = steps.filter(|step| operation::is_interpreter(step.program()));
        let code = steps.flat_map(|step| step.words.iter().skip(1));
        let there = |path: &str| {
            let mut bases = self.roles.bases.iter();
            bases.any(|base| (self.look.there)(&resolve(base, path.as_ref(), true, self.look.link)))
        };
        let mut named = code.flat_map(|code| silent_commands::literals(code));
        named.find_map(|(path, op)| {
            let counts = op == AccessKind::Write || there(&path);
            counts.then(|| self.at(&path, op, RefusalClass::Access))?
        })
    }

    /// The repository that git did not find around its directory, where the host has it.
    pub(super) fn repository(&self, text: &str) -> Option<RunDenial> {
        let lost = text.contains("not a git repository (or any") && self.runs(&["git"]);
        let base = self.roles.bases.first().filter(|_| lost)?;
        let mut around = base.ancestors().map(|directory| directory.join(".git"));
        let path = around.find(|path| (self.look.there)(path))?;
        let (rule, _) = self.ground.refuses(&path, AccessKind::Read, RefusalClass::Access)?;
        let hidden = rule == DenialRule::ReadDenied && self.decides(&path, "fatal: ");
        hidden.then_some(RunDenial { rule, op: Some("read"), path: Some(path), what: None })
    }

    /// The file that tar was to replace, and did not get out of the way.
    pub(super) fn unremoved(&self, text: &str) -> Option<RunDenial> {
        let steps = self.runs(&["tar", "bsdtar"]);
        let found = UNREMOVED.as_ref()?.captures(text).filter(|_| steps)?;
        let base = self.roles.bases.first()?;
        let path = resolve(base, found.get(1)?.as_str().as_ref(), true, self.look.link);
        let (rule, _) = self.ground.refuses(&path, AccessKind::Write, RefusalClass::Access)?;
        let denial = RunDenial { rule, op: Some("write"), path: Some(path.clone()), what: None };
        self.decides(&path, "tar: ").then_some(denial)
    }

    /// A move of which only the origin is told: to one of the words of the command.
    fn moved_to(&self) -> Option<RunDenial> {
        let DecidingCommands { own, feeders } = self.deciders();
        let mut words = own.iter().chain(&feeders).flat_map(|step| step.words.iter().skip(1));
        words.find_map(|word| self.at(word, AccessKind::Write, RefusalClass::CrossDevice))
    }

    /// Returns the denial of an operation that root may do outside the sandbox, and a command
    /// without capabilities may not.
    pub(super) fn lost_capability(
        &self,
        complaint: &RefusalMessage,
        line: &str,
    ) -> Option<RunDenial> {
        let bases = || self.roles.bases.iter();
        let real = |path: &String| {
            bases()
                .map(|base| resolve(base, path.as_ref(), true, self.look.link))
                .find(|path| (self.look.there)(path) || path.parent().is_some_and(self.look.there))
        };
        let path = complaint.paths.iter().find_map(real);
        let runs = path.as_ref().is_none_or(|path| (self.look.runs)(path));
        let executes = ["exec", "cannot run"].iter().any(|said| complaint.words.contains(said))
            || self
                .commands()
                .any(|one| complaint.paths.iter().any(|path| one.words.first() == Some(path)));
        let asks = |said: &str| line.contains(said);
        let fits = match complaint.class {
            RefusalClass::Permission => !is_connect(&complaint.words),
            RefusalClass::Access
                if path.as_ref().is_some_and(|path| (self.look.closed_to_root)(path)) =>
            {
                runs || !executes
            }
            RefusalClass::Access => PRIVILEGED.iter().any(|said| asks(said)),
            _ => false,
        };
        let what = Some("a command has no capabilities in it, not even root's");
        (fits && self.run.root && !line.contains("(publickey")).then_some(RunDenial {
            rule: DenialRule::RuntimeDenied,
            op: None,
            path: None,
            what,
        })
    }

    /// Returns the denial of an owner or group that the user namespace of root's command does not have.
    pub(super) fn foreign_owner(&self, text: &str) -> Option<RunDenial> {
        let names = |text: &str| {
            ["owner", "chown", "group", "setuid", "setgid", "setres"]
                .iter()
                .any(|it| text.contains(it))
        };
        let line = text.lines().rfind(|line| line.ends_with(" Invalid argument"));
        let line = line.filter(|_| self.run.root)?;
        let asks = |step: &ScriptCommand| match operation::is_interpreter(step.program()) {
            true => step.words.iter().any(|code| names(code)),
            false => cause::speaks(step, line) && names(line),
        };
        let asked = self.deciders().own.into_iter().any(asks);
        asked.then(|| runtime_denial("a command has the owners and groups of one user in it"))
    }

    /// Returns the denial of a change whose path the message does not name.
    pub(super) fn somewhere(&self) -> Option<RunDenial> {
        let named = self.roles.written().iter().map(String::as_str);
        // Git says of its objects only that they were not written.
        let gits = self.runs(&["git"]).then_some(".git/objects");
        let named = named.chain(gits);
        let code = self
            .commands()
            .flat_map(|one| &one.words)
            .flat_map(|code| silent_commands::literals(code));
        let code: Vec<String> =
            code.filter(|(_, op)| *op == AccessKind::Write).map(|(path, _)| path).collect();
        let mut named = named.chain(code.iter().map(String::as_str));
        let found = named.find_map(|path| self.at(path, AccessKind::Write, RefusalClass::ReadOnly));
        let DecidingCommands { own, feeders } = self.deciders();
        let words = own.iter().chain(&feeders).flat_map(|step| step.words.iter().skip(1));
        // An order of a program's own language is one word of the line.
        let words = words.flat_map(|word| word.split([' ', ';'])).filter(|word| word.contains('/'));
        let mut denials: Vec<RunDenial> = words
            .filter_map(|word| self.at(word, AccessKind::Write, RefusalClass::ReadOnly))
            .collect();
        // What the user could not write outside either was hardly to be written.
        let open = |one: &RunDenial| {
            let above = one.path.as_deref().and_then(Path::parent);
            above.is_some_and(|above| (self.look.may_write)(above))
        };
        found.or_else(|| {
            let at = denials.iter().position(open).unwrap_or_default();
            (at < denials.len()).then(|| denials.swap_remove(at))
        })
    }

    /// Git says of some of its files that they were not written, and not why.
    pub(super) fn index(&self, text: &str) -> Option<RunDenial> {
        // Of another repository it was to send something to.
        let pushed = text.contains("unpack failed: ").then(|| text.lines());
        let to = pushed.and_then(|mut lines| lines.find_map(|line| line.strip_prefix("To ")));
        if let Some(to) = to {
            let to = Path::new(to.strip_prefix("file://").unwrap_or(to));
            let objects = ["objects", ".git/objects"].map(|objects| to.join(objects));
            let mut found = objects.iter();
            return found.find_map(|at| {
                self.at(&at.to_string_lossy(), AccessKind::Write, RefusalClass::Access)
            });
        }
        let said = UNEXPLAINED.iter().filter(|(said, _)| text.contains(said));
        let found = said
            .into_iter()
            .find_map(|(_, path)| self.at(path, AccessKind::Write, RefusalClass::Access));
        // git makes the new file beside the old one.
        let lock = |path: &PathBuf| PathBuf::from(format!("{}.lock", path.display()));
        found.filter(|denial| !denial.path.as_ref().is_some_and(|path| self.is_apart(&lock(path))))
    }

    /// A database names no file: it is one that the code names.
    pub(super) fn database(&self, text: &str) -> Option<RunDenial> {
        if let Some(denial) = self.database_file(text) {
            return Some(denial);
        }
        if !is_of_database(text) {
            return None;
        }
        let code = self
            .commands()
            .flat_map(operation::code)
            .flat_map(|code| silent_commands::literals(code));
        let shells = self.commands().filter(|one| one.program() == "sqlite3");
        let makes = shells.filter(|one| !one.words.iter().any(|word| word == "-readonly"));
        let operands = makes.flat_map(|one| {
            let op = if self.only_reads(one) { AccessKind::Read } else { AccessKind::Write };
            one.operands().take(1).map(move |path| (path.to_owned(), op))
        });
        // A statement is no name of a file.
        let files = code.filter(|(path, _)| !path.contains(' '));
        let mut named = files.map(|(path, _)| (path, AccessKind::Write)).chain(operands);
        // Where there is no directory for it, it could not be made anywhere.
        let may_be = |denial: &RunDenial| {
            let path = denial.path.as_deref();
            path.and_then(Path::parent).is_some_and(self.look.there)
        };
        named.find_map(|(path, op)| self.at(&path, op, RefusalClass::Access).filter(may_be))
    }

    /// Returns whether the shell of SQLite has a database that exists, and orders that only read.
    pub(super) fn only_reads(&self, shell: &ParsedCommand) -> bool {
        let mut operands = shell.operands();
        let exists = |path: &str| {
            let mut bases = self.roles.bases.iter();
            bases.any(|base| (self.look.there)(&resolve(base, path.as_ref(), true, self.look.link)))
        };
        let there = operands.next().is_some_and(exists);
        let reads = |order: &str| {
            let order = order.trim_start().to_lowercase();
            READING.iter().any(|begin| order.starts_with(begin))
        };
        let mut orders = operands.peekable();
        there && orders.peek().is_some() && orders.all(reads)
    }

    /// Returns the denial behind the exit code of a silent npm, which is an errno, negative: of the
    /// file that its verb is about, or of its cache.
    pub(super) fn package_manager(&self, code: i32) -> Option<RunDenial> {
        const MISSING: i32 = 256 - 2;
        const CLOSED: i32 = 256 - 13;
        const READ_ONLY: i32 = 256 - 30;
        let npm = self.commands().find(|one| matches!(one.program(), "npm" | "npx"))?;
        let mut operands = npm.operands();
        let verb = operands.next().unwrap_or_default();
        let there = |path: &str| (self.look.there)(&self.run.cwd.join(path));
        let write = |path: &str| self.at(path, AccessKind::Write, RefusalClass::Access);
        let read = |path: &str| self.at(path, AccessKind::Read, RefusalClass::Access);
        let cache = || write("~/.npm");
        match code {
            READ_ONLY if DESCRIBES.contains(&verb) => write("package.json").or_else(cache),
            READ_ONLY => cache(),
            CLOSED => there("package.json").then(|| read("package.json"))?.or_else(|| {
                let packs = matches!(verb, "pack" | "publish");
                packs.then(|| self.ground.unread_below(self.run.cwd, self.look.there)).flatten()
            }),
            // It says so of a package that is not there, too.
            MISSING if there("package.json") && operands.all(there) => cache(),
            MISSING => {
                let made = npm.option(&["--prefix"]).filter(|path| !there(path));
                made.and_then(write)
            }
            _ => None,
        }
    }

    /// The shell of SQLite names the file of an order or statement, and gives no reason.
    fn database_file(&self, text: &str) -> Option<RunDenial> {
        let steps = self.commands().filter(|one| one.program() == "sqlite3").count();
        let found = SQLITE.as_ref()?.captures_iter(text).last().filter(|_| steps > 0)?;
        let written = found.iter().skip(1).flatten().next()?.as_str().trim();
        let words = || self.commands().flat_map(|one| &one.words);
        let takes = |word: &String| {
            [".read", ".import"].iter().any(|order| word.contains(order)) && word.contains(written)
        };
        let op = if words().any(takes) { AccessKind::Read } else { AccessKind::Write };
        let denial = self.at(written, op, RefusalClass::Access)?;
        let at = denial.path.as_deref()?;
        let there = match op {
            AccessKind::Read => Some(at),
            _ => at.parent(),
        };
        (there.is_some_and(|path| (self.look.there)(path)) && self.decides(at, "sqlite3: "))
            .then_some(denial)
    }
}
