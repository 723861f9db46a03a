//! A fork, on every system: no handler of ours runs in the child, and no panic leaves it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use nix::errno::Errno;
use nix::sys::signal::{SigSet, SigmaskHow};
use nix::unistd::Pid;

use super::signals;

/// Exit code of a forked child that panicked.
const PANICKED: i32 = 101;

/// No handler of ours may run in a child before it has given them up.
pub(super) fn block_signals() -> nix::Result<SigSet> {
    SigSet::all().thread_swap_mask(SigmaskHow::SIG_SETMASK)
}

/// Continues after a fork. In the child, where `pid` is 0: runs `body` with every signal blocked
/// and no handler of supervised calls, and exits. In the parent: restores `mask` and returns the
/// child's pid.
pub(super) fn parent_or(body: impl FnOnce() -> i32, pid: i32, mask: &SigSet) -> nix::Result<Pid> {
    if pid == 0 {
        signals::forget_calls();
        // A panic must not unwind into the parent's frames.
        let code = catch_unwind(AssertUnwindSafe(body)).unwrap_or(PANICKED);
        // SAFETY: _exit ends this process at once; no destructor of the parent runs twice.
        unsafe { libc::_exit(code) }
    }
    let pid = Errno::result(pid);
    mask.thread_set_mask()?;
    pid.map(Pid::from_raw)
}
