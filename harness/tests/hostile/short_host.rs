//! Hosts that are short of a resource: the failure of an honest backend there is the host's fault,
//! and a backend that only says so is not excused.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};

use crate::baseline::{ALLOWED, DENIED};
use crate::context::{BOTH, FinishedRun, HostileRow, ROOT, RowContext, User};
use crate::support::fakes::verdict;

/// Cases of several kinds, which all pass on a host that is short of nothing.
pub(crate) const CASES: &[&str] = &[
    "exec/exit-codes/*",
    "fs/create-outside/*",
    "fs/write-outside/*",
    "protect/git-write/*",
    "work/names/*",
];

/// The time of a standstill, longer than what the harness takes for one.
const STALL: Duration = Duration::from_secs(12);
/// One that is longer than every deadline of a case.
const LONG_STALL: Duration = Duration::from_secs(27);

/// The words for one row of the table.
type Row = (&'static str, &'static [User], bool, fn(&RowContext));

const ROWS: &[Row] = &[
    ("host-descriptors-16", BOTH, false, |context| limited(context, "ulimit -n 16", true)),
    ("host-descriptors-128", BOTH, false, |context| limited(context, "ulimit -n 128", true)),
    ("host-descriptors-256", BOTH, false, |context| limited(context, "ulimit -n 256", false)),
    ("host-file-size", BOTH, false, |context| limited(context, "ulimit -f 20", true)),
    ("host-processes-1", &[User::Ordinary], false, |context| processes(context, 1)),
    ("host-processes-6", &[User::Ordinary], false, |context| processes(context, 6)),
    ("host-processes-12", &[User::Ordinary], false, |context| processes(context, 12)),
    ("host-processes-30", &[User::Ordinary], false, |context| processes(context, 30)),
    ("host-umask", BOTH, false, |context| limited(context, "umask 077", false)),
    ("host-closed-streams", BOTH, false, |context| limited(context, "exec <&- >&- 2>&-", false)),
    ("host-doctor", BOTH, false, doctor),
    ("host-unmapped-user", &[User::Ordinary], false, unmapped_user),
    ("host-scratch-almost-full", &[User::Ordinary], false, almost_full),
    ("host-liar-about-space", BOTH, false, liar),
    ("host-processes-20-to-230", &[User::Ordinary], true, many_processes),
    ("host-memory", BOTH, false, |context| limited(context, "ulimit -v 300000", true)),
    ("host-pids-cgroup", &[User::Root], false, pids_cgroup),
    ("host-without-capabilities", &[User::Root], false, |context| without(context, "-all")),
    ("host-without-sys-admin", &[User::Root], false, |context| without(context, "-sys_admin")),
    ("host-processes-hidden", BOTH, false, |context| {
        in_mounts(context, "mount -t proc -o hidepid=2 proc /proc", false);
    }),
    ("host-proc-covered", BOTH, false, |context| {
        in_mounts(context, "mount -t tmpfs none /proc/sys", true);
    }),
    ("host-without-proc", BOTH, false, |context| {
        in_mounts(context, "mount -t tmpfs none /proc", true);
    }),
    ("host-without-temporary-files", BOTH, false, without_temporary),
    ("host-without-devices", BOTH, false, without_devices),
    ("host-filled-by-a-backend", &[User::Ordinary], true, fills_disk),
    ("host-frozen", &[User::Ordinary], true, |context| frozen(context, STALL)),
    ("host-frozen-for-27-s", BOTH, true, |context| frozen(context, LONG_STALL)),
    ("host-frozen-by-its-control-group", ROOT, true, frozen_group),
    ("host-nice", BOTH, false, nice),
];

pub(crate) fn rows() -> Vec<HostileRow> {
    let row =
        |(name, users, slow, check): &Row| HostileRow { name, users, slow: *slow, check: *check };
    ROWS.iter().map(row).collect()
}

