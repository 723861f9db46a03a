//! Support of the command line's tests: a place of their own, the program, the record.
//! Main types: [`Place`] and [`Ran`].

// Every test file is a program of its own and uses a part of this.
#![allow(dead_code, reason = "no test file uses everything")]

pub(crate) mod fakes;

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

use assert_cmd::Command;
use nix::unistd::{Uid, User};
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;
use tempfile::TempDir;

/// The program under test.
pub(crate) const BOXPROOF: &str = env!("CARGO_BIN_EXE_boxproof");
/// The time after which a program counts as hung.
const PATIENCE: Duration = Duration::from_secs(120);

/// The private key of RFC 8410.
pub(crate) const SIGNING_KEY: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC
-----END PRIVATE KEY-----
";
/// The public key of [`SIGNING_KEY`].
pub(crate) const PUBLIC_KEY: &str = "-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=
-----END PUBLIC KEY-----
";

/// A requirement for cases of a test's own.
const REQUIREMENT: &str = "R-test: {text: It works., source: a test, polarity: positive}
R-test-not: {text: It does not work., source: a test, polarity: negative}
";

/// A case that passes wherever commands run at all.
pub(crate) const WORKS: &str = "purpose: A command says hello.
requirement: R-test
act: {sh: echo hello}
expect: {allowed: {}, exit: 0}
";

/// A case that fails wherever nothing is denied.
pub(crate) const DENIED: &str = "purpose: Writing outside the workspace is refused.
requirement: R-test-not
needs: [fs.write]
fixture: {$OUT/f: kept}
act: {probe: write, path: $OUT/f, text: evil}
expect: {denied: {errno: [EROFS, EACCES, EPERM]}, oracle: [{unchanged: $OUT/f}]}
twin: {writable: [$OUT]}
";

/// A case from which nothing can be learnt: the act is not possible without a sandbox either.
pub(crate) const IMPOSSIBLE: &str =
    "purpose: Creating a file in a directory that is not there is refused.
requirement: R-test-not
needs: [fs.write]
act: {probe: create, path: $OUT/missing/f, text: evil}
expect: {denied: {errno: [ENOENT, EROFS]}, oracle: [{absent: $OUT/missing/f}]}
twin: {writable: [$OUT]}
";

/// A manifest whose program is nowhere.
pub(crate) const NOT_INSTALLED: &str = "name: jail
summary: A jail that nobody has.
program: boxproof-no-such-program
install: {apt: jail-tools}
argv: '{{ command }}'
claims: all
";

/// Arguments that keep root from becoming an ordinary user, which could not write in a [`Place`].
pub(crate) fn as_we_are() -> &'static [&'static str] {
    if nix::unistd::geteuid().is_root() { &["--user", "root"] } else { &[] }
}

/// The ordinary account with the lowest uid that has a home of its own.
pub(crate) fn account() -> Option<User> {
    let accounts = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let uids = accounts.lines().filter_map(|line| line.split(':').nth(2)?.parse().ok());
    let users = uids.filter(|uid| (1000..=60_000).contains(uid)).filter_map(|uid| {
        let user = User::from_uid(Uid::from_raw(uid)).unwrap()?;
        let home = user.dir.metadata().ok()?;
        (home.is_dir() && home.uid() == uid).then_some(user)
    });
    users.min_by_key(|user| user.uid.as_raw())
}

/// A directory of one test's own: never where sandboxes put an object.
pub(crate) struct Place {
    dir: TempDir,
}

/// The result of a command.
pub(crate) struct Ran {
    /// Its exit code.
    pub(crate) code: i32,
    /// Its stdout.
    pub(crate) stdout: String,
    /// Its stderr.
    pub(crate) stderr: String,
}

/// Returns the directory of the tests' places: every user can read it, and no sandbox puts an
/// object of its own over it, wherever the sources lie.
pub(crate) fn base() -> PathBuf {
    if nix::unistd::geteuid().is_root() {
        return "/var/cache".into();
    }
    let build = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let replaced = ["/tmp", "/var/tmp", "/dev", "/run"];
    if !replaced.iter().any(|directory| build.starts_with(directory)) {
        return build;
    }
    let home = PathBuf::from(std::env::var_os("HOME").unwrap());
    let cache = home.join(".cache");
    std::fs::create_dir_all(&cache).unwrap();
    cache
}

impl Place {
    /// An empty one, with a corpus without cases.
    pub(crate) fn new() -> Self {
        Self::below(&base())
    }

