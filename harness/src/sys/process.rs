//! Processes: forking one of our own, descriptors a child starts with, random bytes.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigHandler, Signal, signal};
use nix::unistd::{ForkResult, Pid};

/// The poll interval of a child where the kernel cannot wake us.
const LOOK: Duration = Duration::from_millis(5);

/// The time that a killed child may take to die.
const DEATH: Duration = Duration::from_secs(5);
/// The time for which the end of a dead child may be kept from us before a tracer counts as the
/// cause.
const HELD: Duration = Duration::from_millis(100);

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

/// Keeps every process that this one starts from inheriting a descriptor, standard streams apart,
/// unless it is given one on purpose: the parent of this process may have left some open.
///
/// # Errors
/// The errno of the listing of our descriptors.
pub(crate) fn hand_nothing_on() -> io::Result<()> {
    let names = std::fs::read_dir("/dev/fd")?.flatten().map(|entry| entry.file_name());
    let numbers: Vec<RawFd> = names.filter_map(|name| name.to_str()?.parse().ok()).collect();
    for number in numbers.into_iter().filter(|number| *number > libc::STDERR_FILENO) {
        // SAFETY: changes a flag of a descriptor of ours; one that is closed by now is an error.
        unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
    Ok(())
}

/// Puts `/dev/null` in the place of the standard streams, so that a reader of the inherited ones does
/// not wait for the end of this process.
///
/// # Errors
/// The errno of open(2) or dup2(2).
pub(crate) fn release_standard_streams() -> io::Result<()> {
    let nothing = std::fs::File::options().read(true).write(true).open("/dev/null")?;
    for number in libc::STDIN_FILENO..=libc::STDERR_FILENO {
        // SAFETY: standard streams are opened and closed by nothing else of this process.
        Errno::result(unsafe { libc::dup2(nothing.as_raw_fd(), number) })?;
    }
    Ok(())
}

/// Makes `command` start with each descriptor open under the number beside it.
///
/// # Errors
/// The errno of fcntl(2), where no descriptor is left.
pub(crate) fn inherit_descriptors(
    command: &mut Command,
    descriptors: Vec<(RawFd, OwnedFd)>,
) -> io::Result<()> {
    let numbers: Vec<RawFd> = descriptors.iter().map(|(number, _)| *number).collect();
    let apart = descriptors.into_iter().map(|(number, own)| Ok((number, apart(own, &numbers)?)));
    let descriptors: Vec<(RawFd, OwnedFd)> = apart.collect::<io::Result<_>>()?;
    if descriptors.is_empty() {
        return Ok(());
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
    Ok(())
}

/// Returns `descriptor` under a number that is none of `numbers`: dup2 to the own number would leave it
/// close-on-exec, and dup2 to another's would close that one.
fn apart(mut descriptor: OwnedFd, numbers: &[RawFd]) -> io::Result<OwnedFd> {
    // Open until the end, so that no number comes twice.
    let mut tried = Vec::new();
    while numbers.contains(&descriptor.as_raw_fd()) {
        let next = descriptor.try_clone()?;
        tried.push(std::mem::replace(&mut descriptor, next));
    }
    Ok(descriptor)
}

/// Has HUP, INT, QUIT and TERM end this process again, as a command expects: a process started in
/// the background by a shell, or by nohup, ignores some, and so would everything that it starts.
/// And has CHLD, which a parent may handle, do nothing.
///
/// # Errors
/// The errno of sigaction(2).
pub(crate) fn default_signals() -> io::Result<()> {
    let ending = [Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM];
    for handled in ending.into_iter().chain([Signal::SIGCHLD, Signal::SIGXFSZ]) {
        // SAFETY: the default action is no handler, so nothing of ours runs in one.
        unsafe { signal(handled, SigHandler::SigDfl) }?;
    }
    Ok(())
}

/// Has a write beyond RLIMIT_FSIZE fail with EFBIG, which is reported, instead of ending this
/// process.
///
/// # Errors
/// The errno of sigaction(2).
pub(crate) fn survive_file_limit() -> io::Result<()> {
    // SAFETY: to ignore a signal is no handler, so nothing of ours runs in one.
    unsafe { signal(Signal::SIGXFSZ, SigHandler::SigIgn) }?;
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

/// Returns the number of bytes that wait to be read from `terminal`.
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

/// Gives `terminal` a size; its foreground group gets SIGWINCH.
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

/// Returns `N` random bytes from the kernel, in hex.
///
/// # Errors
/// The errno of getentropy(3).
pub(crate) fn random<const N: usize>() -> io::Result<String> {
    let bytes: [u8; N] = random_bytes()?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Returns `N` random bytes from the kernel; at most 256.
///
/// # Errors
/// The errno of getrandom(2), on macOS of getentropy(2).
pub(crate) fn random_bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0_u8; N];
    let place = bytes.as_mut_ptr().cast();
    #[cfg(target_os = "linux")]
    // SAFETY: the buffer is as long as it says; so few bytes come whole.
    Errno::result(unsafe { libc::getrandom(place, N, 0) })?;
    #[cfg(not(target_os = "linux"))]
    // SAFETY: the buffer is as long as it says.
    Errno::result(unsafe { libc::getentropy(place, N) })?;
    Ok(bytes)
}

/// Waits for `child`, which was killed, for at most [`DEATH`]: a tracer that never waits keeps its
/// end from its parent, until it ends itself.
pub(crate) fn reap(child: &mut Child) {
    let mut deadline = Instant::now() + DEATH;
    let pid = Pid::from_raw(child.id().cast_signed());
    let mut exit = super::exit_watch(pid);
    loop {
        if !matches!(child.try_wait(), Ok(None)) {
            return;
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        let mut set: Vec<_> =
            exit.iter().map(|fd| PollFd::new(fd.as_fd(), PollFlags::POLLIN)).collect();
        let left = if set.is_empty() { left.min(LOOK) } else { left };
        let died = poll(&mut set, PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX));
        if exit.is_some() && died == Ok(1) {
            // If it is dead and cannot be reaped, only the clock wakes us from here on.
            exit = None;
            deadline = deadline.min(Instant::now() + HELD);
        }
    }
}

/// Returns whether the child `pid` is stopped; a later wait still reports the stop.
pub(crate) fn stands_still(pid: Pid) -> io::Result<bool> {
    let mut told = std::mem::MaybeUninit::<libc::siginfo_t>::zeroed();
    let how = libc::WSTOPPED | libc::WNOHANG | libc::WNOWAIT;
    let child = pid.as_raw().cast_unsigned();
    // SAFETY: `told` is room for what the kernel says.
    Errno::result(unsafe { libc::waitid(libc::P_PID, child, told.as_mut_ptr(), how) })?;
    // SAFETY: zeros are a valid one, and stay where there is nothing to say.
    Ok(unsafe { told.assume_init() }.si_signo == libc::SIGCHLD)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Seek, Write};

    /// A file that holds `text`, from its start.
    fn holding(text: &str) -> std::fs::File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file.rewind().unwrap();
        file
    }

    #[test]
    fn descriptors_arrive_under_the_numbers_of_each_other() {
        let [first, second, own] = ["first", "second", "own"].map(holding);
        let [a, b, c] = [&first, &second, &own].map(AsRawFd::as_raw_fd);
        let mut command = Command::new("bash");
        command.args(["-c", &format!("cat <&{a}; cat <&{b}; cat <&{c}")]);
        let given = vec![(b, first.into()), (a, second.into()), (c, own.into())];
        inherit_descriptors(&mut command, given).unwrap();
        let output = command.output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "secondfirstown", "{output:?}");
    }
}