/// Checks that no verdict accuses the reference, and that a row without a pass names the host or
/// taught nothing.
#[track_caller]
pub(crate) fn accuses_no_one(ran: &FinishedRun) {
    let accused: Vec<String> = ran
        .rows
        .iter()
        .filter(|row| {
            let verdict = row["verdict"].as_str().unwrap_or_default();
            ["under-block", "over-block", "contract", "leak"].contains(&verdict)
        })
        .map(|row| format!("{} {} {} {}", row["id"], row["verdict"], row["reason"], row["message"]))
        .collect();
    assert!(accused.is_empty(), "{accused:#?}\n{}", ran.stderr);
}

/// Returns whether a row names the host, and `resource` as what it is short of.
pub(crate) fn is_short_of(ran: &FinishedRun, resource: &str) -> bool {
    let told = format!("the host is short of {resource}");
    ran.rows.iter().any(|row| {
        row["reason"] == "host" && row["message"].as_str().is_some_and(|m| m.contains(&told))
    })
}

/// A run of [`CASES`] below a shell that has set a limit. Where `short`, it may end without rows,
/// with a sentence that says why.
fn limited(context: &RowContext, limit: &str, short: bool) {
    run_limited(context, limit, short);
}

fn run_limited(context: &RowContext, limit: &str, short: bool) -> FinishedRun {
    let args = context.arguments(&["reference"], CASES);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let ran = context.finish(context.below_shell(limit, &args));
    ran.is_bounded();
    accuses_no_one(&ran);
    match short {
        false => assert_eq!(ran.code, 0, "{}", ran.stderr),
        true if ran.rows.is_empty() => {
            assert!(
                ran.code != 0 && ran.stderr.contains("boxproof"),
                "{}: {}",
                ran.code,
                ran.stderr
            );
        }
        true => {}
    }
    ran
}

fn processes(context: &RowContext, count: u32) {
    limited(context, &format!("prlimit --pid $$ --nproc={count}:{count}"), true);
}

/// As many processes as some of the workers need and not all of them: more cases, more at once.
fn many_processes(context: &RowContext) {
    for count in [20, 35, 50, 100, 170, 230] {
        let limit = format!("prlimit --pid $$ --nproc={count}:{count}");
        let mut args = context.arguments(&["reference"], &["fs/deny-*/*", "fs/create-outside/*"]);
        let jobs = args.iter().position(|arg| arg == "--jobs").unwrap();
        args[jobs + 1] = "32".to_owned();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let ran = context.finish(context.below_shell(&limit, &args));
        accuses_no_one(&ran);
    }
}

/// A cgroup with few processes, where there is one.
fn pids_cgroup(context: &RowContext) {
    let parent = ["/sys/fs/cgroup/pids", "/sys/fs/cgroup"].map(Path::new);
    let Some(parent) = parent.into_iter().find(|path| path.join("cgroup.procs").exists()) else {
        return;
    };
    let group = parent.join(format!("boxproof-{}", std::process::id()));
    if std::fs::create_dir(&group).is_err() {
        return;
    }
    let mut short = Vec::new();
    for count in ["6", "7", "8"] {
        std::fs::write(group.join("pids.max"), count).unwrap();
        let limit = format!("echo $$ > {}/cgroup.procs", group.display());
        let ran = run_limited(context, &limit, true);
        short.push((count, is_short_of(&ran, "processes: the control group's limit")));
    }
    let _ = std::fs::remove_dir(&group);
    assert!(short.iter().any(|(_, is_short)| *is_short), "no limit bit: {short:?}");
}

/// Runs as root with only some of its capabilities.
fn without(context: &RowContext, capabilities: &str) {
    let wrapper = ["setpriv", "--bounding-set", capabilities, "--inh-caps", capabilities, "--"];
    let args = context.arguments(&["reference"], CASES);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let ran = context.finish(context.command_under(&wrapper, &args));
    accuses_no_one(&ran);
}

/// A run in a mount namespace of its own, after the shell line `line`.
fn in_mounts(context: &RowContext, line: &str, short: bool) {
    let args = context.arguments(&["reference"], CASES);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let ran = context.finish(context.in_own_mounts(line, &args));
    accuses_no_one(&ran);
    let due: &[i32] = if short { &[0, 3, 4] } else { &[0] };
    assert!(due.contains(&ran.code), "{}: {}", ran.code, ran.stderr);
}

