//! Ordinary work with names held that do not exist, and without; and with each scope of events against
//! none, as interleaved ratios.
//!
//! Prints medians of pairs (A B B A) with an A/A control; `cargo bench --bench mediate -- [JOB]`. The work alone is timed, by the command
//! itself: start and end of a run are `benches/startup`'s business.

#![allow(clippy::unwrap_used, reason = "a bench fails by panicking")]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;

/// One kind of work.
struct Job {
    name: &'static str,
    /// Makes what the work needs, untimed and outside the sandbox.
    prepare: &'static str,
    work: &'static str,
    /// Pairs that are measured, unless `BOXPROOF_ROUNDS` says otherwise.
    rounds: usize,
    /// The ratio that must not be exceeded with names held.
    limit: f64,
}

/// The members of a request that differ between two runs of one job.
#[derive(Clone, Copy)]
struct RunVariant {
    protect: &'static str,
    events: &'static str,
}

const PLAIN: RunVariant = RunVariant { protect: "none", events: "mediated" };
const HELD: RunVariant = RunVariant { protect: "metadata", ..PLAIN };
const LIGHT: RunVariant = RunVariant { events: "light", ..PLAIN };
const ALL: RunVariant = RunVariant { events: "all", ..PLAIN };

/// The ratio that looks at calls of work that is not refused must not exceed, for runs that do not ask
/// for every look.
const LIGHT_LIMIT: f64 = 1.05;

const JOBS: [Job; 5] = [
    Job {
        name: "git add + commit, 200 files",
        prepare: "git init -q repo && for i in $(seq 200); do echo \"text $i\" > repo/f$i; done",
        work: "cd repo && git add . && git -c user.name=b -c user.email=b@example.invalid commit -qm m",
        rounds: 20,
        limit: 2.0,
    },
    Job {
        name: "compile 20 C files and link",
        prepare: "for i in $(seq 20); do printf '#include <stdio.h>\\n#include <stdlib.h>\\nint f%s(int x){printf(\"%%d\",x);return x;}\\n' $i > f$i.c; done
            echo 'int main(void){return 0;}' > main.c",
        work: "for f in *.c; do cc -O1 -c $f || exit 1; done; cc -o prog *.o && ./prog",
        rounds: 5,
        limit: 1.15,
    },
    Job {
        name: "tar x, 5,000 files",
        prepare: "mkdir src && for i in $(seq 50); do mkdir src/d$i; for j in $(seq 100); do echo \"text $j\" > src/d$i/f$j; done; done
            tar cf a.tar src && rm -r src && sync -f a.tar",
        work: "tar xf a.tar",
        rounds: 10,
        limit: 2.0,
    },
    Job {
        name: "read and write, 400,000 calls",
        prepare: "true",
        work: "dd if=/dev/zero of=/dev/null bs=1 count=200000 2>/dev/null",
        rounds: 20,
        limit: 1.1,
    },
    Job {
        name: "open for reading, 20,000 calls",
        prepare: "mkdir d && for i in $(seq 2000); do echo x > d/f$i; done",
        work: "for i in 1 2 3 4 5 6 7 8 9 10; do cat d/* > all; done",
        rounds: 20,
        limit: 1.1,
    },
];

/// A script that prints the time its work took, in nanoseconds.
const CLOCK: &str = "a=$(date +%s%N); { WORK\n} && b=$(date +%s%N) && echo $((b - a))";

/// Time that `job` takes, in a directory of its own.
fn timed(job: &Job, variant: RunVariant) -> Duration {
    let RunVariant { protect, events } = variant;
    let directory = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let root = directory.path().canonicalize().unwrap();
    let work = root.join("work");
    fs::create_dir(&work).unwrap();
    shell(&work, job.prepare);
    let command = CLOCK.replace("WORK", job.work);
    let request = json!({
        "protocol": 1,
        "policy": {"workspace": work, "protect": protect, "grants": ["git_metadata_write"]},
        "run": {
            "command": {"argv": ["bash", "-c", command]}, "cwd": work, "mechanism": "namespaces",
            "events": events,
        },
    });
    let file = root.join("request.json");
    fs::write(&file, request.to_string()).unwrap();
    let mut refbox = Command::new(env!("CARGO_BIN_EXE_refbox"));
    refbox.arg("run").arg("--request").arg(&file).arg("--result").arg(root.join("result.json"));
    let output = refbox.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}: {output:?}", job.name);
    let nanos = String::from_utf8(output.stdout).unwrap();
    Duration::from_nanos(nanos.trim().parse().unwrap())
}

fn shell(directory: &Path, line: &str) {
    let status = Command::new("bash").arg("-ec").arg(line).current_dir(directory).status().unwrap();
    assert!(status.success(), "{line}");
}

fn median(mut samples: Vec<Duration>) -> Duration {
    samples.sort();
    samples[samples.len() / 2]
}

/// Median times of both, interleaved A B B A.
fn pairs(job: &Job, a: RunVariant, b: RunVariant) -> [Duration; 2] {
    let asked = std::env::var("BOXPROOF_ROUNDS").ok();
    let rounds = asked.and_then(|text| text.parse().ok()).unwrap_or(job.rounds);
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..rounds {
        let order = if round % 2 == 0 { [(0, a), (1, b)] } else { [(1, b), (0, a)] };
        for (which, variant) in order {
            times[which].push(timed(job, variant));
        }
    }
    times.map(median)
}

/// Returns the median of `with` over that of the plain run, printed in a line with both.
fn ratio(job: &Job, what: &str, with: RunVariant, limit: f64) -> f64 {
    let [with, plain] = pairs(job, with, PLAIN);
    let ratio = with.as_secs_f64() / plain.as_secs_f64();
    println!("{:<32} {what:<6} {with:>10.2?} {plain:>10.2?} {ratio:>6.2} {limit:>6.2}", job.name);
    ratio
}

/// Measures and prints; fails where a ratio exceeds its limit.
pub(crate) fn main() {
    println!("{:<32} {:<6} {:>10} {:>10} {:>6} {:>6}", "", "", "with", "without", "ratio", "limit");
    let only = std::env::args().skip(1).find(|word| !word.starts_with("--"));
    let mut over = Vec::new();
    for job in JOBS.iter().filter(|job| only.as_ref().is_none_or(|word| job.name.contains(word))) {
        // The last two only tell: an A/A control, and what a caller asked for.
        for (what, with, limit) in [
            ("held", HELD, job.limit),
            ("light", LIGHT, LIGHT_LIMIT),
            ("all", ALL, f64::INFINITY),
            ("A/A", PLAIN, f64::INFINITY),
        ] {
            if ratio(job, what, with, limit) > limit {
                over.push(format!("{}, {what}", job.name));
            }
        }
    }
    assert!(over.is_empty(), "too slow: {over:?}");
}
