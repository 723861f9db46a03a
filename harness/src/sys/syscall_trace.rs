//! System calls of a tree of processes, counted by ptrace(2) ([`count_calls`]): it needs no
//! program, no privilege and no performance counters.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};

use nix::errno::Errno;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::measured_child::KillGuard;
use super::syscall_names::call_name;

/// Starts `command` and counts the system calls of its tree until it ends, by name.
///
/// # Errors
/// The errno of the start, of ptrace(2) or of wait4(2).
pub(crate) fn count_calls(
    command: &mut Command,
) -> io::Result<(ExitStatus, BTreeMap<String, u64>)> {
    // SAFETY: the closure makes one system call and touches no memory of the parent's.
    unsafe { command.pre_exec(|| ptrace::traceme().map_err(io::Error::from)) };
    let child = command.process_group(0).spawn()?;
    let root = Pid::from_raw(child.id().cast_signed());
    let guard = KillGuard::set(root);
    let mut trace = CallTrace::new(root);
    let status = trace.follow()?;
    drop(guard);
    let named = trace.calls.into_iter().map(|(number, count)| (call_name(number), count));
    Ok((status, named.collect()))
}

struct CallTrace {
    root: Pid,
    /// Every traced process that was seen and has not ended.
    alive: BTreeSet<Pid>,
    calls: BTreeMap<u64, u64>,
    ended: Option<ExitStatus>,
}

impl CallTrace {
    fn new(root: Pid) -> Self {
        Self { root, alive: BTreeSet::from([root]), calls: BTreeMap::new(), ended: None }
    }

    /// Follows the tree until the root and all that it left behind have ended.
    fn follow(&mut self) -> io::Result<ExitStatus> {
        self.wait_for_exec()?;
        while !self.alive.is_empty() {
            match waitpid(None, Some(WaitPidFlag::__WALL)) {
                Ok(status) => self.take(status)?,
                Err(Errno::EINTR) => {}
                Err(Errno::ECHILD) => break,
                Err(error) => return Err(error.into()),
            }
        }
        self.ended.ok_or_else(|| io::Error::other("the traced program ended unseen"))
    }

    /// The root stops once it has become the program.
    fn wait_for_exec(&mut self) -> io::Result<()> {
        let WaitStatus::Stopped(..) = waitpid(self.root, Some(WaitPidFlag::__WALL))? else {
            return Err(io::Error::other("the traced program ended before it began"));
        };
        ptrace::setoptions(
            self.root,
            Options::PTRACE_O_TRACESYSGOOD
                | Options::PTRACE_O_TRACEFORK
                | Options::PTRACE_O_TRACEVFORK
                | Options::PTRACE_O_TRACECLONE
                | Options::PTRACE_O_TRACEEXEC
                | Options::PTRACE_O_EXITKILL,
        )?;
        resume(self.root, None)
    }

    fn take(&mut self, status: WaitStatus) -> io::Result<()> {
        match status {
            WaitStatus::PtraceSyscall(pid) => {
                self.alive.insert(pid);
                self.count(pid);
                resume(pid, None)
            }
            WaitStatus::PtraceEvent(pid, ..) => resume(pid, None),
            WaitStatus::Stopped(pid, signal) => {
                // A new process stops once, and its tracer's own stop is no signal for it.
                let is_first = self.alive.insert(pid) && signal == Signal::SIGSTOP;
                let is_delivery = ptrace::getsiginfo(pid).is_ok();
                resume(pid, (!is_first && is_delivery).then_some(signal))
            }
            WaitStatus::Exited(pid, code) => {
                self.end(pid, ExitStatus::from_raw(code << 8));
                Ok(())
            }
            WaitStatus::Signaled(pid, signal, _) => {
                self.end(pid, ExitStatus::from_raw(signal as i32));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn count(&mut self, pid: Pid) {
        // A process that was killed meanwhile cannot be asked any more.
        if let Some(number) = entered_call(pid).filter(|_| self.ended.is_none()) {
            *self.calls.entry(number).or_default() += 1;
        }
    }

    fn end(&mut self, pid: Pid, status: ExitStatus) {
        self.alive.remove(&pid);
        if pid == self.root {
            self.ended = Some(status);
            for left in &self.alive {
                // One that is gone already is what is wanted.
                let _ = kill(*left, Signal::SIGKILL);
            }
        }
    }
}

/// Lets a stopped process go on to its next system call.
fn resume(pid: Pid, signal: Option<Signal>) -> io::Result<()> {
    match ptrace::syscall(pid, signal) {
        // It was killed meanwhile, and its end is still to come.
        Ok(()) | Err(Errno::ESRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The kernel's `struct ptrace_syscall_info` up to the number of an entered call; `libc` has it for
/// one C library alone.
#[derive(Default)]
#[repr(C)]
struct SyscallStop {
    operation: u8,
    /// Flags, architecture, and the places of instruction and stack.
    _between: [u8; 23],
    number: u64,
}

/// Returns the number of the call that `pid` is about to make; none at its end.
fn entered_call(pid: Pid) -> Option<u64> {
    /// `PTRACE_SYSCALL_INFO_ENTRY`.
    const ENTRY: u8 = 1;
    let mut stop = SyscallStop::default();
    let size = size_of_val(&stop);
    // `PTRACE_GET_SYSCALL_INFO`, whose type is another one in each C library.
    // SAFETY: the kernel writes at most `size` bytes to a place that outlives the call. (The
    // wrapper of nix asks for no bytes at all.)
    let written = unsafe { libc::ptrace(0x420e, pid.as_raw(), size, &raw mut stop) };
    (written > 0 && stop.operation == ENTRY).then_some(stop.number)
}
