//! Clearing up after a run that was killed: its processes are ended and its directory removed, by
//! the janitor that it left or by the next run. Main functions: [`start`], [`clear_dead_runs`].

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill, sigprocmask};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, setsid};

use super::base;
use crate::removal::{self, OwnedDirectory};
use crate::{sweep, sys};

/// The time that processes that were killed may take to end.
const ENDING: Duration = Duration::from_secs(3);

/// Starts the janitor of the run's directory `path`, and returns what keeps it waiting.
pub(super) fn start(
    path: &Path,
    run_id: &str,
    emptied: Vec<PathBuf>,
    lock: &File,
) -> io::Result<(OwnedFd, Pid)> {
    let (read, write) = io::pipe()?;
    let write = OwnedFd::from(write);
    let inherited = [write.as_raw_fd(), lock.as_raw_fd()];
    let directory = OwnedDirectory::open(path)?;
    let run_id = run_id.to_owned();
    let pid = sys::fork(move || {
        // It must not keep open what it waits to see closed, nor the lock of the living.
        for descriptor in inherited {
            let _ = nix::unistd::close(descriptor);
        }
        wait_and_remove(read, &directory, &run_id, &emptied)
    })?;
    Ok((write, pid))
}

/// The janitor's life: it waits for the end of every process of the run.
fn wait_and_remove(
    mut read: io::PipeReader,
    directory: &OwnedDirectory,
    run_id: &str,
    emptied: &[PathBuf],
) -> i32 {
    let _ = setsid();
    let _ = sigprocmask(SigmaskHow::SIG_BLOCK, Some(&SigSet::all()), None);
    let _ = read.read(&mut [0; 1]);
    end_run(directory, run_id, emptied)
}

/// Ends the processes of the dead run `run_id`, removes its directory and tells what stays.
fn end_run(directory: &OwnedDirectory, run_id: &str, emptied: &[PathBuf]) -> i32 {
    kill_processes(run_id);
    let left = directory.remove();
    removal::tell(&left);
    base::remove_empty(emptied);
    i32::from(!left.is_empty())
}

/// Ends the janitor of a run that has removed its directory itself.
pub(super) fn end(janitor: Pid) {
    let watch = sys::exit_watch(janitor);
    // An error means that it is gone already. One that is stopped ends, too.
    let _ = kill(janitor, Signal::SIGKILL);
    let deadline = Instant::now() + ENDING;
    // One that is traced is kept by its tracer.
    while matches!(waitpid(janitor, Some(WaitPidFlag::WNOHANG)), Ok(WaitStatus::StillAlive))
        && Instant::now() < deadline
    {
        let mut set: Vec<_> =
            watch.iter().map(|fd| PollFd::new(fd.as_fd(), PollFlags::POLLIN)).collect();
        let _ = poll(&mut set, PollTimeout::from(20u8));
    }
}

/// Clears what runs left in `base` of which no process lives: their directories carry no lock.
pub(super) fn clear_dead_runs(base: &Path) {
    for entry in std::fs::read_dir(base).into_iter().flatten().flatten() {
        let Some(run_id) =
            entry.file_name().to_str().filter(|name| is_run_id(name)).map(String::from)
        else {
            continue;
        };
        // Another user's, or no directory.
        let Ok(directory) = OwnedDirectory::open(&entry.path()) else { continue };
        let lock = directory.reopen();
        // Where locks do not work, a living one cannot be told from a dead one.
        if lock.as_ref().is_ok_and(|lock| lock.try_lock().is_ok()) {
            end_run(&directory, &run_id, &[]);
        }
    }
}

/// Returns whether `name` is the identifier of a run.
fn is_run_id(name: &str) -> bool {
    let digits = name.strip_prefix("bx").unwrap_or_default();
    digits.len() == 8 && digits.bytes().all(is_digit)
}

fn is_digit(byte: u8) -> bool {
    byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)
}

/// Kills the processes that carry an arm's word of the run `run_id` until none is left.
fn kill_processes(run_id: &str) {
    let deadline = Instant::now() + ENDING;
    loop {
        let alive: Vec<Pid> =
            sweep::carrying(run_id).into_iter().filter(|pid| *pid != Pid::this()).collect();
        if alive.is_empty() || Instant::now() >= deadline {
            return;
        }
        for pid in alive {
            let _ = kill(pid, Signal::SIGKILL);
        }
        let _ = poll(&mut [], PollTimeout::from(2u8));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("bx0123abcd", true)]
    #[case("bx0123abcg", false)]
    #[case("bx0123ABCD", false)]
    #[case("bx0123abc", false)]
    #[case("bx0123abcde", false)]
    #[case(".bx0123abcd", false)]
    #[case("by0123abcd", false)]
    fn a_run_is_known_by_its_name(#[case] name: &str, #[case] known: bool) {
        assert_eq!(is_run_id(name), known);
    }

    #[test]
    fn a_dead_run_is_cleared_and_a_living_one_is_not() {
        let place = tempfile::tempdir().unwrap();
        let base = place.path().canonicalize().unwrap();
        for name in ["bx00000001", "bx00000002", "other", "bx00000003-kept"] {
            std::fs::create_dir_all(base.join(name).join("w0/arm")).unwrap();
        }
        let living = OwnedDirectory::open(&base.join("bx00000002")).unwrap().reopen().unwrap();
        living.try_lock().unwrap();
        clear_dead_runs(&base);
        let mut left: Vec<_> = std::fs::read_dir(&base)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, ["bx00000002", "bx00000003-kept", "other"]);
    }
}
