//! Reaching into another process by a descriptor of it, and into its memory.

use std::io::IoSliceMut;

use nix::fcntl::{AT_FDCWD, OFlag, openat};
use nix::sys::stat::Mode;
use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::Pid;

use super::visibility::slurp;
use crate::args::ProbeArguments;
use crate::outcome::{CallContext, ProbeResult, done, succeed_with};
use crate::output::write_all;
use crate::record::DetailValue;
use crate::sys;

/// An address at which nothing is mapped: the kernel checks permission before it looks.
const NOWHERE: usize = 4096;

pub(crate) fn pidfd_open(args: &ProbeArguments) -> ProbeResult {
    sys::pidfd_open(args.pid()?).at("pidfd_open")?;
    done()
}

pub(crate) fn pidfd_signal(args: &ProbeArguments) -> ProbeResult {
    let signal = args.signal()?.map_or(0, |signal| signal as i32);
    let process = sys::pidfd_open(args.pid()?).at("pidfd_open")?;
    sys::pidfd_send_signal(&process, signal).at("pidfd_send_signal")?;
    done()
}

/// Takes a copy of a descriptor, and with `--text` uses it.
pub(crate) fn pidfd_getfd(args: &ProbeArguments) -> ProbeResult {
    let number = i32::try_from(args.number_or("fd", 0)?).unwrap_or(i32::MAX);
    let process = sys::pidfd_open(args.pid()?).at("pidfd_open")?;
    let stolen = sys::pidfd_getfd(&process, number).at("pidfd_getfd")?;
    write_all(&stolen, args.bytes("text")).at("write")?;
    done()
}

/// Reads the first byte of the first mapping, and copies it to `--to`.
pub(crate) fn process_vm_read(args: &ProbeArguments) -> ProbeResult {
    let pid = args.pid()?;
    let mut byte = [0; 1];
    let from = [RemoteIoVec { base: mapped(pid).unwrap_or(NOWHERE), len: 1 }];
    let count = process_vm_readv(pid, &mut [IoSliceMut::new(&mut byte)], &from);
    let count = count.at("process_vm_readv")?;
    if let Some(to) = args.maybe("to") {
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_TRUNC;
        let copy = openat(AT_FDCWD, to, flags, Mode::from_bits_truncate(0o644)).at("openat")?;
        write_all(&copy, &byte[..count]).at("write")?;
    }
    succeed_with([("bytes", DetailValue::Number(count as u64))])
}

/// The address of the first mapping, if /proc tells.
fn mapped(pid: Pid) -> Option<usize> {
    let maps = slurp(&format!("/proc/{pid}/maps")).ok()?;
    let first = maps.split(|b| *b == b'-').next()?;
    usize::from_str_radix(std::str::from_utf8(first).ok()?, 16).ok()
}