/// Checks that the error names the missing directory, and not the program.
fn without_temporary(context: &RowContext) {
    let args = context.arguments(&["reference"], CASES);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let absent = context.place.arg("absent");
    let mut command = context.command(&args);
    command.env("TMPDIR", &absent);
    let ran = context.finish(command);
    ran.is_bounded();
    assert_eq!(ran.code, 2, "{ran:#?}");
    let told = ran.stderr.contains(&absent) && ran.stderr.contains("TMPDIR names another");
    assert!(told, "{ran:#?}");
}

/// Checks that the error names the missing device.
fn without_devices(context: &RowContext) {
    let args = context.arguments(&["reference"], CASES);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let ran = context.finish(context.in_own_mounts("mount -t tmpfs none /dev", &args));
    ran.is_bounded();
    assert!([2, 3].contains(&ran.code), "{ran:#?}");
    assert!(ran.stderr.contains("/dev/"), "{ran:#?}");
}

/// A user whose uid is not mapped may make no user namespace.
fn unmapped_user(context: &RowContext) {
    let args = context.arguments(&["reference"], CASES);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let plain = context.command(&args);
    let mut words: Vec<OsString> = plain.get_args().map(OsString::from).collect();
    let program = words.iter().rposition(|word| word == "run").unwrap() - 1;
    words.splice(program..program, ["unshare", "--user", "--"].map(OsString::from));
    let mut command = Command::new(plain.get_program());
    command.args(words);
    let ran = context.finish(context.as_prepared(command));
    accuses_no_one(&ran);
    assert_eq!(ran.code, 4, "no row is judged without a sandbox: {}", ran.stderr);
}

/// Puts scratch on a file system that has a few KiB left once the probe is there, or from the
/// start.
fn almost_full(context: &RowContext) {
    let scratch = context.place.arg("small");
    std::fs::create_dir(&scratch).unwrap();
    for kib in ["0", "4", "8", "12", "16", "20"] {
        let from_the_start = kib == "0";
        let wait = format!("until [ -s {scratch}/here/bx*/probe/boxprobe ]; do :; done");
        let wait = if from_the_start { ":" } else { &wait };
        let fill = format!(
            "mount -t tmpfs -o size=1g,mode=1777 small {scratch} && \
             ( {wait}; free=$(df --output=avail -k {scratch} | tail -1); \
               head -c $(( (free - {kib}) * 1024 )) /dev/zero > {scratch}/filler ) {}",
            if from_the_start { "" } else { "&" }
        );
        let mut args = context.arguments(&["reference"], CASES);
        let at = args.iter().position(|arg| arg == "--scratch").unwrap();
        args[at + 1] = format!("{scratch}/here");
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let ran = context.finish(context.in_own_mounts(&fill, &args));
        accuses_no_one(&ran);
        assert!(!from_the_start || ran.code == 3, "{}: {}", ran.code, ran.stderr);
    }
}

/// A backend that does nothing and says that the host is full.
fn liar(context: &RowContext) {
    let script = "echo 'No space left on device' >&2; exit 1";
    let ran = context.run(&context.backend("liar", script), &[ALLOWED, DENIED]);
    ran.is_bounded();
    assert_eq!(ran.verdict(ALLOWED), "contract no-trace", "{ran:#?}");
    assert_ne!(ran.verdict(DENIED), "pass", "{ran:#?}");
}

/// The whole run stands still for `stall`.
fn frozen(context: &RowContext, stall: Duration) {
    let args = context.arguments(&["reference"], &["exec/ended/*"]);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let ran = context.finish_while(context.command(&args), |context| freeze(context, stall));
    stood_still(&ran, stall);
}

#[track_caller]
fn stood_still(ran: &FinishedRun, stall: Duration) {
    ran.is_bounded();
    accuses_no_one(ran);
    assert!(ran.seconds > stall.as_secs_f64(), "it was not frozen: {ran:#?}");
}

