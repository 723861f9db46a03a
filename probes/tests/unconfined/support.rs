//! Calling the probe program: [`probe`] builds a [`Call`], whose [`Ran`] is asserted on.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::os::fd::AsRawFd as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};

use boxproof_probes::{
    ActOutcome, DetailValue, FoundRecords, ProbeEvent, ProbeRecord, RecordDetail, events, find,
};

/// One call of the program.
pub(crate) struct Call {
    pub(crate) command: Command,
    pub(crate) nonce: String,
    name: String,
}

/// The result of a call.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    pub(crate) nonce: String,
    name: String,
}

/// A call that is still running; it is ended with the test.
pub(crate) struct Running {
    pub(crate) child: Child,
    pub(crate) nonce: String,
}

/// A nonce that no other call has.
pub(crate) fn fresh() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("t{}-{}x", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

pub(crate) fn probe(name: &str) -> Call {
    probe_with(&[], name)
}

/// Builds a call with options before the probe's name.
pub(crate) fn probe_with(options: &[&str], name: &str) -> Call {
    let nonce = fresh();
    let mut command = Command::new(env!("CARGO_BIN_EXE_boxprobe"));
    command.args(["--nonce", &nonce]).args(options).arg(name).stdin(Stdio::null());
    Call { command, nonce, name: name.to_owned() }
}

/// The probe program, open as long as the tests run.
fn program() -> &'static File {
    static PROGRAM: LazyLock<File> =
        LazyLock::new(|| File::open(env!("CARGO_BIN_EXE_boxprobe")).expect("the program is there"));
    &PROGRAM
}

/// Locked while a child is between fork and exec, where it has copies of all our descriptors.
static FORKING: Mutex<()> = Mutex::new(());

fn start(command: &mut Command) -> Child {
    let _forking = FORKING.lock().unwrap_or_else(PoisonError::into_inner);
    command.spawn().expect("the probe program starts")
}

/// Closes `what` for good: no child of another test still has a copy of it.
pub(crate) fn close<T>(what: T) {
    let _forking = FORKING.lock().unwrap_or_else(PoisonError::into_inner);
    drop(what);
}

pub(crate) fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

impl Call {
    pub(crate) fn arg(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.arg(format!("--{name}")).arg(value);
        self
    }

    pub(crate) fn path(self, path: impl AsRef<Path>) -> Self {
        self.arg("path", path.as_ref())
    }

    pub(crate) fn switch(mut self, name: &str) -> Self {
        self.command.arg(format!("--{name}"));
        self
    }

    /// Drops privilege, even if the tests have it. The program runs by descriptor, as the build
    /// directory may be closed to others.
    pub(crate) fn ordinary(mut self) -> Self {
        if is_root() {
            let program = format!("/proc/self/fd/{}", program().as_raw_fd());
            let mut command = Command::new(program);
            command.args(self.command.get_args()).stdin(Stdio::null()).uid(1500).gid(1500);
            self.command = command;
        }
        self
    }

    pub(crate) fn run(self) -> Ran {
        let mut command = self.command;
        let child = start(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
        let output = child.wait_with_output().expect("our own child");
        Ran {
            status: output.status,
            stdout: output.stdout,
            stderr: output.stderr,
            nonce: self.nonce,
            name: self.name,
        }
    }

    /// Starts it and waits for its ready event.
    pub(crate) fn until_ready(self) -> Running {
        let mut running = self.switch("ready").spawn();
        let seen = running.line() + "\n";
        assert_eq!(events(&running.nonce, seen.as_bytes()), [ProbeEvent::Ready]);
        running
    }

    pub(crate) fn spawn(mut self) -> Running {
        let child = start(self.command.stdout(Stdio::piped()));
        Running { child, nonce: self.nonce }
    }
}

impl Ran {
    /// The record, and that its name is right.
    fn record(&self) -> ProbeRecord {
        match find(&self.nonce, &self.stdout) {
            FoundRecords::One(record) if record.probe == self.name => record,
            other => panic!("{other:?} in {self:?}"),
        }
    }

    #[track_caller]
    pub(crate) fn succeeded(&self) -> RecordDetail {
        let record = self.record();
        assert_eq!(record.outcome, ActOutcome::Succeeded);
        assert_eq!(self.status.code(), Some(0));
        record.detail
    }

    #[track_caller]
    pub(crate) fn refused(&self, errno: &str, call: &str) {
        let refused = ActOutcome::Refused { errno: errno.to_owned(), call: call.to_owned() };
        assert_eq!(self.record().outcome, refused);
        assert_eq!(self.status.code(), Some(1));
    }

    #[cfg(target_os = "linux")]
    #[track_caller]
    pub(crate) fn killed(&self, signal: &str, number: i32) {
        assert_eq!(self.record().outcome, ActOutcome::Killed { signal: signal.to_owned() });
        assert_eq!(self.status.code(), Some(128 + number));
    }

    /// Nothing learnt: this exit code and no record on either stream.
    #[track_caller]
    pub(crate) fn silent(&self, code: i32) {
        assert_eq!(self.status.code(), Some(code), "{self:?}");
        assert!(!self.stdout.contains(&0x1E) && !self.stderr.contains(&0x1E), "{self:?}");
    }
}

impl Running {
    pub(crate) fn pid(&self) -> nix::unistd::Pid {
        nix::unistd::Pid::from_raw(self.child.id().cast_signed())
    }

    pub(crate) fn signal(&self, signal: nix::sys::signal::Signal) {
        nix::sys::signal::kill(self.pid(), signal).expect("our own child");
    }

    /// The next line of its stdout, without its end.
    pub(crate) fn line(&mut self) -> String {
        let stdout = self.child.stdout.as_mut().expect("stdout is a pipe");
        let mut seen = Vec::new();
        let mut byte = [0];
        loop {
            stdout.read_exact(&mut byte).expect("a line comes before the end");
            match byte[0] {
                b'\n' => return String::from_utf8(seen).expect("text"),
                other => seen.push(other),
            }
        }
    }

    /// The rest of its stdout, and how it ended.
    pub(crate) fn end(mut self) -> (Vec<u8>, ExitStatus) {
        let mut rest = Vec::new();
        let stdout = self.child.stdout.as_mut().expect("stdout is a pipe");
        stdout.read_to_end(&mut rest).expect("a readable pipe");
        (rest, self.child.wait().expect("our own child"))
    }

    #[track_caller]
    pub(crate) fn ended_by(self, signal: nix::sys::signal::Signal) {
        assert_eq!(self.end().1.signal(), Some(signal as i32));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[track_caller]
pub(crate) fn text<'a>(detail: &'a RecordDetail, name: &str) -> &'a str {
    match detail.get(name) {
        Some(DetailValue::Text(text)) => text,
        other => panic!("{name} is {other:?}"),
    }
}

#[track_caller]
pub(crate) fn number(detail: &RecordDetail, name: &str) -> u64 {
    match detail.get(name) {
        Some(DetailValue::Number(number)) => *number,
        other => panic!("{name} is {other:?}"),
    }
}

#[track_caller]
pub(crate) fn names(detail: &RecordDetail) -> &[String] {
    match detail.get("names") {
        Some(DetailValue::Names(names)) => names,
        other => panic!("names is {other:?}"),
    }
}
