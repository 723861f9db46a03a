//! macOS: kqueue, fork, libproc. Type-checked only: nothing of this has run on macOS yet.

mod children;
mod packets;
mod poller;
mod process_table;
mod unsupported;

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::ExitStatus;

use nix::errno::Errno;
use nix::sys::event::{EvFlags, EventFilter, FilterFlag, Kqueue};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::Pid;
use rustix::process::WaitId;

use super::fork_guard::{block_signals, parent_or};
use super::reap::reaped;
use super::{ReleasePipe, close_by_number, default_action, seal_by_number, signals};

pub(crate) use self::{ForkStack as SharedStack, KqueueProcess as ProcessHandle};
pub(crate) use children::KqueueChildEvents as ChildEvents;
pub(crate) use packets::*;
pub(crate) use poller::{KqueuePoller as Poller, KqueueTimer as Timer, PipeWakeFd as WakeFd};
pub(crate) use process_table::LiveProcesses;
pub(crate) use unsupported::*;

/// The variable that marks the processes of one run.
const MARK: &str = "REFBOX_RUN";

/// A process, and a queue that is readable once it has ended.
#[derive(Debug)]
pub(crate) struct KqueueProcess {
    pid: Pid,
    ended: Kqueue,
}

#[cfg(test)]
impl KqueueProcess {
    /// Opens the same process again, to be watched separately.
    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        open_process(self.pid)
    }
}

impl AsFd for KqueueProcess {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.ended.as_fd()
    }
}

/// The process `pid`: ourselves, or a child that is not reaped.
pub(crate) fn open_process(pid: Pid) -> io::Result<KqueueProcess> {
    let ended = Kqueue::new()?;
    let number = pid.as_raw() as usize;
    match poller::add(&ended, number, EventFilter::EVFILT_PROC, FilterFlag::NOTE_EXIT, 0) {
        // Nothing announces an end that was before: this event is there for good.
        Err(Errno::ESRCH) => {
            let flags = FilterFlag::NOTE_TRIGGER;
            poller::add(&ended, number, EventFilter::EVFILT_USER, FilterFlag::empty(), 0)?;
            poller::change(&ended, number, EventFilter::EVFILT_USER, EvFlags::empty(), flags, 0)?;
        }
        other => other?,
    }
    Ok(KqueueProcess { pid, ended })
}

/// Sends `signal` to a child that is not reaped; a process that has ended is no error.
pub(crate) fn signal_process(process: &KqueueProcess, signal: i32) -> io::Result<()> {
    match kill(process.pid, Signal::try_from(signal)?) {
        Err(Errno::ESRCH) => Ok(()),
        other => Ok(other?),
    }
}

/// Kills `helper`; a helper here is the process that becomes the command.
pub(crate) fn kill_with_children(helper: &KqueueProcess) -> io::Result<()> {
    signal_process(helper, libc::SIGKILL)
}

/// Waits for the end of one child; `None` if it is not ours to reap.
pub(crate) fn reap_process(process: &KqueueProcess) -> io::Result<Option<ExitStatus>> {
    let pid = rustix::process::Pid::from_raw(process.pid.as_raw());
    pid.map_or(Ok(None), |pid| reaped(&WaitId::Pid(pid)))
}

/// The stack of a process beside us, which here has a memory of its own.
pub(crate) struct ForkStack;

impl ForkStack {
    /// There is nothing to keep.
    pub(crate) fn put_by(self) {}
}

/// Starts `body` in a child with every signal blocked, and waits until it lets go or ends.
pub(crate) fn start_beside<F: FnOnce(ReleasePipe) -> i32>(
    body: F,
) -> io::Result<(KqueueProcess, ForkStack)> {
    let (mut held, leash) = io::pipe()?;
    let ours = ReleasePipe::at(leash.as_raw_fd());
    let child = fork(|| body(ours))?;
    drop(leash);
    // End of file: its copy was closed, by itself or by its end.
    let _ended = held.read(&mut [0_u8]);
    Ok((opened(child)?, ForkStack))
}

/// Starts a child that runs `body`.
pub(crate) fn spawn_child<F: FnOnce() -> i32>(body: F) -> io::Result<(Pid, KqueueProcess)> {
    let child = fork(body)?;
    Ok((child, opened(child)?))
}

/// Opens the child `pid`, and kills it where that fails.
fn opened(pid: Pid) -> io::Result<KqueueProcess> {
    open_process(pid).inspect_err(|_| {
        let _killed = kill(pid, Signal::SIGKILL);
        let _reaped = waitpid(pid, None);
    })
}

/// Forks; the child runs `body` and never returns.
pub(crate) fn fork(body: impl FnOnce() -> i32) -> nix::Result<Pid> {
    let mask = block_signals()?;
    // SAFETY: the child continues with a copy of our memory; its calls take no lock but those of
    // the allocator, which macOS makes usable in a forked child.
    let pid = unsafe { libc::fork() };
    parent_or(body, pid, &mask)
}

/// Marks every descriptor but 0, 1 and 2 close-on-exec.
pub(crate) fn seal_descriptors() -> io::Result<()> {
    extra_descriptors()?.into_iter().for_each(seal_by_number);
    Ok(())
}

/// Closes every descriptor but the standard streams and `kept`: for a forked child only.
pub(crate) fn close_all_but(kept: &mut [RawFd]) -> nix::Result<()> {
    let open = extra_descriptors()
        .map_err(|error| Errno::from_raw(error.raw_os_error().unwrap_or(libc::EIO)))?;
    open.into_iter().filter(|fd| !kept.contains(fd)).for_each(close_by_number);
    Ok(())
}

fn extra_descriptors() -> io::Result<Vec<RawFd>> {
    let names = std::fs::read_dir("/dev/fd")?.flatten().map(|entry| entry.file_name());
    let numbers = names.filter_map(|name| name.to_str()?.parse().ok());
    Ok(numbers.filter(|number| *number > libc::STDERR_FILENO).collect())
}

/// A file without a name that holds `content`, positioned at its start.
pub(crate) fn memory_file(content: &[u8]) -> io::Result<File> {
    let template = std::env::temp_dir().join("refbox-XXXXXX");
    let (file, path) = nix::unistd::mkstemp(&template)?;
    std::fs::remove_file(&path)?;
    seal_by_number(file.as_raw_fd());
    let mut file = File::from(file);
    file.write_all(content)?;
    file.rewind()?;
    Ok(file)
}

/// Returns the mark of a new run's command and its descendants, as `NAME=value`.
pub(crate) fn mark() -> Option<CString> {
    CString::new(format!("{MARK}={}", uuid::Uuid::new_v4().simple())).ok()
}

/// Returns whether the file system of `directory` ignores case.
pub(crate) fn ignores_case(directory: &Path) -> bool {
    let Ok(directory) = CString::new(OsStr::as_bytes(directory.as_os_str())) else { return false };
    // SAFETY: the path is a C string that lives through the call.
    unsafe { libc::pathconf(directory.as_ptr(), libc::_PC_CASE_SENSITIVE) == 0 }
}
