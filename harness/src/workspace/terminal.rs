//! The launcher's terminal: a pair of our own. The input typed into it counts, and so does the
//! output it shows.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use boxproof_cases::case::{TerminalSize, Tty};
use memchr::memmem::find;
use nix::fcntl::{FcntlArg, FdFlag, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::pty::{OpenptyResult, openpty};
use nix::sys::termios::{SetArg, Termios, cfmakeraw, tcgetattr, tcsetattr};
use nix::unistd::ttyname;

use crate::sys;

/// The most that is kept of what it shows, in bytes.
const KEEP: usize = 1 << 20;
/// The number of reads in one go: a writer that never pauses does not hold up the deadlines.
const READS: usize = 64;
/// The time that the kernel may take to hand over bytes that were written to it.
const HAND_OVER: Duration = Duration::from_secs(5);

/// A terminal; dropping it hangs it up.
#[derive(Debug)]
pub struct ArmTerminal {
    /// Our end; gone once it is hung up.
    master: Option<File>,
    slave: OwnedFd,
    before: Termios,
    shown: Vec<u8>,
}

impl ArmTerminal {
    /// A new terminal as `tty` says.
    ///
    /// # Errors
    /// Returns an error when none can be made.
    pub fn open(tty: &Tty) -> io::Result<Self> {
        let OpenptyResult { master, slave } = openpty(None, None)?;
        for end in [&master, &slave] {
            fcntl(end, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
        }
        fcntl(&master, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        let mut before = tcgetattr(&slave)?;
        if !tty.cooked {
            // Only in raw mode does the queue show what has no line end yet.
            cfmakeraw(&mut before);
            tcsetattr(&slave, SetArg::TCSANOW, &before)?;
        }
        sys::resize(master.as_fd(), tty.size.rows, tty.size.columns)?;
        let before = tcgetattr(&slave)?;
        Ok(Self { master: Some(File::from(master)), slave, before, shown: Vec::new() })
    }

    /// Returns the terminal as a stream for a child.
    ///
    /// # Errors
    /// The error when no descriptor is left.
    pub fn stdio(&self) -> io::Result<Stdio> {
        Ok(self.slave.try_clone()?.into())
    }

    /// Returns the number of bytes that have been typed into it and not been read.
    ///
    /// # Errors
    /// The errno of the query.
    pub fn typed(&self) -> io::Result<usize> {
        sys::waiting_bytes(self.slave.as_fd())
    }

    /// Returns the descriptor to poll for more output.
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.master.as_ref().map(AsFd::as_fd)
    }

    /// Returns the output so far.
    pub fn shown(&self) -> &[u8] {
        &self.shown
    }

    /// Takes what is shown by now, without waiting.
    pub fn collect(&mut self) {
        let mut buffer = [0; 4096];
        for _ in 0..READS {
            let Some(Ok(count @ 1..)) = self.master.as_mut().map(|end| end.read(&mut buffer))
            else {
                return;
            };
            let room = KEEP.saturating_sub(self.shown.len());
            self.shown.extend_from_slice(&buffer[..count.min(room)]);
        }
    }

    /// Takes everything that was written to it before this call: the kernel hands it over in its
    /// own time, but in order.
    ///
    /// # Errors
    /// Returns an error when it does not take or hand over a word of ours.
    pub fn drain_output(&mut self) -> io::Result<()> {
        if self.master.is_none() {
            return Ok(());
        }
        let from = self.shown.len();
        let word = format!("\u{1e}{}", sys::random::<8>()?);
        self.ours()?.write_all(word.as_bytes())?;
        let until = Instant::now() + HAND_OVER;
        loop {
            self.collect();
            if let Some(at) = find(&self.shown[from..], word.as_bytes()) {
                self.shown.drain(from + at..from + at + word.len());
                return Ok(());
            }
            let left = until.saturating_duration_since(Instant::now());
            let end = self.master.as_ref().ok_or(io::ErrorKind::BrokenPipe)?;
            let mut more = [PollFd::new(end.as_fd(), PollFlags::POLLIN)];
            if poll(&mut more, PollTimeout::try_from(left).unwrap_or(PollTimeout::ZERO))? == 0 {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
    }

    /// Opens the terminal anew, so that its non-blocking mode applies to no other process.
    fn ours(&self) -> io::Result<File> {
        let flags = OFlag::O_NOCTTY | OFlag::O_NONBLOCK;
        OpenOptions::new().write(true).custom_flags(flags.bits()).open(ttyname(&self.slave)?)
    }

    /// Types `text`.
    ///
    /// # Errors
    /// Returns an error when it is hung up or full.
    pub fn type_in(&mut self, text: &str) -> io::Result<()> {
        self.master.as_mut().ok_or(io::ErrorKind::BrokenPipe)?.write_all(text.as_bytes())
    }

    /// Changes its size.
    ///
    /// # Errors
    /// Returns an error when it is hung up.
    pub fn resize(&self, size: TerminalSize) -> io::Result<()> {
        let end = self.master.as_ref().ok_or(io::ErrorKind::BrokenPipe)?;
        sys::resize(end.as_fd(), size.rows, size.columns)
    }

    /// Hangs it up.
    pub fn hang_up(&mut self) {
        self.collect();
        self.master = None;
    }

    /// Lists the settings that have changed.
    ///
    /// # Errors
    /// The errno of the query, as after a hang-up.
    pub fn changed(&self) -> io::Result<Vec<&'static str>> {
        let (was, is) = (&self.before, tcgetattr(&self.slave)?);
        let looks = [
            ("input", was.input_flags != is.input_flags),
            ("output", was.output_flags != is.output_flags),
            ("control", was.control_flags != is.control_flags),
            ("local", was.local_flags != is.local_flags),
            ("character", was.control_chars != is.control_chars),
        ];
        Ok(looks.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terminal(cooked: bool) -> ArmTerminal {
        ArmTerminal::open(&Tty { cooked, ..Tty::default() }).unwrap()
    }

    fn write(terminal: &ArmTerminal, text: &str) {
        nix::unistd::write(&terminal.slave, text.as_bytes()).unwrap();
    }

    #[test]
    fn what_is_typed_counts() {
        let mut terminal = terminal(false);
        assert_eq!(terminal.typed().unwrap(), 0);
        terminal.type_in("x").unwrap();
        // The kernel hands it over in its own time.
        let mut there = [PollFd::new(terminal.slave.as_fd(), PollFlags::POLLIN)];
        assert_eq!(poll(&mut there, PollTimeout::from(10_000u16)), Ok(1));
        assert_eq!(terminal.typed().unwrap(), 1);
    }

    #[test]
    fn all_that_was_written_is_shown_and_nothing_of_ours() {
        for (cooked, shown) in [(false, "one\ntwo"), (true, "one\r\ntwo")] {
            let mut terminal = terminal(cooked);
            write(&terminal, "one\n");
            terminal.drain_output().unwrap();
            write(&terminal, "two");
            terminal.drain_output().unwrap();
            assert_eq!(String::from_utf8_lossy(terminal.shown()), shown);
        }
    }

    #[test]
    fn a_size_is_the_one_it_was_given() {
        let terminal = terminal(false);
        let size = || nix::unistd::isatty(&terminal.slave).map(|_| stty(&terminal, "size"));
        assert_eq!(size().unwrap(), "24 80\n");
        terminal.resize(TerminalSize { rows: 5, columns: 9 }).unwrap();
        assert_eq!(size().unwrap(), "5 9\n");
    }

    fn stty(terminal: &ArmTerminal, arg: &str) -> String {
        let mut command = std::process::Command::new("stty");
        let output = command.arg(arg).stdin(terminal.stdio().unwrap()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    #[test]
    fn a_setting_that_changes_is_named() {
        let terminal = terminal(true);
        assert_eq!(terminal.changed().unwrap(), [""; 0]);
        stty(&terminal, "-echo");
        assert_eq!(terminal.changed().unwrap(), ["local"]);
        stty(&terminal, "echo");
        assert_eq!(terminal.changed().unwrap(), [""; 0]);
    }

    #[test]
    fn who_is_hung_up_takes_nothing_and_keeps_what_it_showed() {
        let mut terminal = terminal(false);
        write(&terminal, "said");
        terminal.drain_output().unwrap();
        terminal.hang_up();
        assert!(
            terminal.type_in("x").is_err() && terminal.resize(TerminalSize::default()).is_err()
        );
        assert!(terminal.changed().is_err() && terminal.descriptor().is_none());
        terminal.drain_output().unwrap();
        assert_eq!(terminal.shown(), b"said");
    }
}
