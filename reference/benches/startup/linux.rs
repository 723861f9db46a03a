//! The cost of a run on top of `bwrap` with the same mounts, as interleaved ratios.
//!
//! Prints medians of pairs (A B B A) with an A/A control, then lets criterion draw the same pairs.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    reason = "a bench fails by panicking, and criterion's macros make undocumented items"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group};
use serde_json::json;
use tempfile::TempDir;

/// Numbers of denied files.
const DENIED: [usize; 3] = [0, 100, 500];
/// Rounds of a printed comparison; `BOXPROOF_ROUNDS` overrides it.
const ROUNDS: usize = 60;

/// One policy, to be run by both.
struct MeasuredPolicy {
    directory: TempDir,
    denied: Vec<PathBuf>,
}

impl MeasuredPolicy {
    fn new(denied: usize) -> Self {
        let directory = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let work = directory.path().canonicalize().unwrap().join("work");
        fs::create_dir(&work).unwrap();
        let denied: Vec<PathBuf> = (0..denied).map(|n| work.join(format!("s{n}"))).collect();
        denied.iter().for_each(|path| fs::write(path, "secret").unwrap());
        let request = json!({
            "protocol": 1,
            "policy": {"workspace": work, "deny_read": denied},
            "run": {"command": {"argv": ["/bin/true"]}, "cwd": work, "mechanism": "namespaces"},
        });
        fs::write(directory.path().join("request.json"), request.to_string()).unwrap();
        Self { directory, denied }
    }

    fn work(&self) -> PathBuf {
        self.root().canonicalize().unwrap().join("work")
    }

    fn root(&self) -> &Path {
        self.directory.path()
    }

    /// The result goes to a name that is free, as a caller's does.
    fn refbox(&self) -> Command {
        let _not_there_yet = fs::remove_file(self.root().join("result.json"));
        let mut refbox = Command::new(env!("CARGO_BIN_EXE_refbox"));
        refbox.arg("run").arg("--request").arg(self.root().join("request.json"));
        refbox.arg("--result").arg(self.root().join("result.json"));
        refbox
    }

    /// Returns a `bwrap` command with the same namespaces and mounts.
    fn bwrap(&self) -> Command {
        let mut bwrap = Command::new("bwrap");
        bwrap.args(
            "--unshare-user --unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try \
             --unshare-net --die-with-parent --new-session --cap-drop ALL --ro-bind / / --dev /dev \
             --proc /proc --tmpfs /tmp --tmpfs /var/tmp --tmpfs /run --remount-ro /run \
             --tmpfs /dev/shm --remount-ro /dev"
                .split_whitespace(),
        );
        for knob in ["sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi", "mtrr"] {
            let knob = format!("/proc/{knob}");
            if Path::new(&knob).exists() {
                bwrap.args(["--ro-bind", &knob, &knob]);
            }
        }
        let work = self.work();
        bwrap.arg("--bind").args([&work, &work]);
        for path in &self.denied {
            bwrap.args(["--ro-bind", "/dev/null"]).arg(path);
        }
        bwrap.arg("--chdir").arg(work).arg("/bin/true");
        bwrap
    }
}

/// Time from spawn to exit.
fn timed(mut command: Command) -> Duration {
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let begun = Instant::now();
    let status = command.status().unwrap();
    let took = begun.elapsed();
    assert!(status.success(), "{command:?}");
    took
}

fn median(mut samples: Vec<Duration>) -> Duration {
    samples.sort();
    samples[samples.len() / 2]
}

/// Median times of both, interleaved A B B A.
fn pairs(a: impl Fn() -> Command, b: impl Fn() -> Command, rounds: usize) -> [Duration; 2] {
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..rounds {
        if round % 2 == 0 {
            times[0].push(timed(a()));
        }
        times[1].push(timed(b()));
        if round % 2 == 1 {
            times[0].push(timed(a()));
        }
    }
    times.map(median)
}

fn compare(name: &str, a: impl Fn() -> Command, b: impl Fn() -> Command, rounds: usize) {
    let [a, b] = pairs(a, b, rounds);
    println!("{name:<32} {a:>10.2?} {b:>10.2?}  ratio {:.3}", a.as_secs_f64() / b.as_secs_f64());
}

fn table() {
    let asked = std::env::var("BOXPROOF_ROUNDS").ok();
    let rounds = asked.and_then(|text| text.parse().ok()).unwrap_or(ROUNDS);
    for denied in DENIED {
        let fixture = MeasuredPolicy::new(denied);
        let bare = || Command::new("/bin/true");
        compare(
            &format!("{denied} denied: refbox/bwrap"),
            || fixture.refbox(),
            || fixture.bwrap(),
            rounds,
        );
        compare(&format!("{denied} denied: refbox/bare"), || fixture.refbox(), bare, rounds);
        compare(&format!("{denied} denied: A/A"), || fixture.refbox(), || fixture.refbox(), rounds);
    }
}

fn startup(criterion: &mut Criterion) {
    table();
    for denied in DENIED {
        let fixture = MeasuredPolicy::new(denied);
        let mut group = criterion.benchmark_group(format!("startup/{denied}"));
        group.sample_size(10);
        group.bench_function("refbox", |bencher| {
            bencher.iter_custom(|rounds| interleaved(&fixture, rounds)[0]);
        });
        group.bench_function("bwrap", |bencher| {
            bencher.iter_custom(|rounds| interleaved(&fixture, rounds)[1]);
        });
        group.finish();
    }
}

fn interleaved(fixture: &MeasuredPolicy, rounds: u64) -> [Duration; 2] {
    let mut sums = [Duration::ZERO; 2];
    for _ in 0..rounds {
        sums[0] += timed(fixture.refbox());
        sums[1] += timed(fixture.bwrap());
    }
    sums
}

criterion_group!(benches, startup);

/// Measures and prints.
pub(crate) fn main() {
    benches();
    Criterion::default().configure_from_args().final_summary();
}
