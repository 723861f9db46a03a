//! Context of a row: a place of its own for one user, a backend from a shell script, one run that
//! ends or is ended, and its leftovers. Main types: [`HostileRow`], [`RowContext`] and
//! [`FinishedRun`].

use std::fs::File;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Failed, Trial};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::{Pid, geteuid};
use serde_json::Value;

use crate::measure;
use crate::support::fakes::verdict;
use crate::support::{BOXPROOF, Place};

/// An ordinary user, for which no account is needed.
pub(crate) const ORDINARY: u32 = 1500;
/// The most memory that one process of a run may have.
const MEMORY_KIB: u64 = 300 << 10;
/// A run that takes longer hangs.
const DEADLINE: Duration = Duration::from_secs(90);
/// The time that processes may take to clean up after the program has ended.
const CLEAN: Duration = Duration::from_secs(5);
/// The variable that asks for slow rows.
const SLOW: &str = "BOXPROOF_HOSTILE";

/// The user that runs the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum User {
    Root,
    Ordinary,
}

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HostileRow {
    /// The name of the attempt, in kebab case; unique.
    pub(crate) name: &'static str,
    /// The users that can try it.
    pub(crate) users: &'static [User],
    /// True if it takes more than a few seconds.
    pub(crate) slow: bool,
    /// The attempt itself, with its assertions.
    pub(crate) check: fn(&RowContext),
}

/// A command that says hello.
pub(crate) const HELLO: &str = "host/hello";
const HELLO_CASE: &str = "purpose: A command says hello.
requirement: R-test
act: {sh: echo hello}
expect: {allowed: {}, exit: 0}
control: {none: a shell can say hello}
";
/// A file written outside the workspace; its confined arm is the second job of a run.
pub(crate) const OUTSIDE: &str = "host/outside";
const OUTSIDE_CASE: &str = "purpose: Writing outside the workspace is refused.
requirement: R-test-not
needs: [fs.write]
fixture: {$OUT/f: kept}
act: {probe: write, path: $OUT/f, text: evil}
expect: {denied: {errno: [EROFS, EACCES, EPERM]}, oracle: [{unchanged: $OUT/f}]}
twin: {none: the rows need no wider policy}
";

/// Both users.
pub(crate) const BOTH: &[User] = &[User::Root, User::Ordinary];
/// An ordinary user alone: root has no such limits.
pub(crate) const ORDINARY_ALONE: &[User] = &[User::Ordinary];
/// Root alone: for others the kernel refuses already.
pub(crate) const ROOT: &[User] = &[User::Root];

/// The context in which one row is tried.
pub(crate) struct RowContext {
    pub(crate) place: Place,
    pub(crate) user: User,
    summary_lines: Mutex<Vec<String>>,
}

/// A run that has ended.
#[derive(Debug)]
pub(crate) struct FinishedRun {
    /// Its exit code, 128+n for a signal.
    pub(crate) code: i32,
    /// The rows of its record; none where there is no record.
    pub(crate) rows: Vec<Value>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) seconds: f64,
    /// Kibibytes of its largest process.
    pub(crate) memory_kib: u64,
    /// Processes, mounts and scratch files that are there after it, one sentence each.
    pub(crate) residue: Vec<String>,
}

impl FinishedRun {
    /// Returns `verdict reason` of the case called `id`.
    #[track_caller]
    pub(crate) fn verdict(&self, id: &str) -> String {
        verdict(self.row(id))
    }

    /// The row of the case called `id`.
    #[track_caller]
    pub(crate) fn row(&self, id: &str) -> &Value {
        let row = self.rows.iter().find(|row| row["id"] == id);
        row.unwrap_or_else(|| panic!("no row of {id}: {self:#?}"))
    }

    /// Checks the limits of every row: bounded memory and nothing left.
    #[track_caller]
    pub(crate) fn is_bounded(&self) -> &Self {
        assert!(self.memory_kib <= MEMORY_KIB, "{} KiB of memory", self.memory_kib);
        assert!(self.residue.is_empty(), "left: {:#?}\n{}", self.residue, self.stderr);
        self
    }
}

