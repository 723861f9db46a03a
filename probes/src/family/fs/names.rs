//! Names in directories: making, removing, renaming, linking and listing them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, AtFlags, OFlag, openat, renameat};
use nix::sys::stat::{Mode, SFlag};
use nix::unistd::{linkat, symlinkat};

use crate::args::ProbeArguments;
use crate::outcome::{CallContext, ProbeError, ProbeResult, done, names, succeed_with, text};
use crate::record::DetailValue;
use crate::sys;

/// Words of `--via`; the last three exist on Linux only.
pub(crate) const RENAME_WORDS: &[&str] =
    &["rename", "renameat", "renameat2", "exchange", "noreplace"];

pub(crate) fn mkdir(args: &ProbeArguments) -> ProbeResult {
    nix::unistd::mkdir(args.path()?, mode(args, 0o755)?).at("mkdir")?;
    done()
}

pub(crate) fn rmdir(args: &ProbeArguments) -> ProbeResult {
    sys::rmdir(args.path()?).at("rmdir")?;
    done()
}

pub(crate) fn unlink(args: &ProbeArguments) -> ProbeResult {
    nix::unistd::unlink(args.path()?).at("unlink")?;
    done()
}

pub(crate) fn rename(args: &ProbeArguments) -> ProbeResult {
    let (from, to) = (args.path()?, args.one("to")?);
    match args.maybe("via").and_then(OsStr::to_str).unwrap_or("rename") {
        "rename" => sys::rename(from, to).at("rename")?,
        "renameat" => renameat(AT_FDCWD, from, AT_FDCWD, to).at("renameat")?,
        via => renameat2(from, to, via)?,
    }
    done()
}

#[cfg(target_os = "linux")]
fn renameat2(from: &OsStr, to: &OsStr, via: &str) -> Result<(), ProbeError> {
    let flags = match via {
        "exchange" => libc::RENAME_EXCHANGE,
        "noreplace" => libc::RENAME_NOREPLACE,
        _ => 0,
    };
    sys::renameat2(from, to, flags).at("renameat2")
}

#[cfg(not(target_os = "linux"))]
fn renameat2(_: &OsStr, _: &OsStr, via: &str) -> Result<(), ProbeError> {
    Err(crate::usage_error::UsageError::bad("via", format!("{via} exists on Linux only")).into())
}

pub(crate) fn link(args: &ProbeArguments) -> ProbeResult {
    let (old, new) = (args.path()?, args.one("to")?);
    linkat(AT_FDCWD, old, AT_FDCWD, new, AtFlags::empty()).at("linkat")?;
    done()
}

pub(crate) fn symlink(args: &ProbeArguments) -> ProbeResult {
    symlinkat(args.one("to")?, AT_FDCWD, args.path()?).at("symlinkat")?;
    done()
}

pub(crate) fn mknod_fifo(args: &ProbeArguments) -> ProbeResult {
    nix::sys::stat::mknod(args.path()?, SFlag::S_IFIFO, mode(args, 0o644)?, 0).at("mknod")?;
    done()
}

/// A node only: it is never opened. The null device unless told.
#[cfg(target_os = "linux")]
pub(crate) fn mknod_device(args: &ProbeArguments) -> ProbeResult {
    let block = args.one("kind")? == "block";
    let kind = if block { SFlag::S_IFBLK } else { SFlag::S_IFCHR };
    let device = nix::sys::stat::makedev(args.number_or("major", 1)?, args.number_or("minor", 3)?);
    nix::sys::stat::mknod(args.path()?, kind, mode(args, 0o600)?, device).at("mknod")?;
    done()
}

pub(crate) fn readlink(args: &ProbeArguments) -> ProbeResult {
    let target = nix::fcntl::readlink(args.path()?).at("readlink")?;
    succeed_with([("data", text(target.as_bytes()))])
}

/// `names` without `.` and `..`, and their `count`, which the cap does not touch.
pub(crate) fn readdir(args: &ProbeArguments) -> ProbeResult {
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY;
    let fd = openat(AT_FDCWD, args.path()?, flags, Mode::empty()).at("openat")?;
    let entries = entries(fd).at("getdents")?;
    succeed_with([("count", DetailValue::Number(entries.len() as u64)), ("names", names(entries))])
}

/// Returns the names in an open directory.
pub(crate) fn entries(fd: std::os::fd::OwnedFd) -> nix::Result<Vec<String>> {
    let name = |entry: Result<nix::dir::Entry, Errno>| {
        entry.map(|entry| entry.file_name().to_string_lossy().into_owned())
    };
    let mut names = Dir::from_fd(fd)?.iter().map(name).collect::<nix::Result<Vec<_>>>()?;
    names.retain(|name| name != "." && name != "..");
    Ok(names)
}

fn mode(args: &ProbeArguments, default: u32) -> Result<Mode, ProbeError> {
    Ok(Mode::from_bits_truncate(args.mode_or(default)? as libc::mode_t))
}
