//! Running a program for its answer, and giving it up when it takes too long.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use boxproof_reports::excerpt;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::{Pid, User};

use crate::{sys, termination};

/// The poll interval of a running program where the kernel cannot report its end.
const LOOK: Duration = Duration::from_millis(1);
/// The interval at which the output of a running program is measured.
const MEASURE: Duration = Duration::from_millis(50);
/// The most bytes that an answer may have on either stream.
const LIMIT: u64 = 8 << 20;
/// The most characters of an answer that a message quotes.
const QUOTED: usize = 300;
/// The user and group of those who have no account.
const NO_ACCOUNT: u32 = 65_534;
/// Variables that name directories of the user who started us.
const OF_A_HOME: [&str; 5] =
    ["XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"];

/// An ordinary user as which root starts a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AskedAs {
    uid: u32,
    gid: u32,
    name: String,
    home: PathBuf,
}

impl AskedAs {
    /// The user of this account.
    pub(crate) fn account(user: &User) -> Self {
        let (uid, gid) = (user.uid.as_raw(), user.gid.as_raw());
        Self { uid, gid, name: user.name.clone(), home: user.dir.clone() }
    }

    /// Returns the user that owns nothing.
    pub(crate) fn without_account() -> Self {
        let (name, home) = ("nobody".to_owned(), "/nonexistent".into());
        Self { uid: NO_ACCOUNT, gid: NO_ACCOUNT, name, home }
    }

    fn start(&self, command: &mut Command) {
        // All other groups of ours are given up with that.
        command.gid(self.gid).uid(self.uid).env("HOME", &self.home);
        command.env("USER", &self.name).env("LOGNAME", &self.name).env_remove("TMPDIR");
        OF_A_HOME.iter().for_each(|name| {
            command.env_remove(name);
        });
    }
}

/// Tells who besides root could have put another program in the place of `program`, or of a
/// directory above it; none where root alone can.
pub(crate) fn changeable(program: &Path) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    const STICKY: u32 = 0o1000;
    let Ok(program) = program.canonicalize() else { return Some("it cannot be found".to_owned()) };
    program.ancestors().find_map(|at| {
        let meta = at.metadata().ok()?;
        let open = meta.mode() & 0o002 != 0 && (!meta.is_dir() || meta.mode() & STICKY == 0);
        match meta.uid() {
            0 if open => Some(format!("everyone can write to {}", at.display())),
            0 => None,
            uid => Some(format!("{} belongs to uid {uid}", at.display())),
        }
    })
}

/// A program on its way to an answer. Its streams go to files, so that it can neither block on a
/// full pipe nor keep us waiting through a descendant that holds one open.
pub(crate) struct PendingProgram {
    name: String,
    running: RunningProgram,
    stdout: File,
    stderr: File,
}

/// A child in a process group of its own, which both end with this at the latest.
struct RunningProgram(Child);

/// The answer of a program.
pub(crate) struct ProgramAnswer {
    /// Its exit code; none when it died of a signal.
    pub(crate) code: Option<i32>,
    /// The bytes it wrote to stdout.
    pub(crate) stdout: Vec<u8>,
    /// The bytes it wrote to stderr.
    pub(crate) stderr: Vec<u8>,
}

impl ProgramAnswer {
    /// The start of the first line it wrote, on stdout if there is one, made printable.
    pub(crate) fn first_line(&self) -> String {
        let both = [&self.stdout, &self.stderr].map(|stream| String::from_utf8_lossy(stream));
        let line = both.iter().find_map(|text| text.lines().next()).unwrap_or_default();
        excerpt(line.trim(), QUOTED)
    }
}

/// The answer of `argv`, given up after `patience`.
#[cfg(test)]
pub(crate) fn program_answer(argv: &[OsString], patience: Duration) -> io::Result<ProgramAnswer> {
    start(argv, None)?.answer(Instant::now() + patience)
}