/// Stops every process of the run, once an arm is there, for `stall`.
fn freeze(context: &RowContext, stall: Duration) {
    await_arm(context);
    let stopped = context.processes();
    assert!(!stopped.is_empty(), "no process of the run was found");
    stopped.iter().for_each(|(pid, _)| _ = kill(*pid, Signal::SIGSTOP));
    wait_until_deadline(Instant::now() + stall);
    stopped.iter().for_each(|(pid, _)| _ = kill(*pid, Signal::SIGCONT));
}

/// The same by the freezer of a control group, where there is one: no process can tell.
fn frozen_group(context: &RowContext) {
    let versions = [
        ("/sys/fs/cgroup/freezer", "freezer.state", ["FROZEN", "THAWED"]),
        ("/sys/fs/cgroup", "cgroup.freeze", ["1", "0"]),
    ];
    let is_there = |(parent, ..): &(&str, &str, _)| Path::new(parent).join("cgroup.procs").exists();
    let Some((parent, file, [frozen, thawed])) = versions.into_iter().find(is_there) else {
        return;
    };
    let group = Path::new(parent).join(format!("boxproof-frozen-{}", std::process::id()));
    if std::fs::create_dir(&group).is_err() {
        return;
    }
    let args = context.arguments(&["reference"], &["exec/ended/*"]);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let join = format!("echo $$ > {}/cgroup.procs", group.display());
    let ran = context.finish_while(context.below_shell(&join, &args), |context| {
        await_arm(context);
        std::fs::write(group.join(file), frozen).unwrap();
        wait_until_deadline(Instant::now() + LONG_STALL);
        std::fs::write(group.join(file), thawed).unwrap();
    });
    let _ = std::fs::remove_dir(&group);
    stood_still(&ran, LONG_STALL);
}

/// Waits until a process of an arm is there: the files of root's arms are in mounts of its own.
fn await_arm(context: &RowContext) {
    let deadline = Instant::now() + Duration::from_secs(30);
    let has_arm = || context.processes().iter().any(|(_, line)| line.contains("/arm/"));
    while !has_arm() {
        assert!(Instant::now() < deadline, "no arm began");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn wait_until_deadline(deadline: Instant) {
    while let Some(left) = deadline.checked_duration_since(Instant::now()) {
        std::thread::sleep(left);
    }
}

/// Checks that a nice value below that of the run is asked where it can be had, and blamed on none
/// elsewhere.
fn nice(context: &RowContext) {
    let case = "exec/limits-at-start/mask-and-limits";
    let args = context.arguments(&["reference", "bubblewrap"], &[case]);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let ran = context.finish(context.below_shell("renice -n 15 $$", &args));
    ran.is_bounded();
    // A run that judges nothing ends with 4.
    let (due, code) = match context.user {
        User::Root => ("pass", 0),
        User::Ordinary => ("not-applicable nice 5, below 15 of this process", 4),
    };
    let verdicts: Vec<_> = ran.rows.iter().map(verdict).collect();
    assert_eq!((verdicts, ran.code), (vec![due.to_owned(); 2], code), "{ran:#?}");
}

/// Checks that `doctor` reports the reason for which a run would be refused.
fn doctor(context: &RowContext) {
    let scratch = context.place.arg("scratch");
    let args = ["doctor", "--scratch", &scratch];
    let ran = context.finish(context.below_shell("ulimit -n 128", &args));
    ran.is_bounded();
    assert_eq!(ran.code, 0, "{ran:#?}");
    assert!(ran.stderr.contains("ulimit -n 1024"), "{ran:#?}");
}

/// A backend that fills the disk of an ordinary user is ended.
fn fills_disk(context: &RowContext) {
    let script = "head -c 6G /dev/zero > \"$HOME/large\"; exec sleep 600";
    let ran = context.run(&context.backend("filler", script), &[ALLOWED]);
    ran.is_bounded();
    assert_eq!(ran.verdict(ALLOWED), "error harness", "{ran:#?}");
    let message = ran.rows[0]["message"].as_str().unwrap();
    assert!(message.contains("more than 1024 MiB on disk"), "{message}");
}
