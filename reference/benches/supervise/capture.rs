//! Capturing 1 GiB: throughput against the standard library's `output()`, and peak memory.

use std::process::{Command, Stdio};

use boxproof_reference::process::{
    CAPTURE_CAP, ProcessRequest, ProcessStdin, Unsandboxed, run_process,
};
use criterion::Criterion;

use crate::pairs;

/// The arguments that make this program capture once, and say its peak memory.
pub(crate) const OURS: &str = "__capture";
pub(crate) const STD: &str = "__output";

const BYTES: u64 = 1 << 30;
const ROUNDS: usize = 7;
/// The memory that may be used besides the captured bytes.
const SLACK: u64 = 8 << 20;

fn argv() -> [String; 3] {
    ["head".to_owned(), format!("-c{BYTES}"), "/dev/zero".to_owned()]
}

/// Captures by `run_process`.
pub(crate) fn ours() {
    let mut request = ProcessRequest::new(&argv()[0]).args(&argv()[1..]);
    request.stdin = ProcessStdin::Null;
    let result = run_process(request, &Unsandboxed).unwrap();
    assert!(result.success && result.truncated[0], "1 GiB came");
    println!("{}", peak());
}

/// Captures by the standard library.
pub(crate) fn by_std() {
    let output = Command::new(&argv()[0]).args(&argv()[1..]).output().unwrap();
    assert_eq!(output.stdout.len() as u64, BYTES);
    println!("{}", peak());
}

/// The most memory this process ever held, in bytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

/// Runs this program once and returns its peak.
fn child(how: &str) -> u64 {
    let mut command = Command::new("/proc/self/exe");
    let output = command.arg(how).stdin(Stdio::null()).stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
}

/// Prints the table.
pub(crate) fn table(criterion: &mut Criterion) {
    let variants = vec![
        pairs::Variant::new("run_process", || assert!(child(OURS) > 0)),
        pairs::Variant::new("output()", || assert!(child(STD) > 0)),
    ];
    let ratios = pairs::compare(criterion, "capture of 1 GiB", ROUNDS, variants);
    println!("  at least 2.00x as fast as output(): {}", crate::verdict(2.0, ratios[1]));
    let (peak, limit) = (child(OURS), 2 * CAPTURE_CAP as u64 + SLACK);
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    println!(
        "  peak {:.1} MiB, of output() {:.1} MiB (limit {:.0} MiB: {})",
        mib(peak),
        mib(child(STD)),
        mib(limit),
        crate::verdict(peak as f64, limit as f64)
    );
}
