//! Terminals of family `sys`: their detection, their owner, and typing into them.

use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;

use nix::fcntl::{AT_FDCWD, OFlag, openat};
use nix::pty::openpty;
use nix::sys::signal::Signal;
use nix::sys::stat::Mode;
use nix::unistd::{Pid, getpid, isatty as is_terminal, setpgid, tcgetpgrp, tcsetpgrp, ttyname};

use crate::args::ProbeArguments;
use crate::outcome::{CallContext, ProbeError, ProbeResult, done, succeed_with, text};
use crate::output::{read_up_to, write_all};
use crate::record::DetailValue;
use crate::sys;
use crate::usage_error::UsageError;

fn controlling() -> Result<OwnedFd, ProbeError> {
    let flags = OFlag::O_RDWR | OFlag::O_NOCTTY;
    openat(AT_FDCWD, "/dev/tty", flags, Mode::empty()).at("openat")
}

pub(crate) fn tiocsti(args: &ProbeArguments) -> ProbeResult {
    let tty = controlling()?;
    let text = if args.has("text") { args.bytes("text") } else { b" " };
    let high = args.has("high");
    text.iter().try_for_each(|byte| sys::tiocsti(&tty, *byte, high)).at("ioctl")?;
    done()
}

/// ENOTTY on all but a text console.
#[cfg(target_os = "linux")]
pub(crate) fn tioclinux(_: &ProbeArguments) -> ProbeResult {
    sys::tioclinux_shift(&controlling()?).at("ioctl")?;
    done()
}

/// `stdin`, `stdout`, `stderr`: 0 or 1.
pub(crate) fn isatty(_: &ProbeArguments) -> ProbeResult {
    let one = |fd| {
        DetailValue::Number(sys::borrow(fd).is_some_and(|fd| is_terminal(fd) == Ok(true)).into())
    };
    succeed_with([("stdin", one(0)), ("stdout", one(1)), ("stderr", one(2))])
}

/// `data`: the path of the terminal at `--fd`, of stdin unless told.
pub(crate) fn tty_name(args: &ProbeArguments) -> ProbeResult {
    let number = i32::try_from(args.number_or("fd", 0)?).ok();
    let fd = number.and_then(sys::borrow);
    let fd = fd.ok_or_else(|| UsageError::bad("fd", "not a descriptor number"))?;
    let name = ttyname(fd).at("ttyname_r")?;
    succeed_with([("data", text(name.as_os_str().as_bytes()))])
}

/// The controlling terminal's `rows`, `columns` and foreground `pgrp`.
pub(crate) fn ctty(_: &ProbeArguments) -> ProbeResult {
    let tty = controlling()?;
    let (rows, columns) = sys::window_size(&tty).at("ioctl")?;
    let pgrp = tcgetpgrp(&tty).at("tcgetpgrp")?;
    succeed_with([
        ("rows", DetailValue::Number(rows.into())),
        ("columns", DetailValue::Number(columns.into())),
        ("pgrp", DetailValue::Number(u64::from(pgrp.as_raw().unsigned_abs()))),
    ])
}

/// Needs a multiplexer and a directory of terminals that belong together.
pub(crate) fn open_terminal(_: &ProbeArguments) -> ProbeResult {
    let pair = openpty(None, None).at("openpty")?;
    write_all(&pair.master, b"line\n").at("write")?;
    let line = read_up_to(&pair.slave, 5).at("read")?;
    let name = ttyname(&pair.slave).at("ttyname_r")?;
    if line != b"line\n" {
        return Err(ProbeError::Fault("another line came out of the terminal".to_owned()));
    }
    succeed_with([("data", text(name.as_os_str().as_bytes()))])
}

/// Puts a group of its own into the foreground, and the former one back.
pub(crate) fn job_control(_: &ProbeArguments) -> ProbeResult {
    let tty = controlling()?;
    let before = tcgetpgrp(&tty).at("tcgetpgrp")?;
    // Changing it from the background would stop us otherwise.
    sys::ignore(Signal::SIGTTOU).at("sigaction")?;
    setpgid(Pid::from_raw(0), Pid::from_raw(0)).at("setpgid")?;
    tcsetpgrp(&tty, getpid()).at("tcsetpgrp")?;
    let now = tcgetpgrp(&tty).at("tcgetpgrp")?;
    tcsetpgrp(&tty, before).at("tcsetpgrp")?;
    if now != getpid() {
        return Err(ProbeError::Fault(format!("group {now} is in the foreground instead of ours")));
    }
    done()
}