impl RowContext {
    fn new(user: User) -> Self {
        let place = Place::new();
        std::fs::set_permissions(place.path("."), PermissionsExt::from_mode(0o755)).unwrap();
        for name in ["state", "home"] {
            std::fs::create_dir(place.path(name)).unwrap();
        }
        let context = Self { place, user, summary_lines: Mutex::default() };
        [".", "state", "home"].into_iter().for_each(|name| context.hand_over(name));
        if user == User::Ordinary && geteuid().is_root() {
            context.place.copy("boxproof");
        }
        context
    }

    /// Makes what is called `name` the user's own.
    pub(crate) fn hand_over(&self, name: &str) {
        if geteuid().is_root() && self.user == User::Ordinary {
            chown(self.place.path(name), Some(ORDINARY), Some(ORDINARY)).unwrap();
        }
    }

    /// Writes a corpus of two cases, [`HELLO`] and [`OUTSIDE`], which is loaded in no time; the
    /// arguments that select `ids` of it.
    pub(crate) fn own_cases(&self, ids: &[&str]) -> Vec<String> {
        self.place.write("corpus/host/hello.yaml", HELLO_CASE);
        self.place.write("corpus/host/outside.yaml", OUTSIDE_CASE);
        let all = ["--cases".to_owned(), self.place.arg("corpus")].into_iter();
        all.chain(ids.iter().map(|id| (*id).to_owned())).collect()
    }

