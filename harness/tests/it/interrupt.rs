//! Ending a run in the middle: nothing is left, for every signal and every user. And a
//! worker that dies costs one case, not the run.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader};
use std::os::fd::AsFd;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::support::{BOXPROOF, Place, WORKS, has};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, mkfifo};
use rstest::rstest;

/// The time that a run may take to clean up after a signal.
const CLEAN: Duration = Duration::from_secs(2);
/// The time that any other step may take before the test gives up.
const PATIENCE: Duration = Duration::from_secs(60);
/// An ordinary user, for which no account is needed.
const ORDINARY: u32 = 1500;

/// Says where it is, in words for the test, and then waits far longer than the test does: a
/// listener and a victim of the harness, a daemon of its own.
const WAITS: &str = "purpose: A command waits.
requirement: R-test
timeout_ms: 600000
policy: {writable: [PIPES], unix_sockets: [], network: {host: {}}}
act: {sh: 'setsid sh -c \"sleep 1000; :\" $NONCE & echo $TCP4 $VICTIM > PIPES/up; sleep 1000; :'}
expect: {allowed: {}}
control: {none: without a sandbox it waits just as long}
";

/// The user that runs the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum User {
    /// The user that runs the tests.
    Me,
    /// Root runs the tests, and an ordinary user the program.
    Ordinary,
}

/// A process that was seen, so that another one with its number is not taken for it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Process {
    pid: i32,
    parent: i32,
    started: String,
    command: String,
}

/// A run that is in the middle of an arm.
struct Running {
    child: Child,
    place: Place,
    pipe: BufReader<File>,
    run_id: Option<String>,
}

impl Running {
    /// Starts `boxproof run` on `cases` as `user`; its acts can say something on `PIPES/up`.
    fn start(user: User, backend: &str, cases: &[(&str, &str)]) -> Self {
        let place = Place::new();
        std::fs::set_permissions(place.path("."), PermissionsExt::from_mode(0o755)).unwrap();
        let pipes = place.path("pipes");
        for name in ["pipes", "home"] {
            std::fs::create_dir(place.path(name)).unwrap();
        }
        mkfifo(&pipes.join("up"), Mode::S_IRWXU).unwrap();
        for (id, text) in cases {
            let text = text.replace("PIPES", pipes.to_str().unwrap());
            place.write(&format!("corpus/{id}.yaml"), &text);
        }
        if user == User::Ordinary {
            for name in [".", "home", "pipes", "pipes/up"] {
                chown(place.path(name), Some(ORDINARY), Some(ORDINARY)).unwrap();
            }
        }
        // Open for both: a writer that ends must not end the stream for the next.
        let pipe = OpenOptions::new().read(true).write(true).open(pipes.join("up")).unwrap();
        let child = command(user, &place, backend).spawn().unwrap();
        Self { child, place, pipe: BufReader::new(pipe), run_id: None }
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed())
    }

    /// The next line that an act says; a run that ends before has failed.
    fn next_line(&mut self) -> String {
        let until = Instant::now() + PATIENCE;
        while self.pipe.buffer().is_empty() && !self.can_hear() {
            let said = || std::fs::read_to_string(self.place.path("said")).unwrap();
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none(), "{ended:?}: {}", said());
            assert!(Instant::now() < until, "no act came to run: {}", said());
        }
        let mut line = String::new();
        self.pipe.read_line(&mut line).unwrap();
        line
    }

    /// Returns whether a line comes within a moment.
    fn can_hear(&self) -> bool {
        let mut ready = [PollFd::new(self.pipe.get_ref().as_fd(), PollFlags::POLLIN)];
        poll(&mut ready, PollTimeout::from(100u8)).unwrap() == 1
    }

    /// Returns the run's identifier, as its directory shows it.
    fn run_id(&mut self) -> String {
        let mut entries = std::fs::read_dir(self.place.path("scratch")).unwrap();
        let id = entries.next().unwrap().unwrap().file_name().into_string().unwrap();
        assert!(id.starts_with("bx") && id.len() == 10, "{id}");
        self.run_id = Some(id.clone());
        id
    }

    /// Lists every process of the run: those with its identifier or the name of this place in the
    /// command line, as the program itself has it, and all that descend from them.
    fn processes(&self) -> BTreeSet<Process> {
        let place = self.place.path("").to_string_lossy().into_owned();
        let word = self.run_id.clone().unwrap_or_else(|| place.clone());
        let all = processes();
        let is_ours = |process: &&Process| {
            process.command.contains(&word) || process.command.contains(&place)
        };
        let mut found: BTreeSet<Process> = all.iter().filter(is_ours).cloned().collect();
        loop {
            let parents: BTreeSet<i32> = found.iter().map(|process| process.pid).collect();
            let before = found.len();
            found.extend(all.iter().filter(|p| parents.contains(&p.parent)).cloned());
            if found.len() == before {
                return found;
            }
        }
    }

    /// Waits for the program's end, for at most `limit`.
    fn ends_within(&mut self, limit: Duration) -> ExitStatus {
        let mut status = None;
        poll_until(limit, "the program ends", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap()
    }
}

