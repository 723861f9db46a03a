//! Ordinary work with names held that do not exist, and without, as interleaved ratios.
//!
//! Prints medians of pairs (A B B A) with an A/A control. The work alone is timed, by the command
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
    /// The ratio that must not be exceeded.
    limit: f64,
}

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
fn timed(job: &Job, protect: &str) -> Duration {
    let directory = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let root = directory.path().canonicalize().unwrap();
    let work = root.join("work");
    fs::create_dir(&work).unwrap();
    shell(&work, job.prepare);
    let command = CLOCK.replace("WORK", job.work);
    let request = json!({
        "protocol": 1,
        "policy": {"workspace": work, "protect": protect, "grants": ["git_metadata_write"]},
        "run": {"command": {"argv": ["bash", "-c", command]}, "cwd": work, "mechanism": "namespaces"},
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
fn pairs(job: &Job, a: &str, b: &str) -> [Duration; 2] {
    let asked = std::env::var("BOXPROOF_ROUNDS").ok();
    let rounds = asked.and_then(|text| text.parse().ok()).unwrap_or(job.rounds);
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..rounds {
        let order = if round % 2 == 0 { [(0, a), (1, b)] } else { [(1, b), (0, a)] };
        for (which, protect) in order {
            times[which].push(timed(job, protect));
        }
    }
    times.map(median)
}

/// Measures and prints; fails where a ratio exceeds its limit.
pub(crate) fn main() {
    println!(
        "{:<32} {:>10} {:>10} {:>6} {:>6} {:>6}",
        "", "with", "without", "ratio", "A/A", "limit"
    );
    let only = std::env::args().skip(1).find(|word| !word.starts_with("--"));
    let mut over = Vec::new();
    for job in JOBS.iter().filter(|job| only.as_ref().is_none_or(|word| job.name.contains(word))) {
        let [with, without] = pairs(job, "metadata", "none");
        let [a, again] = pairs(job, "none", "none");
        let ratio = with.as_secs_f64() / without.as_secs_f64();
        let control = a.as_secs_f64() / again.as_secs_f64();
        let Job { name, limit, .. } = job;
        println!(
            "{name:<32} {with:>10.2?} {without:>10.2?} {ratio:>6.2} {control:>6.2} {limit:>6.2}"
        );
        if ratio > *limit {
            over.push(*name);
        }
    }
    assert!(over.is_empty(), "too slow: {over:?}");
}
