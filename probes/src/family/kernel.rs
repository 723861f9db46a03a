//! Kernel surface of family `sys`: settings, terminals, rarely used calls.

use nix::fcntl::{AT_FDCWD, OFlag, openat};
use nix::sys::stat::Mode;

use crate::args::Args;
#[cfg(target_os = "linux")]
use crate::out::{read_up_to, write_all};
#[cfg(target_os = "linux")]
use crate::record::Value;
use crate::seen::{At, Seen, done};
#[cfg(target_os = "linux")]
use crate::seen::{TEXT_CAP, seen};
use crate::sys;
#[cfg(target_os = "linux")]
use crate::usage::UsageError;

/// Writes what it has just read, so that the setting keeps its value either way.
#[cfg(target_os = "linux")]
pub(crate) fn sysctl_same(args: &Args) -> Seen {
    let path = args.path()?;
    let inside = |text: &str| text.starts_with("/proc/sys/") && !text.contains("..");
    if !path.to_str().is_some_and(inside) {
        return Err(UsageError::bad("path", "expected a path under /proc/sys").into());
    }
    let read = openat(AT_FDCWD, path, OFlag::O_RDONLY, Mode::empty()).at("openat")?;
    let value = read_up_to(&read, TEXT_CAP).at("read")?;
    let write = openat(AT_FDCWD, path, OFlag::O_WRONLY, Mode::empty()).at("openat")?;
    write_all(&write, &value).at("write")?;
    done()
}

pub(crate) fn tiocsti(args: &Args) -> Seen {
    let flags = OFlag::O_RDWR | OFlag::O_NOCTTY;
    let tty = openat(AT_FDCWD, "/dev/tty", flags, Mode::empty()).at("openat")?;
    let text = if args.has("text") { args.bytes("text") } else { b" " };
    text.iter().try_for_each(|byte| sys::tiocsti(&tty, *byte)).at("ioctl")?;
    done()
}

#[cfg(target_os = "linux")]
pub(crate) fn io_uring_setup(_: &Args) -> Seen {
    sys::io_uring_setup().at("io_uring_setup")?;
    done()
}

#[cfg(target_os = "linux")]
pub(crate) fn personality(_: &Args) -> Seen {
    seen([("value", Value::Number(sys::personality().at("personality")?))])
}
