//! Runs with the proxy and without, as interleaved pairs: a run that does not use it, and downloads
//! and small requests through it against the host's network.
//!
//! Prints medians of pairs (A B B A) with an A/A control. A download is judged as users make one:
//! by a client that stores it in the workspace. What is thrown away as it comes is printed beside
//! it: that is no download, but what the proxy and the two cores have to themselves. `-- WORD`
//! measures only rows with that word.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::TempDir;

use crate::origin;
use crate::rows::{self, Limit, Ran, STORED};

/// A request in a directory of its own.
struct EgressRequest {
    directory: TempDir,
}

impl EgressRequest {
    fn for_measured_run(Ran { network, argv }: &Ran) -> Self {
        let directory = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let work = directory.path().canonicalize().unwrap().join("work");
        fs::create_dir(&work).unwrap();
        let request = json!({
            "protocol": 1,
            "policy": {"workspace": work, "network": network},
            "run": {"command": {"argv": argv}, "cwd": work, "mechanism": "namespaces"},
        });
        fs::write(directory.path().join("request.json"), request.to_string()).unwrap();
        Self { directory }
    }

    fn root(&self) -> &Path {
        self.directory.path()
    }

    /// Time from spawn to exit, or what the command itself says that it took.
    fn timed(&self) -> Duration {
        for name in [Path::new("result.json"), &Path::new("work").join(STORED)] {
            let _not_there_yet = fs::remove_file(self.root().join(name));
        }
        let mut refbox = Command::new(env!("CARGO_BIN_EXE_refbox"));
        refbox.arg("run").arg("--request").arg(self.root().join("request.json"));
        refbox.arg("--result").arg(self.root().join("result.json"));
        let begun = Instant::now();
        let output = refbox.stdin(Stdio::null()).output().unwrap();
        let took = begun.elapsed();
        assert!(output.status.success(), "{output:?}");
        let said = String::from_utf8(output.stdout).unwrap();
        said.trim().parse().map_or(took, Duration::from_secs_f64)
    }
}

/// Median times of both, interleaved A B B A; `BOXPROOF_ROUNDS` overrides the rounds.
fn pairs(a: &EgressRequest, b: &EgressRequest, rounds: usize) -> [Duration; 2] {
    let asked = std::env::var("BOXPROOF_ROUNDS").ok();
    let rounds = asked.and_then(|text| text.parse().ok()).unwrap_or(rounds);
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..rounds {
        let order = if round % 2 == 0 { [(0, a), (1, b)] } else { [(1, b), (0, a)] };
        for (which, fixture) in order {
            times[which].push(fixture.timed());
        }
    }
    times.map(|mut samples| {
        samples.sort();
        samples[samples.len() / 2]
    })
}

/// Prints a comparison and its control; both times.
fn compare(
    name: &str,
    with: &EgressRequest,
    without: &EgressRequest,
    rounds: usize,
) -> [Duration; 2] {
    let [a, b] = pairs(with, without, rounds);
    let [first, second] = pairs(without, without, rounds);
    let ratio = |a: Duration, b: Duration| a.as_secs_f64() / b.as_secs_f64();
    println!(
        "{name:<40} {a:>10.2?} {b:>10.2?}  ratio {:.3}  A/A {:.3}",
        ratio(a, b),
        ratio(first, second)
    );
    [a, b]
}

/// Returns whether a row is selected on the command line.
fn is_wanted(name: &str) -> bool {
    let mut words = std::env::args().skip(1).filter(|word| !word.starts_with('-')).peekable();
    words.peek().is_none() || words.any(|word| name.contains(&word))
}

/// Measures and prints; fails where a limit is exceeded.
pub(crate) fn main() {
    let mut over = Vec::new();
    for row in rows::all(origin::start()).into_iter().filter(|row| is_wanted(&row.name)) {
        let [with, without] = compare(
            &row.name,
            &EgressRequest::for_measured_run(&row.with),
            &EgressRequest::for_measured_run(&row.without),
            row.rounds,
        );
        let most = match row.limit {
            Limit::None => continue,
            Limit::Plus(time) => without + time,
            Limit::Times(ratio) => without.mul_f64(ratio),
        };
        over.extend((with > most).then_some(row.name));
    }
    assert!(over.is_empty(), "too slow: {over:?}");
}
