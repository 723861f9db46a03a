//! Moments and waiting for a signal: `ready`, `mark`, `hold`, `trap`, `ignore`.

use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, OFlag, openat};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;
use nix::sys::stat::Mode;

use crate::args::ProbeArguments;
use crate::deadline;
use crate::exit_code as exit;
use crate::outcome::{CallContext, ProbeError, done};
use crate::output::{RecordOutput, read_up_to, write_all};
use crate::record::ProbeEvent;
use crate::sys;
use crate::usage_error::UsageError;

pub(crate) fn ready(_: &ProbeArguments, out: &RecordOutput<'_>) -> Result<i32, ProbeError> {
    out.event(&ProbeEvent::Ready)?;
    Ok(exit::SUCCEEDED)
}

/// Writes a mark for shell lines, which have moments of their own.
pub(crate) fn mark(args: &ProbeArguments, out: &RecordOutput<'_>) -> Result<i32, ProbeError> {
    let name = args.one("name")?.to_string_lossy().into_owned();
    out.event(&ProbeEvent::Mark(name))?;
    Ok(exit::SUCCEEDED)
}

pub(crate) fn hold(args: &ProbeArguments, out: &RecordOutput<'_>) -> Result<i32, ProbeError> {
    for signal in Signal::iterator().filter(|signal| changeable(*signal)) {
        sys::default_action(signal).at("sigaction")?;
    }
    deadline::disarm().at("sigaction")?;
    announce(args, out)?;
    Err(deadline::wait_out(out.limit))
}

pub(crate) fn ignore(args: &ProbeArguments, out: &RecordOutput<'_>) -> Result<i32, ProbeError> {
    deadline::disarm().at("sigaction")?;
    for signal in args.signals()? {
        sys::ignore(signal).at("sigaction")?;
    }
    announce(args, out)?;
    Err(deadline::wait_out(out.limit))
}

/// The file and the code show that the handler ran and was given the time to end.
pub(crate) fn trap(args: &ProbeArguments, out: &RecordOutput<'_>) -> Result<i32, ProbeError> {
    let signal = args.signal()?.ok_or_else(|| UsageError::missing("signal"))?;
    deadline::disarm().at("sigaction")?;
    let (read, write) = nix::unistd::pipe().at("pipe")?;
    sys::notify(signal, &write).at("sigaction")?;
    announce(args, out)?;
    next_note(&read, deadline(out.limit))?;
    linger(Duration::from_millis(args.number_or("linger-ms", 0)?));
    note_down(args)?;
    out.report(done())?;
    Ok(i32::try_from(args.number_or("exit", 0)?).unwrap_or(i32::MAX))
}

/// Further signals do not cut it short.
fn linger(time: Duration) {
    let end = Instant::now() + time;
    while let Some(left) = end.checked_duration_since(Instant::now()) {
        deadline::pause(left);
    }
}

fn changeable(signal: Signal) -> bool {
    signal != Signal::SIGKILL && signal != Signal::SIGSTOP
}

pub(super) fn announce(args: &ProbeArguments, out: &RecordOutput<'_>) -> Result<(), ProbeError> {
    if args.has("ready") { out.event(&ProbeEvent::Ready) } else { Ok(()) }
}

/// Returns the time at which a probe that may live `seconds` from now has to give up.
pub(super) fn deadline(seconds: u32) -> Instant {
    Instant::now() + Duration::from_secs(seconds.into())
}

/// The number of the next signal that a handler has noted, before `end`.
pub(super) fn next_note(read: &OwnedFd, end: Instant) -> Result<u8, ProbeError> {
    while let Some(left) = end.checked_duration_since(Instant::now()) {
        let mut fds = [PollFd::new(read.as_fd(), PollFlags::POLLIN)];
        match poll(&mut fds, PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)) {
            Ok(0) | Err(Errno::EINTR) => {}
            Ok(_) => return read_up_to(read, 1).at("read").map(|bytes| bytes[0]),
            Err(errno) => return Err(errno).at("poll"),
        }
    }
    Err(ProbeError::TimedOut)
}

fn note_down(args: &ProbeArguments) -> Result<(), ProbeError> {
    let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_TRUNC;
    let file = openat(AT_FDCWD, args.one("write")?, flags, Mode::from_bits_truncate(0o644));
    write_all(&file.at("openat")?, args.bytes("text")).at("write")
}
