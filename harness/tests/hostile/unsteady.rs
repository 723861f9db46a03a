//! Backends and runs that differ from one moment to the next: flaky, slow, crashing, stopped for a
//! while, killed beside others, and many runs at once.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::fd::AsFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::process::Child;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::context::{BOTH, FinishedRun, HELLO, HostileRow, OUTSIDE, RowContext};
use crate::short_host::accuses_no_one;

/// The time for which a run is stopped: longer than a job of its cases takes.
const STANDSTILL: Duration = Duration::from_secs(12);
/// The number of runs at once.
const RUNS: usize = 10;

/// A shell line that opens the policy of a request.
const OPENS: &str = r#"sed -i -E 's/"mode":"[a-z_]+"/"mode":"unconfined"/' "$request""#;

pub(crate) fn rows() -> Vec<HostileRow> {
    let row = |name, slow, check| HostileRow { name, users: BOTH, slow, check };
    vec![
        row("open-in-every-second-start", false, open_first as fn(&RowContext)),
        row("open-in-the-other-start", false, open_second),
        row("three-seconds-slower", false, slow),
        row("crashes-at-once", false, crashes),
        row("crashes-at-the-first-start", false, crashes_first),
        row("crashes-after-the-act", false, crashes_last),
        row("boss-killed-beside-others", false, killed_boss),
        row("boss-stopped-for-a-while", true, stopped_boss),
        row("ten-runs-at-once", true, ten_runs),
    ]
}

/// A backend that is the reference in every second start and confines nothing in the others; the
/// first start is open where `first` says so.
fn every_second(context: &RowContext, first: bool) -> String {
    let [one, other] = if first { [OPENS, ":"] } else { [":", OPENS] };
    let before =
        format!("if mkdir $STATE/odd 2>/dev/null; then {one}; else rmdir $STATE/odd; {other}; fi");
    context.native("flaky", &before, "")
}

/// Checks that a denial that opens once is a failure: it is not tried again until it passes.
fn open_first(context: &RowContext) {
    let ran = context.run_own(&every_second(context, true), &[OUTSIDE]);
    ran.is_bounded();
    assert_eq!((ran.verdict(OUTSIDE).as_str(), ran.code), ("under-block oracle", 1), "{ran:#?}");
}

/// Checks that a second look finds the start that the first one did not see.
fn open_second(context: &RowContext) {
    let own = context.own_cases(&[OUTSIDE]);
    let own: Vec<&str> = own.iter().map(String::as_str).chain(["--blind", "all"]).collect();
    let ran = context.run(&every_second(context, false), &own);
    ran.is_bounded();
    assert_eq!((ran.verdict(OUTSIDE).as_str(), ran.code), ("under-block blind", 1), "{ran:#?}");
}

/// Checks that a backend that takes three seconds to start is not accused.
fn slow(context: &RowContext) {
    let ran = context.run_own(&context.native("slow", "sleep 3", ""), &[HELLO, OUTSIDE]);
    ran.is_bounded();
    assert_eq!([HELLO, OUTSIDE].map(|id| ran.verdict(id)), ["pass", "pass"], "{ran:#?}");
    assert_eq!(ran.code, 0, "{ran:#?}");
}

/// A shell line by which the backend dies of a segmentation fault.
const CRASHES: &str = "kill -SEGV $$";

/// Checks that a crash before the act denies nothing.
fn crashes(context: &RowContext) {
    let ran = context.run_own(&context.native("crashes", CRASHES, ""), &[HELLO, OUTSIDE]);
    ran.is_bounded();
    let verdicts = [HELLO, OUTSIDE].map(|id| ran.verdict(id));
    assert_eq!(verdicts, ["over-block exit", "inconclusive no-record"], "{ran:#?}");
    assert_eq!(ran.code, 1, "{ran:#?}");
}

/// Checks that the try that crashed stays visible beside the one that passes.
fn crashes_first(context: &RowContext) {
    let before = format!("mkdir $STATE/first 2>/dev/null && {CRASHES}");
    let ran = context.run_own(&context.native("crashes", &before, ""), &[OUTSIDE]);
    ran.is_bounded();
    assert_eq!(ran.verdict(OUTSIDE), "pass", "{ran:#?}");
    let earlier = &ran.row(OUTSIDE)["earlier"][0];
    assert_eq!(earlier["reason"], "no-record", "{ran:#?}");
    assert!(ran.stdout.contains("1 flaky"), "{ran:#?}");
}

/// Checks that a crash after the act is the backend's failure, beside what its result says.
fn crashes_last(context: &RowContext) {
    let ran = context.run_own(&context.native("crashes", "", CRASHES), &[HELLO, OUTSIDE]);
    ran.is_bounded();
    let verdicts = [HELLO, OUTSIDE].map(|id| ran.verdict(id));
    assert_eq!(verdicts, ["over-block exit", "contract result"], "{ran:#?}");
}