    /// Makes an empty place below `directory`.
    pub(crate) fn below(directory: &Path) -> Self {
        let dir = tempfile::Builder::new().prefix("cli-").tempdir_in(directory).unwrap();
        let place = Self { dir };
        place.write("corpus/requirements/test.yaml", REQUIREMENT);
        place
    }

    /// Makes a place with these cases, id → text.
    pub(crate) fn with(cases: &[(&str, &str)]) -> Self {
        let place = Self::new();
        for (id, text) in cases {
            place.write(&format!("corpus/{id}.yaml"), text);
        }
        place
    }

    /// The path called `name` in here.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The path called `name` in here, as an argument.
    pub(crate) fn arg(&self, name: &str) -> String {
        self.path(name).into_os_string().into_string().unwrap()
    }

    /// Writes a file, directories included, and returns its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Writes a program, directories included, and returns its path. A process of its own writes
    /// it: while this one had it open, a test beside could fork, and executing it would fail with
    /// ETXTBSY.
    pub(crate) fn program(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let make = "printf %s \"$1\" > \"$2\" && chmod 755 \"$2\"";
        let mut writer = std::process::Command::new("sh");
        let made = writer.args(["-c", make, "sh", text]).arg(&path).status().unwrap();
        assert!(made.success());
        path
    }

    /// A copy of the program under test, which a process of its own writes, too.
    pub(crate) fn copy(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        let copied = std::process::Command::new("cp").arg(BOXPROOF).arg(&path).status().unwrap();
        assert!(copied.success());
        path
    }

    /// The program with `args`, and with an environment that no terminal or user has touched.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(BOXPROOF);
        command.args(args).timeout(PATIENCE).env("XDG_CACHE_HOME", self.path("cache"));
        for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR", "TERM"] {
            command.env_remove(name);
        }
        command
    }

    /// Runs the program with `args`.
    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        let ran = Ran::from_output(&self.command(args).output().unwrap());
        self.is_clean();
        ran
    }

    /// Runs the program with `args`, on the corpus and the scratch directory of this place.
    pub(crate) fn boxproof(&self, verb: &str, args: &[&str]) -> Ran {
        let (cases, scratch) = (self.arg("corpus"), self.arg("scratch"));
        let mut all = vec![verb];
        all.extend(args);
        all.extend(["--cases", &cases]);
        if ["run", "audit"].contains(&verb) {
            all.extend(["--scratch", &scratch]);
        }
        if verb == "run" {
            all.extend(as_we_are());
        }
        self.run(&all)
    }

    /// Runs `boxproof run` with `args` and returns the rows of its record besides.
    pub(crate) fn rows(&self, args: &[&str]) -> (Ran, Vec<Value>) {
        let report = self.arg("record.ndjson");
        let ran = self.boxproof("run", &[args, &["--report", &report]].concat());
        let rows = self.record("record.ndjson");
        (ran, rows.into_iter().filter(|line| line["type"] == "case").collect())
    }

    /// The lines of the record called `name`.
    pub(crate) fn record(&self, name: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.path(name)).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Checks that nothing of a run is left in here.
    pub(crate) fn is_clean(&self) {
        for name in ["scratch", "cache"] {
            assert!(!self.path(name).exists(), "{name} is still there");
        }
    }
}

impl Ran {
    /// Takes the result of a finished process; one that was killed is no answer.
    pub(crate) fn from_output(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        let code = output.status.code();
        let code = code.unwrap_or_else(|| panic!("{}: {stdout}{stderr}", output.status));
        Self { code, stdout, stderr }
    }

    /// Checks that it exited with `code`; shows its output where not.
    #[track_caller]
    pub(crate) fn exits(&self, code: i32) -> &Self {
        let Self { code: found, stdout, stderr } = self;
        assert_eq!(*found, code, "\n--- stdout\n{stdout}\n--- stderr\n{stderr}");
        self
    }

    /// Its last line on stdout, but for how long it took.
    pub(crate) fn last_line(&self) -> &str {
        let line = self.stdout.lines().last().unwrap_or_default();
        let timed = line.strip_suffix(" s").and_then(|line| line.rsplit_once(" in "));
        match timed {
            Some((line, seconds)) if seconds.parse::<f64>().is_ok() => line,
            _ => line,
        }
    }
}

/// Checks that `part` is in `text`.
#[track_caller]
pub(crate) fn has(text: &str, part: &str) {
    assert!(contains(part).eval(text), "{part:?} is not in:\n{text}");
}
