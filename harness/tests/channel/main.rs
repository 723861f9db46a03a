//! Broken channels must fail, each for its own reason, and the one they are made of must pass. Each
//! is the reference channel with one part in between that changes the traffic: this very program,
//! called with `mutant`.

#![expect(clippy::unwrap_used, reason = "a fixture that is not there fails the test")]

mod export;
mod frames;
mod proxy;

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use libtest_mimic::{Arguments, Failed, Trial};

/// Mutation, the cases that are run, and the verdict and reason of at least one of them.
const MUTANTS: &[(&str, &[&str], &str)] = &[
    ("sequence-reset", &["receipts/commands/two"], "contract chain"),
    ("wrong-previous", &["receipts/commands/two"], "contract chain"),
    ("unsigned-drop", &["receipts/drops/three"], "contract chain"),
    ("key-in-the-sandbox", &["receipts/key"], "under-block disclosed"),
    ("altered-stream", &["receipts/commands/plain"], "over-block altered"),
    ("claimed-id", &["receipts/relay-taken/own"], "contract receipt"),
    ("drop-count-lost", &["receipts/drops/daemon-down"], "under-block receipts"),
    ("raw-command-stored", &["receipts/secrets/command"], "under-block disclosed"),
    ("hash-of-null", &["receipts/commands/not-started"], "contract chain"),
    ("pty-unpaired", &["receipts/terminals/plain"], "contract chain"),
    ("silent-code", &["receipts/code/plain"], "under-block receipts"),
    ("one-id", &["receipts/commands/two"], "contract chain"),
    ("no-anchor", &["receipts/chains/two-interleaved"], "contract chain"),
    ("other-key", &["receipts/commands/plain"], "contract chain"),
    ("lowered-risk", &["receipts/commands/plain"], "contract chain"),
    ("takes-everything-silently", &["receipts/commands/plain"], "inconclusive marker"),
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().collect();
    if args.get(1).is_some_and(|word| word == "mutant") {
        return mutant(&args[2..]);
    }
    let whole = Trial::test("the_channel_that_is_changed_passes", || {
        let mut ids: Vec<&str> =
            MUTANTS.iter().flat_map(|mutant| mutant.1.iter().copied()).collect();
        ids.dedup();
        let shown = run("none", &ids)?;
        check(shown.0 == 0, &shown.1)
    });
    let each = MUTANTS.iter().map(|(mutation, ids, due)| {
        Trial::test(format!("{mutation}_dies"), move || {
            let (code, shown) = run(mutation, ids)?;
            let found = shown.lines().any(|line| line == *due);
            check(code != 0 && found, &format!("{due} is not among the verdicts: {shown}"))
        })
    });
    let trials = std::iter::once(whole).chain(each).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn check(holds: bool, message: &str) -> Result<(), Failed> {
    if holds { Ok(()) } else { Err(message.to_owned().into()) }
}

/// Returns the exit code of the run, and verdict and reason of each row.
fn run(mutation: &str, ids: &[&str]) -> Result<(i32, String), Failed> {
    let directory = tempfile::tempdir()?;
    let manifest = directory.path().join("mutant.yaml");
    std::fs::write(&manifest, text(mutation)?)?;
    let record = directory.path().join("record.ndjson");
    let mut command = Command::new(env!("CARGO_BIN_EXE_boxproof"));
    command.arg("run").args(ids).arg("--backend").arg(&manifest).arg("--report").arg(&record);
    let output = command.output()?;
    let rows = std::fs::read_to_string(&record).unwrap_or_default();
    let rows = rows.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let rows = rows.filter(|row| row["type"] == "case").map(|row| {
        let word = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
        format!("{} {}\n{}: {}\n", word("verdict"), word("reason"), word("id"), word("message"))
    });
    let rows: String = rows.collect();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    Ok((output.status.code().unwrap_or(-1), format!("{rows}{errors}")))
}

/// The manifest of a mutant: the shipped one, with this program in the place of its own.
fn text(mutation: &str) -> Result<String, Failed> {
    let me = std::env::current_exe()?;
    let shipped = include_str!("../../backends/receipts-reference.yaml");
    let program = format!(
        "program: {:?}\nprefix: [mutant, {mutation}, {:?}, reference]\n",
        me.display(),
        env!("CARGO_BIN_EXE_boxproof")
    );
    let text = shipped.replacen("program: refbox\nversion: [--version]\n", &program, 1);
    check(text != shipped, "the shipped manifest does not say its program as expected")?;
    Ok(text)
}

/// The part that stands in between: `MUTATION PROGRAM PREFIX… receipts VERB …`.
fn mutant(args: &[String]) -> ExitCode {
    let (mutation, call) = (args[0].as_str(), Call::new(&args[1..]));
    match (mutation, call.verb.as_str()) {
        ("altered-stream", "proxy") => proxy::altering(&call),
        ("key-in-the-sandbox", "proxy") => {
            let directory = call.file("--cert");
            let directory = directory.parent().unwrap_or(Path::new("/"));
            let key = directory.with_file_name("host").join("key");
            let _ = std::fs::copy(key, directory.join("daemon-key"));
            call.exec()
        }
        (mutation, "relay") if frames::is_mutation(mutation) => frames::relay(mutation, &call),
        (mutation, "export") if export::is_mutation(mutation) => export::export(mutation, &call),
        _ => call.exec(),
    }
}

/// A call of the real program.
struct Call {
    argv: Vec<String>,
    verb: String,
}

impl Call {
    fn new(argv: &[String]) -> Self {
        let at = argv.iter().position(|word| word == "receipts").unwrap_or_default();
        Self { argv: argv.to_vec(), verb: argv.get(at + 1).cloned().unwrap_or_default() }
    }

    /// The value after `flag`.
    fn file(&self, flag: &str) -> PathBuf {
        let at = self.argv.iter().position(|word| word == flag);
        at.and_then(|at| self.argv.get(at + 1)).map(PathBuf::from).unwrap_or_default()
    }

    /// Returns the call with another value after `flag`.
    fn with(&self, flag: &str, value: &str) -> Self {
        let mut argv = self.argv.clone();
        if let Some(at) = argv.iter().position(|word| word == flag) {
            value.clone_into(&mut argv[at + 1]);
        }
        Self { argv, verb: self.verb.clone() }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.argv[0]);
        command.args(&self.argv[1..]);
        command
    }

    /// Becomes the real program.
    fn exec(&self) -> ExitCode {
        eprintln!("mutant: {}", self.command().exec());
        ExitCode::FAILURE
    }
}
