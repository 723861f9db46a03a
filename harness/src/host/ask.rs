//! Running a program for its answer, and giving it up when it takes too long.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::{sys, termination};

/// How often a running program is looked at where the kernel cannot tell us that it ended.
const LOOK: Duration = Duration::from_millis(1);

/// A program on its way to an answer. Its streams go to files, so that it can neither block on a
/// full pipe nor keep us waiting through a descendant that holds one open.
pub(crate) struct Asked {
    name: String,
    running: Running,
    stdout: File,
    stderr: File,
}

/// A child in a process group of its own, which both end with this at the latest.
struct Running(Child);

/// What a program answered.
pub(crate) struct Answer {
    /// Its exit code; none when it died of a signal.
    pub(crate) code: Option<i32>,
    /// What it wrote.
    pub(crate) stdout: Vec<u8>,
    /// What else it wrote.
    pub(crate) stderr: Vec<u8>,
}

impl Answer {
    /// The first line it wrote, on stdout if there is one.
    pub(crate) fn first_line(&self) -> String {
        let both = [&self.stdout, &self.stderr].map(|stream| String::from_utf8_lossy(stream));
        both.iter().find_map(|text| text.lines().next()).unwrap_or_default().trim().to_owned()
    }
}

/// The answer of `argv`, given up after `patience`.
#[cfg(test)]
pub(crate) fn ask(argv: &[OsString], patience: Duration) -> io::Result<Answer> {
    start(argv)?.answer(Instant::now() + patience)
}

/// The same, with `home` for the program to leave things in.
pub(crate) fn ask_at(home: &Path, argv: &[OsString], patience: Duration) -> io::Result<Answer> {
    let mut command = Command::new(argv.first().ok_or_else(|| io::Error::other("no program"))?);
    for name in ["XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"] {
        command.env_remove(name);
    }
    command.env("HOME", home).args(&argv[1..]);
    run(command)?.answer(Instant::now() + patience)
}

/// Starts `argv` in a process group of its own, with `home` for its home.
pub(crate) fn start_at(home: &Path, argv: &[OsString]) -> io::Result<Asked> {
    let (program, arguments) = argv.split_first().ok_or_else(|| io::Error::other("no program"))?;
    let mut command = Command::new(program);
    command.env("HOME", home).args(arguments);
    run(command)
}

/// Starts `argv` in a process group of its own.
pub(crate) fn start(argv: &[OsString]) -> io::Result<Asked> {
    let (program, arguments) = argv.split_first().ok_or_else(|| io::Error::other("no program"))?;
    let mut command = Command::new(program);
    command.args(arguments);
    run(command)
}

fn run(mut command: Command) -> io::Result<Asked> {
    let (stdout, stderr) = (tempfile::tempfile()?, tempfile::tempfile()?);
    sys::end_with_parent(&mut command, Signal::SIGKILL);
    let child = command
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(stdout.try_clone()?)
        .stderr(stderr.try_clone()?)
        .process_group(0)
        .spawn()?;
    let name = command.get_program().to_string_lossy().into_owned();
    Ok(Asked { name, running: Running(child), stdout, stderr })
}

impl Asked {
    /// Waits for the answer until `deadline`; then the program and its group are killed.
    pub(crate) fn answer(mut self, deadline: Instant) -> io::Result<Answer> {
        let Some(status) = self.running.wait(deadline)? else {
            let message = format!("{} does not answer: given up", self.name);
            return Err(io::Error::new(io::ErrorKind::TimedOut, message));
        };
        Ok(Answer { code: status.code(), stdout: all(self.stdout)?, stderr: all(self.stderr)? })
    }
}

impl Running {
    /// How it ended, or none if it has not by `deadline`.
    fn wait(&mut self, deadline: Instant) -> io::Result<Option<ExitStatus>> {
        let exit = self.pid().and_then(sys::exit_watch);
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
            match &exit {
                Some(exit) => ended_or(exit, left)?,
                None => std::thread::sleep(LOOK),
            }
        }
    }

    fn pid(&self) -> Option<Pid> {
        i32::try_from(self.0.id()).ok().map(Pid::from_raw)
    }
}

impl Drop for Running {
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
    file.read_to_end(&mut bytes)?;
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
        let answer = ask(&sh("echo out; echo err >&2; exit 3"), Duration::from_secs(10)).unwrap();
        assert_eq!((answer.code, answer.first_line().as_str()), (Some(3), "out"));
        assert_eq!(answer.stderr, b"err\n");
        assert_eq!(ask(&sh("kill -9 $$"), Duration::from_secs(10)).unwrap().code, None);
    }

    #[test]
    fn who_does_not_answer_is_given_up_and_dead() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("pid");
        let line = format!("sleep 1000 & echo $! > {}; wait", file.display());
        let asked = start(&sh(&line)).unwrap();
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
    fn a_missing_program_is_an_error() {
        assert!(ask(&["/no/such/program".into()], Duration::from_secs(1)).is_err());
    }
}