/// Kills the main process while four arms of the second of three backends run: these end, nothing
/// is left, and another run beside it is whole.
fn killed_boss(context: &RowContext) {
    context.place.write("corpus/host/four.yaml", FOUR);
    let own = context.own_cases(&["host/four/*"]);
    let own: Vec<&str> = own.iter().map(String::as_str).collect();
    let main = "$(cut -d ' ' -f 4 /proc/$PPID/stat)";
    let holds = "for arm in 1 2 3; do mkdir $STATE/$arm 2>/dev/null && exec sleep 1000; done";
    let kills = context.backend("kills", &format!("{holds}\nkill -KILL {main}\nexec sleep 1000"));
    let mut args = context.arguments(&["none", &kills, "reference"], &own);
    let jobs = args.iter().position(|arg| arg == "--jobs").unwrap() + 1;
    args[jobs] = "4".to_owned();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let beside = context.arguments(&["reference"], &own);
    let beside: Vec<&str> = beside.iter().map(String::as_str).collect();
    let mut other = start_beside(context, &beside, 1);
    let ran =
        context.finish_while(context.command(&args), |_| assert!(other.wait().unwrap().success()));
    ran.is_bounded();
    assert_eq!((ran.code, ran.rows.len()), (128 + Signal::SIGKILL as i32, 0), "{ran:#?}");
    let record = std::fs::read_to_string(context.place.path(&record_of(1))).unwrap();
    assert_eq!(record.matches(r#""verdict":"pass""#).count(), 4, "{record}");
}

/// Four commands that say hello.
const FOUR: &str = "purpose: A command says hello ${time}.
requirement: R-test
act: {sh: echo hello}
expect: {allowed: {}, exit: 0}
control: {none: a shell can say hello}
rows:
  a: {with: {time: once}}
  b: {with: {time: again}}
  c: {with: {time: a third time}}
  d: {with: {time: a fourth time}}
";

/// Stops the main process alone for longer than its cases take: the workers' answers wait for it.
fn stopped_boss(context: &RowContext) {
    let main = "$(cut -d ' ' -f 4 /proc/$PPID/stat)";
    let boss = context.place.path("state/boss");
    nix::unistd::mkfifo(&boss, Mode::empty()).unwrap();
    std::fs::set_permissions(&boss, PermissionsExt::from_mode(0o666)).unwrap();
    let script = format!("if mkdir $STATE/first 2>/dev/null; then echo {main} > $STATE/boss; fi");
    let spec = context.native("stops", &script, "");
    let own = context.own_cases(&[HELLO, OUTSIDE]);
    let own: Vec<&str> = own.iter().map(String::as_str).collect();
    let args = context.arguments(&[&spec], &own);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let ran = context.finish_while(context.command(&args), stop_boss);
    ran.is_bounded();
    assert!(ran.seconds > STANDSTILL.as_secs_f64(), "it was not stopped: {ran:#?}");
    assert_eq!([HELLO, OUTSIDE].map(|id| ran.verdict(id)), ["pass", "pass"], "{ran:#?}");
}

/// Stops the process that the backend names for [`STANDSTILL`].
fn stop_boss(context: &RowContext) {
    let mut options = File::options();
    let options = options.read(true).custom_flags(libc::O_NONBLOCK);
    let named = options.open(context.place.path("state/boss")).unwrap();
    let mut fds = [PollFd::new(named.as_fd(), PollFlags::POLLIN)];
    assert_eq!(poll(&mut fds, PollTimeout::from(30_000_u16)), Ok(1), "no arm began");
    let mut line = String::new();
    BufReader::new(named).read_line(&mut line).unwrap();
    let boss = nix::unistd::Pid::from_raw(line.trim().parse().unwrap());
    let process = pidfd_open(Pid::from_raw(boss.as_raw()).unwrap(), PidfdFlags::empty()).unwrap();
    kill(boss, Signal::SIGSTOP).unwrap();
    let mut fds = [PollFd::new(process.as_fd(), PollFlags::POLLIN)];
    let standstill = PollTimeout::try_from(STANDSTILL).unwrap();
    assert_eq!(poll(&mut fds, standstill), Ok(0), "it ended while it was stopped");
    kill(boss, Signal::SIGCONT).unwrap();
}

/// Runs [`RUNS`] at once below one scratch directory: each passes, and the last one removes the
/// directory, which the first one made.
fn ten_runs(context: &RowContext) {
    let own = context.own_cases(&[HELLO, OUTSIDE]);
    let own: Vec<&str> = own.iter().map(String::as_str).collect();
    let args = context.arguments(&["reference"], &own);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let mut others: Vec<Child> = Vec::new();
    let ran = context.finish_while(context.command(&args), |context| {
        others = (1..RUNS).map(|number| start_beside(context, &args, number)).collect();
        others.iter_mut().for_each(|other| _ = other.wait().unwrap());
    });
    passes(&ran);
    ran.is_bounded();
    let codes: Vec<_> = others.iter_mut().map(|other| other.wait().unwrap().code()).collect();
    assert_eq!(codes, vec![Some(0); RUNS - 1]);
    for number in 1..RUNS {
        let record = std::fs::read_to_string(context.place.path(&record_of(number))).unwrap();
        assert_eq!(record.matches(r#""verdict":"pass""#).count(), 2, "{record}");
    }
}

#[track_caller]
fn passes(ran: &FinishedRun) {
    accuses_no_one(ran);
    assert_eq!([HELLO, OUTSIDE].map(|id| ran.verdict(id)), ["pass", "pass"], "{ran:#?}");
}

fn record_of(number: usize) -> String {
    format!("record-{number}.ndjson")
}

/// Starts a run like that of `args`, with a record of its own.
fn start_beside(context: &RowContext, args: &[&str], number: usize) -> Child {
    let record = context.place.arg(&record_of(number));
    let mut args = args.to_vec();
    let at = args.iter().position(|arg| *arg == "--report").unwrap() + 1;
    args[at] = &record;
    context.command(&args).spawn().unwrap()
}
