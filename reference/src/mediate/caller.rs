//! The state of a calling thread: its strings, directories, umask and process ([`CallingThread`]). After
//! each reading the call is checked to be waiting still: otherwise the thread id may have been
//! reused.

use std::ffi::{CString, c_long};
use std::fs;
use std::os::fd::{BorrowedFd, OwnedFd, RawFd};

use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::sys::stat::Mode;
use nix::unistd::Pid;

use super::calls;
use crate::sys::notify::{self, SeccompNotification};

/// Bytes of the longest path, with its NUL.
const PATH_MAX: usize = 4096;
/// Memory is read up to the end of a page, as the next may be missing.
const PAGE: u64 = 4096;

/// A thread that waits for its call.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallingThread<'a> {
    /// The thread.
    pub(super) thread: Pid,
    /// The number of its call.
    pub(super) number: c_long,
    /// The listener at which it waits, and the id of its call.
    waits: Option<(BorrowedFd<'a>, u64)>,
    /// `/proc` belongs to another pid namespace than this process.
    foreign: bool,
}

/// A thread that waits for its call, for another thread of ours.
#[derive(Debug, Clone, Copy)]
pub(super) struct ParkedCaller {
    thread: Pid,
    number: c_long,
    foreign: bool,
}

impl ParkedCaller {
    /// The thread, whose call waits by its listener and id.
    pub(super) fn waiting<'a>(self, waits: (BorrowedFd<'a>, u64)) -> CallingThread<'a> {
        let Self { thread, number, foreign } = self;
        CallingThread { thread, number, waits: Some(waits), foreign }
    }
}

/// The fields of a thread's `/proc` status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ThreadStatus {
    /// The process it belongs to.
    pub(super) process: Pid,
    /// The thread group's id as `/proc` shows it.
    pub(super) shown: Pid,
    /// The mode bits that it never gives.
    pub(super) umask: Mode,
    /// It is the only thread of its process.
    pub(super) alone: bool,
}

impl<'a> CallingThread<'a> {
    /// The thread that `notice`, heard of through `listener`, is from; `foreign` where `/proc` has
    /// other numbers.
    pub(super) fn from_notice(
        notice: &SeccompNotification,
        listener: BorrowedFd<'a>,
        foreign: bool,
    ) -> Self {
        let (thread, number) = (notice.thread, notice.number);
        Self { thread, number, waits: Some((listener, notice.id)), foreign }
    }

    /// The same thread for one that outlives the look at its notice.
    pub(super) fn parked(self) -> ParkedCaller {
        ParkedCaller { thread: self.thread, number: self.number, foreign: self.foreign }
    }

    /// Returns the name of its call.
    pub(super) fn call_name(self) -> &'static str {
        calls::name(self.number)
    }

    /// Returns the name of the process `shown`, its own, as `/proc` has it.
    pub(super) fn program(self, shown: Pid) -> Option<String> {
        let path = format!("/proc/{shown}/comm");
        let read = self.read(|| fs::read(&path).map_err(|error| errno_of(&error))).ok()?;
        Some(String::from_utf8_lossy(read.strip_suffix(b"\n").unwrap_or(&read)).into_owned())
    }

    /// Returns whether `/proc` numbers it otherwise than this process.
    pub(super) fn is_foreign(self) -> bool {
        self.foreign
    }

    /// The thread's number in `/proc`.
    pub(super) fn shown(self) -> nix::Result<Pid> {
        if self.foreign { notify::shown_thread(self.thread) } else { Ok(self.thread) }
    }

    /// Does `read`; where the thread is closed to other processes of the same user, again with the
    /// capability. The capability is raised for reading alone: objects are opened for a caller
    /// without it.
    fn read<T>(self, mut read: impl FnMut() -> nix::Result<T>) -> nix::Result<T> {
        let result = match read() {
            Err(Errno::EPERM | Errno::EACCES) => notify::looking(read),
            other => other,
        };
        match self.waits {
            Some((listener, id)) if !notify::is_waiting(listener, id) => Err(Errno::ESRCH),
            _ => result,
        }
    }

    /// The string at `address`.
    pub(super) fn string(self, address: u64) -> nix::Result<CString> {
        let mut bytes = Vec::new();
        while bytes.len() < PATH_MAX {
            let from = address.checked_add(bytes.len() as u64).ok_or(Errno::EFAULT)?;
            let wanted = (PAGE - from % PAGE) as usize;
            let read = self.memory(from, wanted.min(PATH_MAX - bytes.len()))?;
            bytes.extend(read);
            if let Some(end) = bytes.iter().position(|byte| *byte == 0) {
                bytes.truncate(end);
                return CString::new(bytes).map_err(|_| Errno::EFAULT);
            }
        }
        Err(Errno::ENAMETOOLONG)
    }

    /// `length` bytes at `address`, all or none.
    pub(super) fn memory(self, address: u64, length: usize) -> nix::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        let read = self.read(|| notify::read_memory(self.thread, address, &mut bytes))?;
        if read == length { Ok(bytes) } else { Err(Errno::EFAULT) }
    }

    /// The address of a socket at `address`, of `length` bytes, which the kernel reads as 32 bits
    /// with a sign.
    pub(super) fn address(self, address: u64, length: u64) -> nix::Result<Vec<u8>> {
        /// Bytes of the longest address.
        const LONGEST: u64 = 128;
        match u64::from(length as u32) {
            length @ ..=LONGEST => self.memory(address, length as usize),
            _ => Err(Errno::EINVAL),
        }
    }

    /// The directory that relative paths start at: a descriptor's, or the working directory.
    pub(super) fn base(self, number: RawFd) -> nix::Result<OwnedFd> {
        match number {
            libc::AT_FDCWD => self.open("cwd"),
            number if number < 0 => Err(Errno::EBADF),
            number => self.open(&format!("fd/{number}")).map_err(|errno| match errno {
                Errno::ENOENT => Errno::EBADF,
                other => other,
            }),
        }
    }

    /// Opens the target of a link in the caller's `/proc` directory.
    fn open(self, link: &str) -> nix::Result<OwnedFd> {
        let path = format!("/proc/{}/{link}", self.shown()?);
        let flags = OFlag::O_PATH | OFlag::O_CLOEXEC;
        self.read(|| open(path.as_str(), flags, Mode::empty()))
    }

    /// A copy of its descriptor `number`.
    pub(super) fn descriptor(self, number: RawFd) -> nix::Result<OwnedFd> {
        let process = || self.status().map(|status| status.process);
        let taken = self.read(|| notify::take_descriptor(self.thread, process, number));
        taken.map_err(|errno| if errno == Errno::ENOENT { Errno::EBADF } else { errno })
    }

    /// Writes `bytes` to its memory at `address`.
    pub(super) fn write(self, address: u64, bytes: &[u8]) -> nix::Result<()> {
        self.read(|| notify::write_memory(self.thread, address, bytes))
    }

    /// Its process and umask.
    pub(super) fn status(self) -> nix::Result<ThreadStatus> {
        let text = self.text("status")?;
        status(&text).ok_or(Errno::ESRCH)
    }

    /// The device number of its terminal, if it has one.
    pub(super) fn terminal(self) -> nix::Result<Option<u64>> {
        Ok(terminal(&self.text("stat")?))
    }

    fn text(self, name: &str) -> nix::Result<String> {
        let path = format!("/proc/{}/{name}", self.shown()?);
        self.read(|| fs::read_to_string(&path).map_err(|error| errno_of(&error)))
    }
}

