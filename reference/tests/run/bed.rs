//! The fixture: [`TestBed`], a directory with a workspace and an outside, and one way to run in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// The time limit of every wait in a test.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);

/// The mechanism by the kernel alone.
pub(crate) const NAMESPACES: &str = "namespaces";
/// The mechanism `namespaces`, run as an ordinary user where the tests are run by root.
pub(crate) const ORDINARY: &str = "namespaces, ordinary user";
/// The mechanism by the program `bwrap`.
pub(crate) const BUBBLEWRAP: &str = "bubblewrap";
/// The mechanism that takes no namespaces.
pub(crate) const LANDLOCK: &str = "landlock";
/// The mechanism that confines nothing; its runs are of mode unconfined.
pub(crate) const UNCONFINED: &str = "unconfined";

/// A fresh directory, not below any temp directory, with `w` (workspace) and `o` (outside).
pub(crate) struct TestBed {
    directory: TempDir,
    mechanism: &'static str,
    /// `refbox` runs as [`USER`].
    ordinary: bool,
}

/// An ordinary user; nothing has to know it.
const USER: u32 = 1500;
/// Returns the directory for the directories of tests: every user can read it, and no sandbox
/// mounts something of its own over it, independent of the place of the sources.
fn base() -> PathBuf {
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
    fs::create_dir_all(&cache).unwrap();
    cache
}

/// A finished run.
pub(crate) struct Done {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) result: Value,
}

impl TestBed {
    /// A bed for runs by `mechanism`; fails where its program is missing.
    pub(crate) fn new(mechanism: &'static str) -> Self {
        if mechanism == BUBBLEWRAP {
            let version = Command::new("bwrap").arg("--version").stdout(Stdio::null()).status();
            let works = version.is_ok_and(|status| status.success());
            assert!(works, "this test needs bubblewrap: install the package bubblewrap");
        }
        let ordinary = mechanism == ORDINARY && nix::unistd::geteuid().is_root();
        let directory = TempDir::new_in(base()).unwrap();
        let mechanism = if mechanism == ORDINARY { NAMESPACES } else { mechanism };
        let bed = Self { directory, mechanism, ordinary };
        if ordinary {
            bring_program(&bed.root());
        }
        fs::create_dir(bed.ws("")).unwrap();
        fs::create_dir(bed.out("")).unwrap();
        bed
    }

    fn root(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap()
    }

    /// A path in the workspace.
    pub(crate) fn ws(&self, path: &str) -> PathBuf {
        join(self.root().join("w"), path)
    }

    /// A path outside every grant, on the same file system.
    pub(crate) fn out(&self, path: &str) -> PathBuf {
        join(self.root().join("o"), path)
    }

    /// Words that no other process has in its command line.
    pub(crate) fn nonce(&self) -> String {
        format!("nonce-{}-{}", std::process::id(), self.root().file_name().unwrap().display())
    }

    pub(crate) fn request_file(&self) -> PathBuf {
        self.root().join("request.json")
    }

    pub(crate) fn result_file(&self) -> PathBuf {
        self.root().join("result.json")
    }

    /// Writes a file that can be executed. A process of its own writes it: while this one had it
    /// open, a test beside could fork, and executing it would fail with ETXTBSY.
    pub(crate) fn program(&self, path: &Path, text: &str) {
        let make = "printf %s \"$1\" > \"$2\" && chmod 755 \"$2\"";
        let mut writer = Command::new("sh");
        let made = writer.args(["-c", make, "sh", text]).arg(path).status().unwrap();
        assert!(made.success());
    }

    /// The request of `command`; `policy` and `run` members win over the defaults.
    pub(crate) fn write_request(&self, policy: &Value, command: Value, run: &Value) {
        let mut request = json!({
            "protocol": 1,
            "policy": {"workspace": self.ws("")},
            "run": {"command": command, "cwd": self.ws("")},
        });
        if self.mechanism == UNCONFINED {
            request["policy"]["mode"] = "unconfined".into();
        }
        merge(&mut request["policy"], policy);
        if request["policy"]["mode"] != "unconfined" {
            request["run"]["mechanism"] = self.mechanism.into();
        }
        merge(&mut request["run"], run);
        fs::write(self.request_file(), request.to_string()).unwrap();
    }

    /// Returns the command as the user who starts it, at a path that every user can reach.
    pub(crate) fn plain(&self) -> Command {
        let own = self.root().join("refbox");
        let mut refbox = Command::new(if self.ordinary { &own } else { program() });
        refbox.arg("run").arg("--request").arg(self.request_file());
        refbox.arg("--result").arg(self.result_file());
        refbox
    }

    /// `refbox run` on the written request, not started yet.
    pub(crate) fn refbox(&self) -> Command {
        self.refbox_with_result(&self.result_file())
    }

