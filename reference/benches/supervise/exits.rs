//! How soon the end of a command is seen: the time from its last act to the return of the call.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use boxproof_reference::supervise::{ProcessRequest, ProcessStdin, Unsandboxed, run_process};
use criterion::Criterion;
use nix::time::{ClockId, clock_gettime};

use crate::pairs;

/// The argument that makes this program say when it ends.
pub(crate) const STAMP: &str = "__stamp";
/// What a supervisor that polls waits between two looks.
const POLL: Duration = Duration::from_millis(100);
/// How long the command lives before it says when it ends.
const LIFE: Duration = Duration::from_millis(5);
/// Pairs for the wait by the kernel, and for the one that polls.
const ROUNDS: usize = 61;

/// Nanoseconds of the clock that all processes share.
fn now() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).unwrap();
    Duration::from(now).as_nanos() as u64
}

/// The command: lives a little, says when it is over, and ends.
pub(crate) fn stamp() {
    let deadline = Instant::now() + LIFE;
    while let Some(left) = deadline.checked_duration_since(Instant::now()) {
        std::thread::sleep(left);
    }
    println!("{}", now());
}

fn since(said: &[u8]) -> Duration {
    let returned = now();
    let said: u64 = std::str::from_utf8(said).unwrap().trim().parse().unwrap();
    Duration::from_nanos(returned - said)
}

fn command() -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg(STAMP).stdin(Stdio::null()).stdout(Stdio::piped());
    command
}

/// Blocks in waitpid(2) and reads what was said afterwards.
fn blocking() -> Duration {
    let mut child = command().spawn().unwrap();
    assert!(child.wait().unwrap().success());
    let returned = now();
    let said = child.wait_with_output().unwrap().stdout;
    since(&said) - Duration::from_nanos(now() - returned)
}

fn polling() -> Duration {
    let mut child = command().spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(10);
    while child.try_wait().unwrap().is_none() && Instant::now() < deadline {
        std::thread::sleep(POLL);
    }
    since(&child.wait_with_output().unwrap().stdout)
}

fn supervised() -> Duration {
    let exe = std::env::current_exe().unwrap();
    let mut request = ProcessRequest::new(exe).args([STAMP]);
    request.stdin = ProcessStdin::Null;
    let result = run_process(request, &Unsandboxed).unwrap();
    assert!(result.success, "{result:?}");
    since(&result.stdout)
}

/// Prints the table.
pub(crate) fn table(criterion: &mut Criterion) {
    let variants = vec![
        pairs::Variant::measured("blocking waitpid", blocking),
        pairs::Variant::measured("run_process", supervised),
    ];
    let ratios = pairs::compare(criterion, "exit seen", ROUNDS, variants);
    println!("  limit 1.20x: {}", crate::verdict(ratios[1], 1.2));
    let variants = vec![
        pairs::Variant::measured("run_process", supervised),
        pairs::Variant::measured("poll of 100 ms", polling),
    ];
    pairs::compare(criterion, "exit seen by polling", 21, variants);
}
