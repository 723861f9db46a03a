//! A command that prepares or clears up: one that takes too long is ended, with its group.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::{AsFd, BorrowedFd};
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
pub fn finish(name: &str, command: Command, patience: Duration) -> Result<(), String> {
    finish_within(name, command, CommandLimits { patience, boss: None })
}

/// The limits of the time that a command may take.
#[derive(Debug, Clone, Copy)]
pub struct CommandLimits<'a> {
    /// The time that it has.
    pub patience: Duration,
    /// The socket of the process that asked for the arm, and the time that the command has once that
    /// has hung up.
    pub boss: Option<(BorrowedFd<'a>, Duration)>,
}

/// Runs `command` as [`finish`], within `limits`.
///
/// # Errors
/// The reason, with what the command wrote to stderr.
pub fn finish_within(
    name: &str,
    mut command: Command,
    limits: CommandLimits<'_>,
) -> Result<(), String> {
    let why = |error: io::Error| format!("{name}: {error}");
    // A file, so that it can neither block on us nor keep us waiting through a descendant.
    let said = tempfile::tempfile().map_err(why)?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).process_group(0);
    command.stderr(said.try_clone().map_err(why)?);
    let mut child = command.spawn().map_err(why)?;
    let fault = match wait(&mut child, limits).map_err(why)? {
        CommandEnd::Exited(status) if status.success() => return Ok(()),
        CommandEnd::Exited(status) => status.to_string(),
        CommandEnd::Abandoned => "the run was ended, so it was ended with its group".to_owned(),
        CommandEnd::Overdue => format!(
            "not done within {} ms, so it was ended with its group",
            limits.patience.as_millis()
        ),
    };
    let said = text(said);
    let colon = if said.is_empty() { "" } else { ": " };
    Err(format!("{name}: {fault}{colon}{said}"))
}

/// The end of a command.
enum CommandEnd {
    /// It ended by itself.
    Exited(ExitStatus),
    /// It was killed, since its time was up.
    Overdue,
    /// It was killed, since the run was ended.
    Abandoned,
}

/// Waits for the end of `child`, which is killed where that does not come in time.
fn wait(child: &mut Child, limits: CommandLimits<'_>) -> io::Result<CommandEnd> {
    let (mut deadline, mut boss) = (Instant::now() + limits.patience, limits.boss);
    let group = Pid::from_raw(child.id().cast_signed());
    let watch = sys::exit_watch(group);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(CommandEnd::Exited(status));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            // It has not been waited for, so its number is still its own.
            let _ = killpg(group, Signal::SIGKILL);
            let _ = child.kill();
            sys::reap(child);
            let is_abandoned = limits.boss.is_some() && boss.is_none();
            return Ok(if is_abandoned { CommandEnd::Abandoned } else { CommandEnd::Overdue });
        }
        let left = if watch.is_some() { left + Duration::from_millis(1) } else { left.min(LOOK) };
        let mut set: Vec<_> =
            watch.iter().map(|fd| PollFd::new(fd.as_fd(), PollFlags::POLLIN)).collect();
        set.extend(boss.map(|(fd, _)| PollFd::new(fd, PollFlags::empty())));
        match poll(&mut set, PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let is_hung_up = set.last().and_then(PollFd::revents);
        let is_hung_up = is_hung_up.is_some_and(|events| events.contains(PollFlags::POLLHUP));
        if let Some((_, grace)) = boss.take_if(|_| is_hung_up) {
            deadline = deadline.min(Instant::now() + grace);
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
    fn a_command_of_a_run_that_was_ended_is_cut_short() {
        let (ours, boss) = std::os::unix::net::UnixStream::pair().unwrap();
        let limits = |grace| CommandLimits { patience: LONG, boss: Some((ours.as_fd(), grace)) };
        assert_eq!(finish_within("step", sh("exit 0"), limits(Duration::ZERO)), Ok(()));
        drop(boss);
        let error = finish_within("step", sh("sleep 600"), limits(Duration::ZERO)).unwrap_err();
        assert_eq!(error, "step: the run was ended, so it was ended with its group");
        assert_eq!(finish_within("step", sh("sleep 0.1"), limits(LONG)), Ok(()));
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
