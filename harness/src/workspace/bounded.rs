//! A command that prepares or clears up: one that takes too long is ended, with its group.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::sys;

/// The poll interval where the kernel cannot wake us.
const LOOK: Duration = Duration::from_millis(5);

/// Runs `command`, which must exit 0 within `patience`; `name` stands for it in the error.
/// Processes left running in its group when its time is up are killed.
///
/// # Errors
/// The reason, with what the command wrote to stderr.
pub fn finish(name: &str, mut command: Command, patience: Duration) -> Result<(), String> {
    let why = |error: io::Error| format!("{name}: {error}");
    // A file, so that it can neither block on us nor keep us waiting through a descendant.
    let said = tempfile::tempfile().map_err(why)?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).process_group(0);
    command.stderr(said.try_clone().map_err(why)?);
    let mut child = command.spawn().map_err(why)?;
    match wait(&mut child, Instant::now() + patience).map_err(why)? {
        Some(status) if status.success() => Ok(()),
        Some(status) => Err(format!("{name}: {status}: {}", text(said))),
        None => Err(format!(
            "{name}: not done within {} ms, so it was ended with its group: {}",
            patience.as_millis(),
            text(said)
        )),
    }
}

/// Its end, or `None` after it was killed.
fn wait(child: &mut Child, deadline: Instant) -> io::Result<Option<ExitStatus>> {
    let group = Pid::from_raw(child.id().cast_signed());
    let watch = sys::exit_watch(group);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            // It has not been waited for, so its number is still its own.
            let _ = killpg(group, Signal::SIGKILL);
            let _ = child.kill();
            sys::reap(child);
            return Ok(None);
        }
        let left = if watch.is_some() { left + Duration::from_millis(1) } else { left.min(LOOK) };
        let mut set: Vec<_> =
            watch.iter().map(|fd| PollFd::new(fd.as_fd(), PollFlags::POLLIN)).collect();
        match poll(&mut set, PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

fn text(mut file: File) -> String {
    let mut bytes = Vec::new();
    let read = file.rewind().and_then(|()| file.read_to_end(&mut bytes));
    read.map_or_else(|e| e.to_string(), |_| String::from_utf8_lossy(&bytes).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn sh(line: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", line]);
        command
    }

    #[test]
    fn what_ends_well_is_fine_and_what_does_not_is_told() {
        assert_eq!(finish("step", sh("exit 0"), LONG), Ok(()));
        let error = finish("step", sh("echo why >&2; exit 3"), LONG).unwrap_err();
        assert_eq!(error, "step: exit status: 3: why");
        assert!(finish("step", Command::new("/no/such"), LONG).unwrap_err().contains("No such"));
    }

    #[test]
    fn a_descendant_is_not_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let mut command = sh("sleep 600 & echo $! > pid");
        command.current_dir(directory.path());
        assert_eq!(finish("step", command, LONG), Ok(()));
        let pid = std::fs::read_to_string(directory.path().join("pid")).unwrap();
        let pid = Pid::from_raw(pid.trim().parse().unwrap());
        nix::sys::signal::kill(pid, Signal::SIGKILL).unwrap();
    }

    #[test]
    fn who_takes_too_long_is_ended_with_its_group() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        // Both hold the pipe open for writing; the end of file shows that both are gone.
        let open = File::options().read(true).write(true).open(&pipe).unwrap();
        let reader = File::open(&pipe).unwrap();
        let line = "exec 3>pipe; trap '' TERM; sleep 600 & echo said >&2; wait; wait";
        let mut command = sh(line);
        command.current_dir(directory.path());
        let error = finish("step", command, Duration::from_millis(300)).unwrap_err();
        assert!(error.starts_with("step: not done within 300 ms"), "{error}");
        assert!(error.ends_with("said"), "{error}");
        drop(open);
        let mut end = [PollFd::new(reader.as_fd(), PollFlags::POLLIN)];
        assert_eq!(poll(&mut end, PollTimeout::from(20_000u16)), Ok(1));
        assert!(end[0].revents().unwrap().contains(PollFlags::POLLHUP), "{end:?}");
    }
}
