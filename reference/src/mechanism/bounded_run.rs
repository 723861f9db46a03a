//! Asking a program something, for no longer than it may take to answer.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::AsFd;
use std::process::{Command, ExitStatus};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::Pid;

use crate::sys;

/// Bytes that are read of an answer.
const ENOUGH: u64 = 1024;

/// Waits up to `patience` milliseconds for the end of `command`; kills it and returns `None` if it
/// has not ended by then.
pub(super) fn ended(command: &mut Command, patience: u16) -> io::Result<Option<ExitStatus>> {
    let mut child = command.spawn()?;
    let process = sys::open_process(Pid::from_raw(child.id() as i32))?;
    let mut polled = [PollFd::new(process.as_fd(), PollFlags::POLLIN)];
    let ended = poll(&mut polled, PollTimeout::from(patience))? > 0;
    if !ended {
        child.kill()?;
    }
    let status = child.wait()?;
    Ok(ended.then_some(status))
}

/// Returns the beginning of a program's output in `said`.
pub(super) fn text(mut said: File) -> io::Result<String> {
    let mut bytes = Vec::new();
    said.rewind()?;
    said.take(ENOUGH).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
