//! Signal dispositions, and the two handlers the program has.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicI32, Ordering};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::signal::{
    SaFlags, SigAction, SigHandler, SigSet, SigmaskHow, Signal, sigaction, sigprocmask,
};

use crate::exit_code as exit;

/// The descriptor that [`note`] writes to; set once, before the handler is.
static NOTES: AtomicI32 = AtomicI32::new(-1);

/// Default action for `signal`, and not blocked.
pub(crate) fn default_action(signal: Signal) -> nix::Result<()> {
    set(signal, SigHandler::SigDfl)?;
    unblock(signal)
}

/// `signal` does nothing from now on.
pub(crate) fn ignore(signal: Signal) -> nix::Result<()> {
    set(signal, SigHandler::SigIgn)
}

/// SIGALRM ends the process with [`exit::TIMED_OUT`].
pub(crate) fn give_up_on_alarm() -> nix::Result<()> {
    set(Signal::SIGALRM, SigHandler::Handler(give_up))
}

/// Writes the number of each `signal` as one byte into `pipe`; a byte without room is lost, because
/// a handler must not wait.
pub(crate) fn notify(signal: Signal, pipe: &OwnedFd) -> nix::Result<()> {
    fcntl(pipe, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
    NOTES.store(pipe.as_raw_fd(), Ordering::SeqCst);
    set(signal, SigHandler::Handler(note))?;
    unblock(signal)
}

/// A mask is inherited over exec, so it can't be assumed empty.
pub(crate) fn unblock(signal: Signal) -> nix::Result<()> {
    let mut only = SigSet::empty();
    only.add(signal);
    sigprocmask(SigmaskHow::SIG_UNBLOCK, Some(&only), None)
}

/// `SIGTERM`; `SIG40` for one without a name.
pub(crate) fn signal_name(number: i32) -> String {
    Signal::try_from(number)
        .map_or_else(|_| format!("SIG{number}"), |signal| signal.as_str().to_owned())
}

/// The number behind a [`signal_name`]; 0 for what is none.
pub(crate) fn signal_number(name: &str) -> i32 {
    let numbered = || name.strip_prefix("SIG").and_then(|number| number.parse().ok());
    name.parse::<Signal>().map_or_else(|_| numbered().unwrap_or(0), |signal| signal as i32)
}

fn set(signal: Signal, handler: SigHandler) -> nix::Result<()> {
    let action = SigAction::new(handler, SaFlags::empty(), SigSet::empty());
    // SAFETY: both handlers call nothing but async-signal-safe functions.
    unsafe { sigaction(signal, &action) }.map(drop)
}

extern "C" fn give_up(_: libc::c_int) {
    let words = b"boxprobe: out of time\n";
    // SAFETY: write(2) and _exit(2) are async-signal-safe; the pointer and length are one slice's.
    unsafe {
        libc::write(2, words.as_ptr().cast(), words.len());
        libc::_exit(exit::TIMED_OUT);
    }
}

extern "C" fn note(number: libc::c_int) {
    let byte = number as u8;
    // SAFETY: write(2) is async-signal-safe; the byte outlives the call, and errno is not used
    // after it. A full pipe would take more signals than anyone sends.
    unsafe { libc::write(NOTES.load(Ordering::SeqCst), (&raw const byte).cast(), 1) };
}
