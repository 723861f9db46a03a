//! The content of a file: `read`, `write`, `append`, `truncate`, `create`.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;

use nix::fcntl::{AT_FDCWD, OFlag, openat};
use nix::sys::stat::Mode;

use crate::args::ProbeArguments;
use crate::outcome::{CallContext, ProbeError, ProbeResult, TEXT_CAP, done, succeed_with, text};
use crate::output::{read_up_to, write_all};
use crate::record::DetailValue;

pub(crate) fn read(args: &ProbeArguments) -> ProbeResult {
    read_file(args.path()?)
}

/// Reads up to 4 KiB of a file: `data`, and `bytes` read.
pub(crate) fn read_file(path: &OsStr) -> ProbeResult {
    let file = existing(path, OFlag::O_RDONLY)?;
    shown(&read_up_to(&file, TEXT_CAP).at("read")?)
}

/// Records the bytes that were read as `data`, and their number as `bytes`.
pub(super) fn shown(data: &[u8]) -> ProbeResult {
    succeed_with([("data", text(data)), ("bytes", DetailValue::Number(data.len() as u64))])
}

pub(crate) fn write(args: &ProbeArguments) -> ProbeResult {
    put(existing(args.path()?, OFlag::O_WRONLY | OFlag::O_TRUNC)?, args)
}

pub(crate) fn append(args: &ProbeArguments) -> ProbeResult {
    put(existing(args.path()?, OFlag::O_WRONLY | OFlag::O_APPEND)?, args)
}

pub(crate) fn truncate(args: &ProbeArguments) -> ProbeResult {
    let size = args.number_or("size", 0)?;
    nix::unistd::truncate(args.path()?, size.cast_signed()).at("truncate")?;
    done()
}

pub(crate) fn create(args: &ProbeArguments) -> ProbeResult {
    let mode = Mode::from_bits_truncate(args.mode_or(0o644)? as libc::mode_t);
    let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL;
    put(openat(AT_FDCWD, args.path()?, flags, mode).at("openat")?, args)
}

pub(super) fn existing(path: &OsStr, flags: OFlag) -> Result<OwnedFd, ProbeError> {
    openat(AT_FDCWD, path, flags, Mode::empty()).at("openat")
}

/// Writes `--text`; some file systems say no only when the file is closed.
fn put(file: OwnedFd, args: &ProbeArguments) -> ProbeResult {
    write_all(&file, args.bytes("text")).at("write")?;
    nix::unistd::close(file).at("close")?;
    done()
}
