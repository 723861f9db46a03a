//! Forking, waiting and leaving: [`fork`], [`wait`], [`exit_now`].

use nix::errno::Errno;
use nix::unistd::{ForkResult, Pid};

/// The side of a fork that this process is.
pub(crate) enum ForkSide {
    Child,
    Parent(Pid),
}

/// The end of a child.
pub(crate) enum ChildStatus {
    Exited(i32),
    Signaled(i32),
}

/// fork(2).
pub(crate) fn fork() -> nix::Result<ForkSide> {
    // SAFETY: the program has a single thread, so the child may go on as usual.
    match unsafe { nix::unistd::fork() }? {
        ForkResult::Child => Ok(ForkSide::Child),
        ForkResult::Parent { child } => Ok(ForkSide::Parent(child)),
    }
}

/// Ends the process at once, without the exit handlers of the code around it.
pub(crate) fn exit_now(code: i32) -> ! {
    // SAFETY: _exit(2) takes any number and does not return.
    unsafe { libc::_exit(code) }
}

/// waitpid(2) until the child has ended; unlike nix it knows real-time signals.
pub(crate) fn wait(child: Pid) -> nix::Result<ChildStatus> {
    let mut status = 0;
    loop {
        // SAFETY: `status` is a valid place for an int.
        match Errno::result(unsafe { libc::waitpid(child.as_raw(), &raw mut status, 0) }) {
            Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno),
            Ok(_) if libc::WIFEXITED(status) => {
                return Ok(ChildStatus::Exited(libc::WEXITSTATUS(status)));
            }
            Ok(_) if libc::WIFSIGNALED(status) => {
                return Ok(ChildStatus::Signaled(libc::WTERMSIG(status)));
            }
            Ok(_) => {}
        }
    }
}
