//! The delay between a command's last act and the return of the call.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use boxproof_reference::process::{
    ProcessOutput, ProcessRequest, ProcessResult, ProcessStdin, Unsandboxed, run_process,
};
use criterion::Criterion;
use nix::time::{ClockId, clock_gettime};

use crate::pairs;

/// The argument that makes this program say when it ends.
pub(crate) const STAMP: &str = "__stamp";
/// The interval of a supervisor that polls.
const POLL: Duration = Duration::from_millis(100);
/// The lifetime of the command before it writes its end time.
const LIFE: Duration = Duration::from_millis(5);
/// Pairs for the wait by the kernel, and for the one that polls.
const ROUNDS: usize = 201;

/// Nanoseconds of the clock that all processes share.
fn now() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).unwrap();
    Duration::from(now).as_nanos() as u64
}

/// The command: lives a little, writes when it is over to the file of its next argument, and ends.
pub(crate) fn stamp() {
    let file = std::env::args_os().nth(2).unwrap();
    let mut file = File::options().write(true).open(file).unwrap();
    let deadline = Instant::now() + LIFE;
    while let Some(left) = deadline.checked_duration_since(Instant::now()) {
        std::thread::sleep(left);
    }
    file.write_all(&now().to_ne_bytes()).unwrap();
}

/// The file that the command writes to: no stream of its own, whose reader it would wake up.
struct Stamp(tempfile::NamedTempFile);

impl Stamp {
    fn new() -> Self {
        Self(tempfile::NamedTempFile::new().unwrap())
    }

    fn args(&self) -> [&OsStr; 2] {
        [STAMP.as_ref(), self.0.path().as_os_str()]
    }

    fn command(&self) -> Command {
        let mut command = Command::new("/proc/self/exe");
        command.args(self.args()).stdin(Stdio::null());
        command
    }

    /// The time from what was written to now.
    fn age(&self) -> Duration {
        let now = now();
        let mut written = [0; 8];
        self.0.as_file().read_exact_at(&mut written, 0).unwrap();
        Duration::from_nanos(now - u64::from_ne_bytes(written))
    }
}

/// Blocks in waitpid(2).
fn blocking() -> Duration {
    let stamp = Stamp::new();
    let mut child = stamp.command().spawn().unwrap();
    let ended = child.wait().unwrap();
    let age = stamp.age();
    assert!(ended.success());
    age
}

fn polling() -> Duration {
    let stamp = Stamp::new();
    let mut child = stamp.command().spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(10);
    while child.try_wait().unwrap().is_none() && Instant::now() < deadline {
        std::thread::sleep(POLL);
    }
    stamp.age()
}

/// The time to the call's return, when nothing is left of the command and what held it.
fn returned() -> Duration {
    supervised(|_| Duration::ZERO)
}

/// The time to when the command's end was known.
fn time_to_exit_known() -> Duration {
    supervised(|result| result.ended_at.unwrap().elapsed())
}

/// The time to the call's return, less what `later` makes of the result.
fn supervised(later: fn(&ProcessResult) -> Duration) -> Duration {
    let stamp = Stamp::new();
    let mut request = ProcessRequest::new(std::env::current_exe().unwrap()).args(stamp.args());
    request.stdin = ProcessStdin::Null;
    request.output = ProcessOutput::PassThrough;
    let result = run_process(request, &Unsandboxed).unwrap();
    let (age, later) = (stamp.age(), later(&result));
    assert!(result.success, "{result:?}");
    age - later
}

/// Prints the table.
pub(crate) fn table(criterion: &mut Criterion) {
    let variants = vec![
        pairs::Variant::measured("blocking waitpid", blocking),
        pairs::Variant::measured("run_process: seen", time_to_exit_known),
        pairs::Variant::measured("run_process: nothing left", returned),
    ];
    let ratios = pairs::compare(criterion, "exit", ROUNDS, variants);
    println!("  limit 1.20x for `seen`: {}", crate::verdict(ratios[1], 1.2));
    let variants = vec![
        pairs::Variant::measured("run_process: nothing left", returned),
        pairs::Variant::measured("poll of 100 ms", polling),
    ];
    pairs::compare(criterion, "exit seen by polling", 21, variants);
}
