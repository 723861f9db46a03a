//! 200 cases that wait out a grace of five seconds beside 500 short ones: the run takes little more
//! than one grace, or than the processor time of it all. `cargo bench --bench grace`.
#![allow(clippy::unwrap_used, reason = "a bench fails by panicking")]

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use criterion::Criterion;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

const GRACE: usize = 200;
const SHORT: usize = 500;
const ROUNDS: usize = 3;
/// The time of one grace case, its own second included.
const LONGEST: Duration = Duration::from_secs(6);
const LIMIT: f64 = 1.10;

fn main() {
    let directory = tempfile::Builder::new().tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let corpus = directory.path().join("corpus");
    write_corpus(&corpus);
    let mut took = Vec::new();
    println!("{GRACE} grace cases beside {SHORT} short ones, {ROUNDS} rounds");
    for _ in 0..ROUNDS {
        let (wall, ratio) = run(&corpus, &directory.path().join("scratch"));
        let verdict = if ratio <= LIMIT { "holds" } else { "BROKEN" };
        println!("  {wall:.2?}  {ratio:.2}x  (limit {LIMIT:.2}x: {verdict})");
        took.push(wall);
    }
    let mut next = took.iter().cycle();
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(1))
        .measurement_time(Duration::from_millis(1))
        .without_plots();
    criterion.bench_function("grace/run", |bencher| {
        bencher.iter_custom(|rounds| next.by_ref().take(rounds as usize).sum());
    });
}

fn write_corpus(corpus: &Path) {
    std::fs::create_dir_all(corpus.join("exec")).unwrap();
    std::fs::create_dir_all(corpus.join("requirements")).unwrap();
    let requirement = "R-bench: {text: A command runs., source: this bench, polarity: positive}\n";
    std::fs::write(corpus.join("requirements/bench.yaml"), requirement).unwrap();
    let write = |name: String, case: &str| {
        let case = format!("purpose: Command {name} runs.\nrequirement: R-bench\n{case}\n");
        std::fs::write(corpus.join(format!("exec/{name}.yaml")), case).unwrap();
    };
    let grace = "needs: [supervise.timeout, supervise.grace]\nrun: {timeout_ms: 500}\n\
        act: {sh: 'exec \"$PROBE\" --nonce $NONCE --limit=8 ignore --signal=TERM --ready'}\n\
        expect: {allowed: {}, exit: 124, compare: [], times: [{not_before: 5500}]}\n\
        control: {none: without a sandbox nothing ends it}";
    let short = "needs: [fs.write]\nact: {argv: [/bin/true]}\nexpect: {allowed: {}}";
    (0..GRACE).for_each(|at| write(format!("grace{at}"), grace));
    (0..SHORT).for_each(|at| write(format!("short{at}"), short));
}

/// Returns the wall time of a run, and its ratio to the least possible time.
fn run(corpus: &Path, scratch: &Path) -> (Duration, f64) {
    let before = processor_time();
    let begun = Instant::now();
    let output = Command::new(env!("CARGO_BIN_EXE_boxproof"))
        .args(["run", "--backend", "reference", "--cases"])
        .arg(corpus)
        .arg("--scratch")
        .arg(scratch)
        .output()
        .unwrap();
    let wall = begun.elapsed();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let bound = LONGEST.max((processor_time() - before) / u32::try_from(cores).unwrap());
    (wall, wall.as_secs_f64() / bound.as_secs_f64())
}

/// Returns the processor time of every child that was waited for so far.
fn processor_time() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
    let total = (usage.user_time() + usage.system_time()).num_microseconds();
    Duration::from_micros(u64::try_from(total).unwrap())
}
