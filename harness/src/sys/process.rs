//! Processes: forking one of our own, descriptors a child starts with, random bytes.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::errno::Errno;
use nix::sys::signal::{SigHandler, Signal, signal};
use nix::unistd::{ForkResult, Pid};

/// Forks a child that runs `body` and exits with what it returns.
///
/// # Errors
/// The errno of fork(2). Must be called while the process has one thread.
pub(crate) fn fork(body: impl FnOnce() -> i32) -> io::Result<Pid> {
    // SAFETY: callers fork before any thread exists, so no lock can be held by a thread that the
    // child lacks.
    match unsafe { nix::unistd::fork() }? {
        ForkResult::Parent { child } => Ok(child),
        // SAFETY: _exit is async-signal-safe and skips the parent's atexit handlers on purpose.
        ForkResult::Child => unsafe { libc::_exit(body()) },
    }
}

/// No process that this one starts inherits a descriptor, standard streams apart, unless it is
/// given one on purpose: whoever started us may have left some open.
///
/// # Errors
/// When our descriptors cannot be listed.
pub(crate) fn hand_nothing_on() -> io::Result<()> {
    let names = std::fs::read_dir("/dev/fd")?.flatten().map(|entry| entry.file_name());
    let numbers: Vec<RawFd> = names.filter_map(|name| name.to_str()?.parse().ok()).collect();
    for number in numbers.into_iter().filter(|number| *number > libc::STDERR_FILENO) {
        // SAFETY: changes a flag of a descriptor of ours; one that is closed by now is an error.
        unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
    Ok(())
}

/// Makes `command` start with each descriptor open under the number beside it.
pub(crate) fn inherit_descriptors(command: &mut Command, descriptors: Vec<(RawFd, OwnedFd)>) {
    if descriptors.is_empty() {
        return;
    }
    // SAFETY: the closure only calls dup2, which is async-signal-safe, on descriptors it owns.
    unsafe {
        command.pre_exec(move || {
            for (number, descriptor) in &descriptors {
                if libc::dup2(descriptor.as_raw_fd(), *number) < 0 {
                    return Err(io::Error::last_os_error());
                }
            }
            Ok(())
        });
    }
}

/// Has HUP, INT, QUIT and TERM end this process again, as a command expects: whoever was started in
/// the background by a shell, or by nohup, ignores some, and so would everything that it starts.
///
/// # Errors
/// The errno of sigaction(2).
pub(crate) fn default_signals() -> io::Result<()> {
    for ending in [Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM] {
        // SAFETY: the default action is no handler, so nothing of ours runs in one.
        unsafe { signal(ending, SigHandler::SigDfl) }?;
    }
    Ok(())
}

/// Makes `command` the leader of a session whose terminal is its standard stream `number`.
pub(crate) fn own_terminal(command: &mut Command, number: RawFd) {
    // SAFETY: setsid and ioctl are async-signal-safe, and the stream is the terminal by now.
    unsafe {
        command.pre_exec(move || {
            if libc::setsid() < 0 || libc::ioctl(number, libc::TIOCSCTTY as _, 0) < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(())
        });
    }
}

/// How many bytes wait to be read from `terminal`.
///
/// # Errors
/// The errno of ioctl(2).
pub(crate) fn waiting_bytes(terminal: BorrowedFd<'_>) -> io::Result<usize> {
    let mut count: libc::c_int = 0;
    // SAFETY: FIONREAD writes one int, which outlives the call.
    if unsafe { libc::ioctl(terminal.as_raw_fd(), libc::FIONREAD, &raw mut count) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(usize::try_from(count).unwrap_or_default())
}

/// Gives `terminal` a size, of which its foreground group is told.
///
/// # Errors
/// The errno of ioctl(2).
pub(crate) fn resize(terminal: BorrowedFd<'_>, rows: u16, columns: u16) -> io::Result<()> {
    let size = libc::winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: TIOCSWINSZ reads one winsize, which outlives the call.
    if unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCSWINSZ as _, &raw const size) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// `N` random bytes from the kernel, in hex.
///
/// # Errors
/// When /dev/urandom cannot be read.
pub(crate) fn random<const N: usize>() -> io::Result<String> {
    let bytes: [u8; N] = random_bytes()?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// `N` bytes that nobody can guess.
pub(crate) fn random_bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Whether the child `pid` stands still; whoever waits for it is told as before.
pub(crate) fn stands_still(pid: Pid) -> io::Result<bool> {
    let mut told = std::mem::MaybeUninit::<libc::siginfo_t>::zeroed();
    let how = libc::WSTOPPED | libc::WNOHANG | libc::WNOWAIT;
    let child = pid.as_raw().cast_unsigned();
    // SAFETY: `told` is room for what the kernel says.
    Errno::result(unsafe { libc::waitid(libc::P_PID, child, told.as_mut_ptr(), how) })?;
    // SAFETY: zeros are a valid one, and stay where there is nothing to say.
    Ok(unsafe { told.assume_init() }.si_signo == libc::SIGCHLD)
}