fn errno_of(error: &std::io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::EIO, Errno::from_raw)
}

fn status(text: &str) -> Option<ThreadStatus> {
    let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let umask = Mode::from_bits_truncate(u32::from_str_radix(value("Umask:")?, 8).ok()?);
    let shown = Pid::from_raw(value("Tgid:")?.parse().ok()?);
    // From the namespace of this `/proc` inwards.
    let process = value("NStgid:")?.split_whitespace().next_back()?.parse().ok()?;
    let alone = value("Threads:")? == "1";
    Some(ThreadStatus { process: Pid::from_raw(process), shown, umask, alone })
}

/// The fifth number after the command's name, which is in brackets and may hold anything.
fn terminal(text: &str) -> Option<u64> {
    let (_, rest) = text.rsplit_once(')')?;
    let number: i32 = rest.split_whitespace().nth(4)?.parse().ok()?;
    let (major, minor) = (number >> 8 & 0xfff, number & 0xff | number >> 12 & 0xfff00);
    (number != 0).then(|| libc::makedev(major as u32, minor as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_read() {
        let text =
            "Name:\tx\nUmask:\t0027\nState:\tR\nTgid:\t12\nPid:\t13\nNStgid:\t12\t3\nThreads:\t1\n";
        let [shown, process] = [12, 3].map(Pid::from_raw);
        let expected =
            ThreadStatus { process, shown, umask: Mode::from_bits_truncate(0o27), alone: true };
        assert_eq!(status(text), Some(expected));
        let more = ThreadStatus { alone: false, ..expected };
        assert_eq!(status(&text.replace("Threads:\t1", "Threads:\t11")), Some(more));
        assert_eq!(status("Name:\tx\nTgid:\t12\n"), None);
    }

    #[test]
    fn a_terminal_is_read_whatever_the_name() {
        assert_eq!(terminal("5 (a) b) S 1 5 5 34823 5 0"), Some(libc::makedev(136, 7)));
        assert_eq!(terminal("5 (x) S 1 5 5 0 -1 0"), None);
    }

    #[test]
    fn strings_of_another_thread_end_where_they_end() {
        let caller = CallingThread { thread: Pid::this(), number: 0, waits: None, foreign: false };
        let text = c"some/path";
        assert_eq!(caller.string(text.as_ptr() as u64).as_deref(), Ok(text));
        assert_eq!(caller.string(8), Err(Errno::EFAULT));
        let long = CString::new(vec![b'x'; 5000]).unwrap();
        assert_eq!(caller.string(long.as_ptr() as u64), Err(Errno::ENAMETOOLONG));
    }

    #[test]
    fn descriptors_that_are_not_open_are_bad() {
        let caller = CallingThread { thread: Pid::this(), number: 0, waits: None, foreign: false };
        assert_eq!(caller.base(-5).unwrap_err(), Errno::EBADF);
        assert_eq!(caller.base(999_999).unwrap_err(), Errno::EBADF);
        assert!(caller.base(libc::AT_FDCWD).is_ok());
    }
}