    /// Runs cases `ids` of [`RowContext::own_cases`] against `spec`.
    #[track_caller]
    pub(crate) fn run_own(&self, spec: &str, ids: &[&str]) -> FinishedRun {
        let args = self.own_cases(ids);
        self.run(spec, &args.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// A backend that is a shell script: `$STATE` is a directory that outlives a run, `$@` the
    /// command. Returns what `--backend` takes.
    pub(crate) fn backend(&self, name: &str, script: &str) -> String {
        let text = script.replace("$STATE", &self.place.arg("state"));
        self.place.program(&format!("{name}.sh"), &format!("#!/bin/sh\n{text}\n"));
        let program = self.place.arg(&format!("{name}.sh"));
        self.place.write(
            &format!("{name}.yaml"),
            &format!(
                "name: {name}\nsummary: H.\nprogram: {program}\nargv: '{{{{ command }}}}'\nclaims: all\n\
                 files: [{{path: '{{{{ state }}}}/policy', content: '{{{{ policy | json }}}}'}}]\n"
            ),
        );
        self.place.arg(&format!("{name}.yaml"))
    }

    /// A native backend: the reference, around whose `run` the script `before` and `after` stand;
    /// they know `$request` and `$result`.
    pub(crate) fn native(&self, name: &str, before: &str, after: &str) -> String {
        let boxproof = match self.user == User::Ordinary && geteuid().is_root() {
            true => self.place.arg("boxproof"),
            false => BOXPROOF.to_owned(),
        };
        let text = format!(
            "#!/bin/sh\n[ \"$1\" = run ] || exec {boxproof} reference \"$@\"\n\
             request=$3 result=$5\n{before}\n{boxproof} reference \"$@\"\ncode=$?\n{after}\nexit $code\n"
        );
        let text = text.replace("$STATE", &self.place.arg("state"));
        self.place.program(name, &text);
        self.place.arg(name)
    }

    /// Returns the program with `args` as the user, not started yet; its output goes to files.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        self.command_under(&[], args)
    }

    /// Returns that command, started by the command line `wrapper`.
    pub(crate) fn command_under(&self, wrapper: &[&str], args: &[&str]) -> Command {
        let memory = self.place.path("memory");
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg(measure::VERB).arg(&memory);
        if self.user == User::Ordinary && geteuid().is_root() {
            let id = ORDINARY.to_string();
            command.args(["setpriv", "--reuid", &id, "--regid", &id, "--clear-groups", "--"]);
            command.args(wrapper).arg(self.place.path("boxproof"));
        } else {
            command.args(wrapper).arg(BOXPROOF);
        }
        let file = |name: &str| File::create(self.place.path(name)).unwrap();
        command.args(args).current_dir("/").env("HOME", self.place.path("home"));
        command.env_remove("XDG_CACHE_HOME").env_remove("SUDO_USER").process_group(0);
        command.stdin(Stdio::null()).stdout(file("stdout")).stderr(file("stderr"));
        command
    }

    /// The program with `args`, started by a shell after `line`.
    pub(crate) fn below_shell(&self, line: &str, args: &[&str]) -> Command {
        let plain = self.command(args);
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{line}\nexec \"$@\""), "sh"]);
        // The limit is the program's: the process that measures writes a file of its own.
        let mut words: Vec<_> = plain.get_args().map(std::ffi::OsStr::to_owned).collect();
        let program: Vec<_> = words.split_off(2);
        let mut measured = Command::new(plain.get_program());
        measured.args(words).arg(command.get_program()).args(command.get_args()).args(program);
        self.as_prepared(measured)
    }

    /// The program with `args` in a mount namespace of its own, after the shell line `line`.
    pub(crate) fn in_own_mounts(&self, line: &str, args: &[&str]) -> Command {
        let below = self.below_shell(line, args);
        let mut command = Command::new("unshare");
        command.args(["--mount", "--"]).arg(below.get_program()).args(below.get_args());
        self.as_prepared(command)
    }

    /// Gives `command` the directory, environment and streams of [`RowContext::command`].
    pub(crate) fn as_prepared(&self, mut command: Command) -> Command {
        let file = |name: &str| File::create(self.place.path(name)).unwrap();
        command.current_dir("/").env("HOME", self.place.path("home"));
        command.env_remove("XDG_CACHE_HOME").env_remove("SUDO_USER").process_group(0);
        command.stdin(Stdio::null()).stdout(file("stdout")).stderr(file("stderr"));
        command
    }

    /// Arguments of a run of `filters` against `specs`, its scratch directory and record in here.
    pub(crate) fn arguments(&self, specs: &[&str], filters: &[&str]) -> Vec<String> {
        let (scratch, record) = (self.place.arg("scratch"), self.place.arg("record.ndjson"));
        let mut args: Vec<String> =
            ["run", "--jobs", "2", "--scratch", &scratch, "--report"].map(str::to_owned).to_vec();
        args.push(record);
        for spec in specs {
            args.extend(["--backend".to_owned(), (*spec).to_owned()]);
        }
        if self.user == User::Root {
            args.extend(["--user", "root"].map(str::to_owned));
        }
        args.extend(filters.iter().map(|filter| (*filter).to_owned()));
        args
    }

    /// Runs `filters` against `spec` to its end; a run without end is a failure.
    #[track_caller]
    pub(crate) fn run(&self, spec: &str, filters: &[&str]) -> FinishedRun {
        let args = self.arguments(&[spec], filters);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        self.finish(self.command(&args))
    }

    /// Waits for `command` of [`RowContext::command`], and looks what it left.
    #[track_caller]
    pub(crate) fn finish(&self, command: Command) -> FinishedRun {
        self.finish_while(command, |_| {})
    }

    /// Runs `command` to its end; calls `meanwhile` once it has been started.
    #[track_caller]
    pub(crate) fn finish_while(
        &self,
        mut command: Command,
        meanwhile: impl FnOnce(&Self),
    ) -> FinishedRun {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        let started = Instant::now();
        let mut child = command.spawn().unwrap();
        let group = Pid::from_raw(child.id().cast_signed());
        meanwhile(self);
        let deadline = started + DEADLINE;
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if Instant::now() > deadline {
                let _ = killpg(group, Signal::SIGCONT);
                let _ = killpg(group, Signal::SIGKILL);
                let _ = child.wait();
                let left = self.residue(&mounts);
                panic!(
                    "it did not end within {DEADLINE:?}; left: {left:#?}\n{}",
                    self.read_stream("stderr")
                );
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let seconds = started.elapsed().as_secs_f64();
        let memory = std::fs::read_to_string(self.place.path("memory")).unwrap_or_default();
        let finished = FinishedRun {
            code: status.code().unwrap(),
            rows: self.rows(),
            stdout: self.read_stream("stdout"),
            stderr: self.read_stream("stderr"),
            seconds,
            memory_kib: memory.trim().parse().unwrap(),
            residue: self.residue(&mounts),
        };
        self.summarise(&finished);
        finished
    }

    fn rows(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.place.path("record.ndjson")).unwrap_or_default();
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.filter(|line| line["type"] == "case").collect()
    }

    fn read_stream(&self, stream: &str) -> String {
        let bytes = std::fs::read(self.place.path(stream)).unwrap_or_default();
        String::from_utf8_lossy(&bytes[..bytes.len().min(1 << 20)]).into_owned()
    }

    /// Lists the leftovers of this place. Processes are killed, so that the next row finds none.
    fn residue(&self, mounts: &str) -> Vec<String> {
        let mut left = Vec::new();
        let scratch = self.place.path("scratch");
        let deadline = Instant::now() + CLEAN;
        while (scratch.exists() || !self.processes().is_empty()) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        if scratch.exists() {
            left.push(format!("{}", scratch.display()));
        }
        for (pid, line) in self.processes() {
            left.push(format!("process {pid}: {line}"));
            let _ = nix::sys::signal::kill(pid, Signal::SIGKILL);
        }
        let now = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        let own = self.place.arg("");
        let new = now.lines().filter(|line| !mounts.contains(*line) && line.contains(&own));
        left.extend(new.map(|line| format!("mount: {line}")));
        left
    }

    /// Lists every process that has this place in its command line or environment.
    pub(crate) fn processes(&self) -> Vec<(Pid, String)> {
        let own = self.place.arg("");
        let mut found = Vec::new();
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            let at = PathBuf::from(format!("/proc/{pid}"));
            let read = |name: &str| std::fs::read(at.join(name)).unwrap_or_default();
            let (line, env) = (read("cmdline"), read("environ"));
            let carries = [&line, &env].iter().any(|b| String::from_utf8_lossy(b).contains(&own));
            if carries && !is_dead(&at) {
                let line = String::from_utf8_lossy(&line).replace('\0', " ");
                found.push((Pid::from_raw(pid), line));
            }
        }
        found
    }

    /// Puts what came of a run into the table.
    fn summarise(&self, finished: &FinishedRun) {
        let verdicts: Vec<String> = finished.rows.iter().take(3).map(verdict).collect();
        let left = if finished.residue.is_empty() { "nothing" } else { "something" };
        self.summary_lines.lock().unwrap().push(format!(
            "{:40} exit {:3} {:5.1} s {:4} MiB left {left}",
            verdicts.join(", "),
            finished.code,
            finished.seconds,
            finished.memory_kib >> 10
        ));
    }
}