/// The answer of `argv`, started as `user` and with a home of its own to leave things in.
pub(crate) fn ask_at_home_of_its_own(
    argv: &[OsString],
    user: Option<&AskedAs>,
    patience: Duration,
) -> io::Result<ProgramAnswer> {
    let home = tempfile::tempdir().map_err(|error| about_temporary(&error))?;
    if let Some(user) = user {
        std::os::unix::fs::chown(home.path(), Some(user.uid), Some(user.gid))?;
    }
    let mut command = command(argv, user)?;
    OF_A_HOME.iter().for_each(|name| {
        command.env_remove(name);
    });
    command.env("HOME", home.path());
    run(command)?.answer(Instant::now() + patience)
}

/// Starts `argv` in a process group of its own, with `home` for its home.
pub(crate) fn start_at(home: &Path, argv: &[OsString]) -> io::Result<PendingProgram> {
    let mut command = command(argv, None)?;
    command.env("HOME", home);
    run(command)
}

/// Starts `argv` in a process group of its own, as `user`.
pub(crate) fn start(argv: &[OsString], user: Option<&AskedAs>) -> io::Result<PendingProgram> {
    run(command(argv, user)?)
}

fn command(argv: &[OsString], user: Option<&AskedAs>) -> io::Result<Command> {
    let (program, arguments) = argv.split_first().ok_or_else(|| io::Error::other("no program"))?;
    let mut command = Command::new(program);
    command.args(arguments);
    if let Some(user) = user {
        user.start(&mut command);
    }
    Ok(command)
}

/// The file that is every program's standard input.
const NOTHING: &str = "/dev/null";

/// Returns `error` with the place that it is about: it is not the program that is missing.
fn about(error: &io::Error, place: &str) -> io::Error {
    io::Error::new(error.kind(), format!("{place}: {error}"))
}

/// Returns `error` with the directory of temporary files, and the remedy.
fn about_temporary(error: &io::Error) -> io::Error {
    let place = std::env::temp_dir();
    let error = io::Error::new(error.kind(), format!("{error}; TMPDIR names another directory"));
    about(&error, &place.display().to_string())
}

fn run(mut command: Command) -> io::Result<PendingProgram> {
    let temporary = || tempfile::tempfile().map_err(|error| about_temporary(&error));
    let (stdout, stderr) = (temporary()?, temporary()?);
    let nothing = File::open(NOTHING).map_err(|error| about(&error, NOTHING))?;
    sys::end_with_parent(&mut command, Signal::SIGKILL);
    let child = command
        .current_dir("/")
        .stdin(nothing)
        .stdout(stdout.try_clone()?)
        .stderr(stderr.try_clone()?)
        .process_group(0)
        .spawn()?;
    let name = command.get_program().to_string_lossy().into_owned();
    Ok(PendingProgram { name, running: RunningProgram(child), stdout, stderr })
}

impl PendingProgram {
    /// Waits for the answer until `deadline`; then the program and its group are killed.
    pub(crate) fn answer(mut self, deadline: Instant) -> io::Result<ProgramAnswer> {
        let exit = self.running.pid().and_then(sys::exit_watch);
        let status = loop {
            let now = Instant::now();
            if let Some(status) = self.running.wait(exit.as_ref(), deadline.min(now + MEASURE))? {
                break status;
            }
            self.is_short()?;
            if now >= deadline {
                let message = format!("{} does not answer: given up", self.name);
                return Err(io::Error::new(io::ErrorKind::TimedOut, message));
            }
        };
        self.is_short()?;
        Ok(ProgramAnswer {
            code: status.code(),
            stdout: all(self.stdout)?,
            stderr: all(self.stderr)?,
        })
    }

    fn is_short(&self) -> io::Result<()> {
        for (stream, file) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            if file.metadata()?.len() > LIMIT {
                let message =
                    format!("{} wrote more than {LIMIT} bytes on {stream}: given up", self.name);
                return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
            }
        }
        Ok(())
    }
}