impl Drop for Running {
    /// Ends the processes that a failed test would leave.
    fn drop(&mut self) {
        for process in self.processes() {
            let _ = kill(Pid::from_raw(process.pid), Signal::SIGKILL);
        }
        let _ = self.child.wait();
    }
}

fn command(user: User, place: &Place, backend: &str) -> Command {
    let mut command = match user {
        User::Me => Command::new(BOXPROOF),
        User::Ordinary => {
            let program = place.copy("boxproof");
            let id = ORDINARY.to_string();
            let mut command = Command::new("setpriv");
            command.args(["--reuid", &id, "--regid", &id, "--clear-groups", "--"]).arg(program);
            command
        }
    };
    let (cases, scratch) = (place.path("corpus"), place.path("scratch"));
    command.args(["run", "--backend", backend, "--jobs", "2", "--cases"]).arg(cases);
    command.arg("--scratch").arg(scratch).arg("--report").arg(place.path("record.ndjson"));
    command.current_dir("/").env("HOME", place.path("home"));
    let said = File::create(place.path("said")).unwrap();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said).process_group(0);
    command
}

/// Lists every process.
fn processes() -> BTreeSet<Process> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| process(entry.file_name().to_str()?.parse().ok()?)).collect()
}

/// The process called `pid`, unless it is dead and only waits to be reaped.
fn process(pid: i32) -> Option<Process> {
    let directory = PathBuf::from(format!("/proc/{pid}"));
    let stat = std::fs::read_to_string(directory.join("stat")).ok()?;
    let fields: Vec<_> = stat.rsplit_once(") ")?.1.split(' ').collect();
    let command = std::fs::read(directory.join("cmdline")).ok()?;
    let command = String::from_utf8_lossy(&command).replace('\0', " ");
    let started = (*fields.get(19)?).to_owned();
    (fields[0] != "Z").then_some(Process { pid, parent: fields[1].parse().ok()?, started, command })
}

/// Looks again and again until `done`, for at most `limit`.
fn poll_until(limit: Duration, what: &str, mut done: impl FnMut() -> bool) {
    let until = Instant::now() + limit;
    while !done() {
        assert!(Instant::now() < until, "not within {limit:?}: {what}");
        std::thread::yield_now();
    }
}

/// The sockets that listen on TCP: port and inode, which no later socket has.
fn listeners() -> BTreeMap<u16, String> {
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let listener = |line: &str| {
        let fields: Vec<_> = line.split_whitespace().collect();
        let port = fields[1].rsplit_once(':')?.1;
        let port = u16::from_str_radix(port, 16).ok()?;
        (fields[3] == "0A").then(|| (port, fields[9].to_owned()))
    };
    table.lines().skip(1).filter_map(listener).collect()
}

/// Checks that no process of `known` and none that carries `run_id` runs; no mount, no directory.
fn nothing_is_left(place: &Place, known: &BTreeSet<Process>, run_id: &str) {
    poll_until(CLEAN, "processes end", || {
        let now = processes();
        let same = |p: &Process| known.iter().any(|k| (k.pid, &k.started) == (p.pid, &p.started));
        !now.iter().any(|p| same(p) || p.command.contains(run_id))
    });
    poll_until(CLEAN, "the scratch directory goes", || !place.path("scratch").exists());
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounts.contains(run_id), "{mounts}");
}

/// The record has what was judged, and says that it is not all.
fn keeps_what_was_judged(place: &Place, signal: Signal) {
    let lines = place.record("record.ndjson");
    let by = signal.as_str();
    assert_eq!(lines.last().unwrap()["interrupted"], by, "{lines:#?}");
    let rows: Vec<_> = lines.iter().filter(|line| line["type"] == "case").collect();
    assert!(rows.iter().all(|row| row["id"] == "exec/works"), "{rows:#?}");
    let record = place.arg("record.ndjson");
    let page = place.run(&["report", &record]);
    // Without a case nothing was judged.
    let code = if rows.is_empty() { 4 } else { 0 };
    let page = page.exits(code).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(page.contains("NOT WHOLE: the run of"), "{page}");
    assert!(page.contains(&format!("was ended by {by}: {} of up to 2 rows", rows.len())), "{page}");
    has(&place.run(&["diff", &record, &record]).exits(2).stderr, "ended after");
}