fn is_dead(process: &Path) -> bool {
    let stat = std::fs::read_to_string(process.join("stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('Z'))
}

/// The table that is printed at the end.
static TABLE: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Runs `rows` for every user that can be had, prints the table and exits.
pub(crate) fn run(rows: Vec<HostileRow>) {
    let arguments = Arguments::from_args();
    let all = std::env::var(SLOW).is_ok_and(|value| value == "all");
    let (slow, quick): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.slow && !all);
    let trials: Vec<Trial> = quick.into_iter().flat_map(trials).collect();
    let listed = arguments.list;
    let conclusion = libtest_mimic::run(&arguments, trials);
    if !listed {
        let mut table = TABLE.lock().unwrap();
        table.sort();
        println!("{}", table.join("\n"));
        println!("{} slow rows left out; {SLOW}=all runs them", slow.len());
    }
    conclusion.exit();
}

fn trials(row: HostileRow) -> Vec<Trial> {
    let can = |user: &&User| geteuid().is_root() || **user == User::Ordinary;
    let trial = |user: &User| {
        let user = *user;
        let name = format!("{}::{}", row.name, format!("{user:?}").to_lowercase());
        Trial::test(name.clone(), move || run_trial(&row, user, &name))
    };
    row.users.iter().filter(can).map(trial).collect()
}

fn run_trial(row: &HostileRow, user: User, name: &str) -> Result<(), Failed> {
    let context = RowContext::new(user);
    (row.check)(&context);
    let summary_lines = context.summary_lines.lock().unwrap();
    TABLE.lock().unwrap().extend(summary_lines.iter().map(|line| format!("{name:44} {line}")));
    Ok(())
}
