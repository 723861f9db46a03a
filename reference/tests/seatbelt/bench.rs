//! The fixture: [`Bench`], a workspace, a runtime directory and what the script saw.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;

use serde_json::{Value, json};
use tempfile::TempDir;

/// The argument that makes this program refbox.
pub(crate) const VERB: &str = "refbox";
/// The variable with the script's path.
pub(crate) const SCRIPT: &str = "BOXPROOF_TEST_SANDBOX_EXEC";

/// Stands in for `sandbox-exec`: notes its words and the profile beside the runtime directory, then
/// becomes the command. Told to, it refuses the profile.
const TEXT: &str = r#"#!/bin/sh
home=$(dirname "$(dirname "$2")")
while [ ! -d "$home/seen" ]; do home=$(dirname "$home"); done
exec 9>>"$home/seen/lock"
flock 9
n=$(ls "$home/seen" | wc -l)
printf '%s\n' "$@" > "$home/seen/$n.words"
cat "$2" > "$home/seen/$n.profile"
stat -c %a "$2" > "$home/seen/$n.mode"
exec 9>&-
if [ -e "$home/refuse" ]; then echo "sandbox-exec: bad profile" >&2; exit 65; fi
while [ "$1" != -- ]; do shift; done
shift
exec "$@"
"#;

/// The script; made at the first call.
pub(crate) fn script() -> &'static Path {
    static MADE: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, path) = MADE.get_or_init(|| {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("sandbox-exec");
        // By another process: one that some test forks meanwhile would hold it open for writing.
        let make = "printf %s \"$1\" > \"$2\" && chmod 755 \"$2\"";
        let mut writer = Command::new("sh");
        let made = writer.args(["-c", make, "sh", TEXT]).arg(&path).status().unwrap();
        assert!(made.success());
        (directory, path)
    });
    path
}

/// A directory with `w` (workspace), and `run` (runtime directory) with `seen`.
pub(crate) struct Bench {
    directory: TempDir,
}

/// The script's record of one call.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) words: Vec<String>,
    pub(crate) profile: String,
    pub(crate) mode: String,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let directory = TempDir::new().unwrap();
        for name in ["w", "run", "run/seen"] {
            fs::create_dir(directory.path().join(name)).unwrap();
        }
        Self { directory }
    }

    /// A path in it.
    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(path)
    }

    /// The request that runs `line` in the workspace.
    pub(crate) fn request(&self, line: &str) -> Value {
        json!({"protocol": 1, "policy": {"workspace": self.at("w")}, "run": self.run(line)})
    }

    /// The member `run` of a request.
    pub(crate) fn run(&self, line: &str) -> Value {
        let command = json!({"argv": ["sh", "-c", line]});
        json!({"command": command, "cwd": self.at("w"), "mechanism": "seatbelt"})
    }

    /// refbox, told to carry out `request`, whose files are called after `name`.
    pub(crate) fn refbox(&self, name: &str, request: &Value) -> Command {
        let file = self.at(&format!("{name}.request"));
        fs::write(&file, request.to_string()).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([VERB, "run", "--request"]).arg(file);
        command.arg("--result").arg(self.at(name)).env(SCRIPT, script());
        command.env("XDG_RUNTIME_DIR", self.at("run")).stdin(Stdio::null());
        command
    }

    /// Carries out `request`, and returns the output and the result.
    pub(crate) fn done(&self, request: &Value) -> (Output, Value) {
        let output = self.refbox("result", request).output().unwrap();
        (output, self.result("result"))
    }

    pub(crate) fn result(&self, name: &str) -> Value {
        serde_json::from_slice(&fs::read(self.at(name)).unwrap()).unwrap()
    }

    /// A run that waits inside its command until [`Waiting::let_go`].
    pub(crate) fn waiting(&self, name: &str, request: impl Fn(&str) -> Value) -> Waiting {
        let [begun, go] = ["begun", "go"].map(|end| self.at(&format!("{name}.{end}")));
        for pipe in [&begun, &go] {
            nix::unistd::mkfifo(pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        }
        let line = format!("echo > {}; read x < {}", begun.display(), go.display());
        let child = self.refbox(name, &request(&line)).spawn().unwrap();
        // Blocks until the command runs.
        fs::read(&begun).unwrap();
        Waiting { child, go }
    }

    /// Returns the script's records, call by call.
    pub(crate) fn recorded_calls(&self) -> Vec<Seen> {
        let text =
            |n: usize, end: &str| fs::read_to_string(self.at(&format!("run/seen/{n}.{end}")));
        // The lock is the first, and every call leaves three.
        let calls = (1..).step_by(3).map_while(|n| {
            let words = text(n, "words").ok()?.lines().map(str::to_owned).collect();
            let mode = text(n, "mode").unwrap().trim().to_owned();
            Some(Seen { words, profile: text(n, "profile").unwrap(), mode })
        });
        calls.collect()
    }

    /// The profiles that are there.
    pub(crate) fn profiles(&self) -> Vec<PathBuf> {
        let listed = fs::read_dir(self.at("run/refbox")).into_iter().flatten();
        listed.map(|entry| entry.unwrap().path()).collect()
    }
}

/// A run whose command waits.
pub(crate) struct Waiting {
    pub(crate) child: Child,
    go: PathBuf,
}

impl Waiting {
    /// Lets the command end; the exit code of the run.
    pub(crate) fn let_go(mut self) -> Option<i32> {
        fs::write(&self.go, "\n").unwrap();
        self.child.wait().unwrap().code()
    }

    /// Kills the run, as a crash would end it.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        assert_eq!(self.child.wait().unwrap().code(), None);
    }
}