    /// Returns the command with the result in another file.
    pub(crate) fn refbox_with_result(&self, result: &Path) -> Command {
        let own = self.root().join("refbox");
        let mut refbox = self.as_user(if self.ordinary { &own } else { program() });
        refbox.arg("run").arg("--request").arg(self.request_file());
        refbox.arg("--result").arg(result);
        refbox.stdin(Stdio::null());
        refbox
    }

    /// `program` by the user that the bed is for, who gets everything in it.
    pub(crate) fn as_user(&self, program: &Path) -> Command {
        if !self.ordinary {
            return Command::new(program);
        }
        hand_over(&self.root());
        let mut command = Command::new("setpriv");
        command.args([format!("--reuid={USER}"), format!("--regid={USER}")]);
        command.arg("--clear-groups").arg("--").arg(program);
        command
    }

    /// Runs a shell line under `policy`.
    pub(crate) fn sh(&self, policy: &Value, line: &str) -> Done {
        self.go(policy, json!({"shell": line}), &json!({}))
    }

    /// Runs `command` under `policy` with further members of `run`.
    pub(crate) fn go(&self, policy: &Value, command: Value, run: &Value) -> Done {
        self.write_request(policy, command, run);
        let output = self.refbox().output().unwrap();
        self.done(&output)
    }

    /// Reads the results of a run.
    pub(crate) fn done(&self, output: &Output) -> Done {
        let result = fs::read_to_string(self.result_file()).expect("no result was written");
        Done {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
            result: serde_json::from_str(&result).unwrap(),
        }
    }

    /// Returns whether `refbox` runs as root.
    pub(crate) fn is_root(&self) -> bool {
        nix::unistd::geteuid().is_root() && !self.ordinary
    }

    /// Names in the bed and below, but the request and the result.
    pub(crate) fn listing(&self) -> Vec<PathBuf> {
        let mut names = Vec::new();
        list(&self.root(), &mut names);
        let ours = [self.request_file(), self.result_file(), self.root().join("refbox")];
        names.retain(|name| !ours.contains(name));
        names.sort();
        names
    }
}

impl Done {
    /// Fails the test unless the command was executed and exited with `code`.
    #[track_caller]
    pub(crate) fn expect(&self, code: i32) -> &Self {
        assert_eq!(self.code, Some(code), "stdout: {}\nstderr: {}", self.out, self.err);
        assert_eq!(self.result["started"], true, "{}", self.result);
        assert_eq!(self.result["exit_code"], code, "{}", self.result);
        assert_eq!(self.result["success"], code == 0, "{}", self.result);
        self
    }

    /// Fails the test unless stderr holds `words`.
    #[track_caller]
    pub(crate) fn complains(&self, words: &str) -> &Self {
        assert!(self.err.contains(words), "no {words:?} in stderr: {}", self.err);
        self
    }
}

/// The program under test.
pub(crate) fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_refbox"))
}

/// Polls `condition` until it holds; fails the test at the deadline.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < DEADLINE, "{what}: not within {DEADLINE:?}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Returns whether some process has `nonce` in its command line.
pub(crate) fn is_alive(nonce: &str) -> bool {
    let entries = fs::read_dir("/proc").unwrap();
    entries.filter_map(Result::ok).any(|entry| {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        line.windows(nonce.len()).any(|window| window == nonce.as_bytes())
    })
}

/// Puts the program where an ordinary user gets to. The copy is another process's work: a
/// descriptor that is open for writing while some test forks would keep it from being executed.
fn bring_program(directory: &Path) {
    let to = directory.join("refbox");
    if fs::hard_link(program(), &to).is_err() {
        let copied = Command::new("cp").arg(program()).arg(&to).status().unwrap();
        assert!(copied.success());
    }
}

/// Gives everything in `directory` but the program, which may be a link, to the ordinary user.
fn hand_over(directory: &Path) {
    let mut names = vec![directory.to_owned()];
    list(directory, &mut names);
    for name in names.into_iter().filter(|name| *name != directory.join("refbox")) {
        match std::os::unix::fs::lchown(name, Some(USER), Some(USER)) {
            // A run that goes on meanwhile took it away again.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            given => given.unwrap(),
        }
    }
}

fn join(base: PathBuf, path: &str) -> PathBuf {
    if path.is_empty() { base } else { base.join(path) }
}

fn merge(into: &mut Value, from: &Value) {
    for (name, value) in from.as_object().unwrap() {
        into[name] = value.clone();
    }
}

/// Adds what is below `directory`, as far as it is still there: a run may go on meanwhile.
fn list(directory: &Path, names: &mut Vec<PathBuf>) {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return,
        entries => entries.unwrap(),
    };
    for entry in entries {
        let entry = entry.unwrap();
        names.push(entry.path());
        if entry.file_type().unwrap().is_dir() {
            list(&entry.path(), names);
        }
    }
}