impl RunningProgram {
    /// Returns the exit status, or none if the program has not ended by `deadline`; `exit` becomes
    /// readable when it has.
    fn wait(
        &mut self,
        exit: Option<&OwnedFd>,
        deadline: Instant,
    ) -> io::Result<Option<ExitStatus>> {
        loop {
            if let Some(status) = self.0.try_wait()? {
                return Ok(Some(status));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            if let Some(signal) = termination::received() {
                let message = format!("the run was ended by {signal}");
                return Err(io::Error::new(io::ErrorKind::ConnectionAborted, message));
            }
            match exit {
                Some(exit) => ended_or(exit, left)?,
                None => std::thread::sleep(LOOK),
            }
        }
    }

    fn pid(&self) -> Option<Pid> {
        i32::try_from(self.0.id()).ok().map(Pid::from_raw)
    }
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        if let Ok(Some(_)) = self.0.try_wait() {
            return;
        }
        // The child is not yet waited for, so its number is still its own.
        if let Some(pid) = self.pid() {
            let _ = killpg(pid, Signal::SIGKILL);
        }
        let _ = self.0.kill();
        sys::reap(&mut self.0);
    }
}

/// Returns when the process behind `exit` has ended or the run is to end, and after `left` at the
/// latest.
fn ended_or(exit: &OwnedFd, left: Duration) -> io::Result<()> {
    // A millisecond more than is left, so that no rest of one is waited for again and again.
    let patience = PollTimeout::try_from(left + LOOK).unwrap_or(PollTimeout::MAX);
    let watched = termination::descriptor().into_iter().chain([exit.as_fd()]);
    let mut set: Vec<_> = watched.map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
    match poll(&mut set, patience) {
        Ok(_) | Err(nix::errno::Errno::EINTR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

fn all(mut file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    // Processes that it left behind may write on.
    file.take(LIMIT).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(line: &str) -> [OsString; 3] {
        ["/bin/sh".into(), "-c".into(), line.into()]
    }

    #[test]
    fn the_answer_is_code_and_streams() {
        let answer =
            program_answer(&sh("echo out; echo err >&2; exit 3"), Duration::from_secs(10)).unwrap();
        assert_eq!((answer.code, answer.first_line().as_str()), (Some(3), "out"));
        assert_eq!(answer.stderr, b"err\n");
        assert_eq!(program_answer(&sh("kill -9 $$"), Duration::from_secs(10)).unwrap().code, None);
    }

    #[test]
    fn who_does_not_answer_is_given_up_and_dead() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("pid");
        let line = format!("sleep 1000 & echo $! > {}; wait", file.display());
        let asked = start(&sh(&line), None).unwrap();
        let deadline = Instant::now() + Duration::from_secs(10);
        let sleeper = loop {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            match text.trim().parse::<i32>() {
                Ok(pid) => break pid,
                Err(_) => assert!(Instant::now() < deadline, "the child never started"),
            }
        };
        let error = asked.answer(Instant::now()).err().unwrap();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        while nix::sys::signal::kill(Pid::from_raw(sleeper), None).is_ok() {
            let stat = std::fs::read_to_string(format!("/proc/{sleeper}/stat")).unwrap_or_default();
            if stat.contains(") Z ") {
                break;
            }
            assert!(Instant::now() < deadline, "the sleeper lives on");
        }
    }

    #[test]
    fn an_endless_answer_is_given_up_early() {
        for line in ["cat /dev/zero", "cat /dev/zero >&2"] {
            let error =
                program_answer(&sh(line), Duration::from_secs(60)).err().unwrap().to_string();
            assert!(error.contains("wrote more than 8388608 bytes"), "{error}");
        }
        let long = program_answer(&sh("printf '%05000d' 7"), Duration::from_secs(10))
            .unwrap()
            .first_line();
        assert_eq!(long.chars().count(), QUOTED);
    }

    #[test]
    fn a_missing_program_is_an_error() {
        assert!(program_answer(&["/no/such/program".into()], Duration::from_secs(1)).is_err());
    }
}
