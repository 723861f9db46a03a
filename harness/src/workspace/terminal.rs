//! The launcher's terminal: a pair of our own, raw, so that every byte typed into it counts.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::Stdio;

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::pty::{OpenptyResult, openpty};
use nix::sys::termios::{SetArg, cfmakeraw, tcgetattr, tcsetattr};

use crate::sys;

/// A terminal; dropping it hangs it up.
#[derive(Debug)]
pub struct Terminal {
    /// Kept open: a terminal that is hung up has lost what was typed.
    _master: OwnedFd,
    slave: OwnedFd,
}

impl Terminal {
    /// A new terminal.
    ///
    /// # Errors
    /// When none can be made.
    pub fn open() -> io::Result<Self> {
        let OpenptyResult { master, slave } = openpty(None, None)?;
        for end in [&master, &slave] {
            fcntl(end, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
        }
        // Only in raw mode does the queue show what has no line end yet.
        let mut settings = tcgetattr(&slave)?;
        cfmakeraw(&mut settings);
        tcsetattr(&slave, SetArg::TCSANOW, &settings)?;
        Ok(Self { _master: master, slave })
    }

    /// The terminal as somebody's stdin.
    ///
    /// # Errors
    /// When no descriptor is left.
    pub fn stdin(&self) -> io::Result<Stdio> {
        Ok(self.slave.try_clone()?.into())
    }

    /// How many bytes have been typed into it and not been read.
    ///
    /// # Errors
    /// When it cannot be asked.
    pub fn typed(&self) -> io::Result<usize> {
        sys::waiting_bytes(self.slave.as_fd())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

    #[test]
    fn what_is_typed_counts() {
        let terminal = Terminal::open().unwrap();
        assert_eq!(terminal.typed().unwrap(), 0);
        nix::unistd::write(&terminal._master, b"x").unwrap();
        // The kernel hands it over in its own time.
        let mut there = [PollFd::new(terminal.slave.as_fd(), PollFlags::POLLIN)];
        assert_eq!(poll(&mut there, PollTimeout::from(10_000u16)), Ok(1));
        assert_eq!(terminal.typed().unwrap(), 1);
    }
}
