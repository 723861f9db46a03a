//! Other ways to a file than open, read and write; a guard of those three alone misses them.

use std::os::fd::OwnedFd;

use nix::fcntl::{OFlag, openat};
use nix::sys::stat::{Mode, fstat};

use super::content::{existing, shown};
use crate::args::ProbeArguments;
use crate::outcome::{CallContext, ProbeError, ProbeResult, TEXT_CAP, done};
use crate::output::read_up_to;
use crate::sys;
use crate::usage_error::UsageError;

pub(crate) fn mmap_read(args: &ProbeArguments) -> ProbeResult {
    let file = existing(args.path()?, OFlag::O_RDONLY)?;
    let length = length(&file)?.min(TEXT_CAP);
    shown(&sys::map_read(&file, length).at("mmap")?)
}

/// Stores `--text` over the start of a file that is at least as long.
pub(crate) fn mmap_write(args: &ProbeArguments) -> ProbeResult {
    let file = existing(args.path()?, OFlag::O_RDWR)?;
    let bytes = args.bytes("text");
    if bytes.is_empty() || length(&file)? < bytes.len() {
        return Err(UsageError::bad("text", "expected 1 byte to the length of the file").into());
    }
    sys::map_write(&file, bytes).map_err(|(call, errno)| ProbeError::Refused { call, errno })?;
    done()
}

fn length(file: &OwnedFd) -> Result<usize, ProbeError> {
    Ok(usize::try_from(fstat(file).at("fstat")?.st_size).unwrap_or(usize::MAX))
}

/// Opens the directory first, then the file relative to it.
pub(crate) fn read_at(args: &ProbeArguments) -> ProbeResult {
    let directory = existing(args.one("dir")?, OFlag::O_RDONLY | OFlag::O_DIRECTORY)?;
    let file = openat(&directory, args.path()?, OFlag::O_RDONLY, Mode::empty()).at("openat")?;
    shown(&read_up_to(&file, TEXT_CAP).at("read")?)
}