/// Starts a run, waits until its act is running, sends `signal`, and looks for what is left.
fn interrupted(signal: Signal, user: User, backend: &str) {
    let mut run = Running::start(user, backend, &[("exec/waits", WAITS), ("exec/works", WORKS)]);
    let said = run.next_line();
    let (address, victim) = said.trim().split_once(' ').unwrap();
    let run_id = run.run_id();
    let known = run.processes();
    // The subject of the test is really there.
    let (_, port) = address.rsplit_once(':').unwrap();
    // Its port may be another's as soon as it is gone.
    let listener = listeners()[&port.parse().unwrap()].clone();
    assert!(known.iter().any(|p| p.pid.to_string() == victim), "{known:#?}");
    assert!(known.iter().any(|p| p.command.contains("sleep 1000; : bx")), "{known:#?}");
    assert!(known.len() >= 6, "{known:#?}");

    kill(run.pid(), signal).unwrap();
    let status = run.ends_within(CLEAN);
    nothing_is_left(&run.place, &known, &run_id);
    assert!(!listeners().values().any(|inode| *inode == listener), "its listener is left");
    if signal == Signal::SIGKILL {
        assert_eq!(status.signal(), Some(signal as i32));
    } else {
        assert_eq!(status.code(), Some(128 + signal as i32));
    }
    match signal {
        Signal::SIGKILL => {
            assert!(!run.place.path("record.ndjson").exists(), "none is left to write it");
        }
        _ => keeps_what_was_judged(&run.place, signal),
    }
}

#[rstest]
#[case(Signal::SIGINT)]
#[case(Signal::SIGTERM)]
#[case(Signal::SIGHUP)]
#[case(Signal::SIGKILL)]
fn a_run_that_is_ended_leaves_nothing(
    #[case] signal: Signal,
    #[values("none", "reference")] backend: &str,
) {
    interrupted(signal, User::Me, backend);
}

/// Where root runs the tests, both kinds of user are tested; otherwise the test above is the one
/// for an ordinary user already, and this one repeats it.
#[rstest]
#[case(Signal::SIGINT)]
#[case(Signal::SIGTERM)]
#[case(Signal::SIGKILL)]
fn a_run_of_an_ordinary_user_leaves_nothing(
    #[case] signal: Signal,
    #[values("none", "reference")] backend: &str,
) {
    let is_root = nix::unistd::geteuid().is_root();
    interrupted(signal, if is_root { User::Ordinary } else { User::Me }, backend);
}

/// A set-up command is cut short, so that what the manifest has placed goes before the worker does.
#[test]
fn a_run_that_is_ended_during_a_set_up_takes_placed_files_away() {
    let place = Place::new();
    let (placed, begun) = (place.path("placed/conf"), place.path("begun"));
    let manifest = format!(
        "name: box\nsummary: B.\nprogram: env\nrun_as: any\nclaims: all\nargv: '{{{{ command }}}}'\n\
         files: [{{path: {}, content: x}}]\nset_up: [\"sh\\n-c\\ntouch {}; sleep 1000; :\"]\n",
        placed.display(),
        begun.display()
    );
    let manifest = place.write("box.yaml", &manifest).display().to_string();
    let case = format!("{WORKS}timeout_ms: 600000\n");
    let mut run = Running::start(User::Me, &manifest, &[("exec/works", &case)]);
    poll_until(PATIENCE, "the set-up begins", || begun.exists());
    assert!(placed.exists());
    let (run_id, known) = (run.run_id(), run.processes());
    kill(run.pid(), Signal::SIGINT).unwrap();
    assert_eq!(run.ends_within(CLEAN).code(), Some(130));
    nothing_is_left(&run.place, &known, &run_id);
    assert!(!place.path("placed").exists());
}

/// Says its worker's process id, then waits.
const TELLS_ITS_WORKER: &str = "purpose: A command tells who runs it.
requirement: R-test
timeout_ms: 600000
act: {sh: 'echo $PPID > PIPES/up; sleep 1000; :'}
expect: {allowed: {}}
control: {none: without a sandbox it waits just as long}
";

#[test]
fn a_worker_that_is_killed_costs_one_case() {
    let second = WORKS.replace("says hello", "says hello, too");
    let cases =
        [("exec/waits", TELLS_ITS_WORKER), ("exec/works", WORKS), ("exec/zzz-works", &*second)];
    let mut run = Running::start(User::Me, "none", &cases);
    let (mut known, mut killed) = (BTreeSet::new(), BTreeSet::new());
    // A worker's death may be bad luck once; the second time the case is to blame.
    for _ in 0..2 {
        let worker = run.next_line().trim().parse::<i32>().unwrap();
        run.run_id();
        known.extend(run.processes());
        let its = process(worker).unwrap();
        assert_eq!(its.parent, run.pid().as_raw(), "{its:?}");
        assert!(killed.insert(worker), "the same worker again");
        kill(Pid::from_raw(worker), Signal::SIGKILL).unwrap();
    }
    let run_id = run.run_id();
    let status = run.ends_within(PATIENCE);
    let rows: Vec<_> =
        run.place.record("record.ndjson").into_iter().filter(|l| l["type"] == "case").collect();
    let verdicts: Vec<_> = rows
        .iter()
        .map(|row| format!("{} {}", row["id"], row["verdict"]).replace('"', ""))
        .collect();
    assert_eq!(verdicts, ["exec/waits error", "exec/works pass", "exec/zzz-works pass"]);
    let message = rows[0]["message"].as_str().unwrap();
    assert!(message.contains("its worker died") && message.contains("SIGKILL"), "{message}");
    assert_eq!(status.code(), Some(3));
    nothing_is_left(&run.place, &known, &run_id);
}
