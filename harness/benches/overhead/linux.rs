//! Overhead of the harness: a run of many trivial cases against a bare loop over the same processes
//! on all cores, sweep on. Ratio of one run; `cargo bench --bench overhead`.
#![allow(clippy::unwrap_used, reason = "what cannot be set up is not measured")]
#![expect(clippy::unwrap_used, reason = "a bench that cannot start has nothing to measure")]

#[path = "../pairs/mod.rs"]
mod pairs;

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use boxproof_cases::protocol::{self, PROTOCOL, Policy, Run, RunRequest};
use pairs::{Variant, compare, criterion};

const CASES: usize = 300;
const ROUNDS: usize = 5;

/// Measures and prints.
pub(crate) fn main() {
    let me = Path::new(env!("CARGO_BIN_EXE_boxproof"));
    let directory = tempfile::Builder::new().tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let corpus = directory.path().join("corpus");
    write_corpus(&corpus);
    let starts = bare_starts(me, directory.path());
    // The question that a run asks before all cases.
    let question = || {
        let mut command = Command::new(me);
        let command = command.args(["reference", "capabilities"]).stdin(Stdio::null());
        assert!(command.output().unwrap().status.success());
    };
    let mut criterion = criterion();
    let harness = || {
        let output = Command::new(me)
            .args(["run", "--backend", "reference", "--cases"])
            .arg(&corpus)
            .arg("--scratch")
            .arg(directory.path().join("scratch"))
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    };
    let bare = || {
        question();
        on_all_cores(&starts);
    };
    let variants = vec![Variant::new("bare loop", bare), Variant::new("harness", harness)];
    compare(&mut criterion, "overhead", ROUNDS, variants);
}

/// Cases that cost nothing themselves: one control and one confined arm each.
fn write_corpus(corpus: &Path) {
    std::fs::create_dir_all(corpus.join("bench")).unwrap();
    std::fs::create_dir_all(corpus.join("requirements")).unwrap();
    let requirement = "R-bench: {text: A command runs., source: this bench, polarity: positive}\n";
    std::fs::write(corpus.join("requirements/bench.yaml"), requirement).unwrap();
    for at in 0..CASES {
        let case = format!(
            "purpose: Command {at} runs.\nrequirement: R-bench\nneeds: [fs.write]\n\
             act: {{argv: [/bin/true]}}\nexpect: {{allowed: {{}}}}\n"
        );
        std::fs::write(corpus.join(format!("bench/c{at}.yaml")), case).unwrap();
    }
}

/// Returns the command lines of the processes without a harness.
fn bare_starts(me: &Path, directory: &Path) -> Vec<Vec<std::ffi::OsString>> {
    let workspace = directory.join("ws");
    std::fs::create_dir_all(&workspace).unwrap();
    let run = Run::new(protocol::Command::Argv(vec!["/bin/true".into()]), workspace.clone());
    let request = RunRequest { protocol: PROTOCOL, policy: Policy::new(workspace), run };
    let file = directory.join("request.json");
    std::fs::write(&file, serde_json::to_vec(&request).unwrap()).unwrap();
    let mut starts = Vec::new();
    for at in 0..CASES {
        starts.push(vec!["/bin/true".into()]);
        let result = directory.join(format!("result-{at}.json"));
        let argv = ["reference", "run", "--request"].map(std::ffi::OsString::from);
        let mut argv: Vec<_> = std::iter::once(me.as_os_str().to_owned()).chain(argv).collect();
        argv.extend([file.clone().into(), "--result".into(), result.into()]);
        starts.push(argv);
    }
    starts
}

fn on_all_cores(starts: &[Vec<std::ffi::OsString>]) {
    let next = AtomicUsize::new(0);
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while let Some(argv) = starts.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let mut command = Command::new(&argv[0]);
                    let command = command.args(&argv[1..]).stdin(Stdio::null());
                    assert!(command.output().unwrap().status.success());
                }
            });
        }
    });
}
