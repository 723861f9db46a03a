//! The event sources of a run on Linux: a poller, a clock, a bell that a handler rings, and news of
//! children.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use nix::unistd::Pid;

/// Descriptors that are waited for, each with bits of its own: an epoll instance.
pub(crate) struct Poller(Epoll);

/// Events taken in at once; there are no more sources.
const AT_ONCE: usize = 12;

impl Poller {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?))
    }

    /// Waits for `fd` to be readable, or closed at its other end.
    pub(crate) fn readable(&self, fd: impl AsFd, bits: u64) -> io::Result<()> {
        Ok(self.0.add(fd, EpollEvent::new(EpollFlags::EPOLLIN, bits))?)
    }

    /// Waits for `fd` to be writable, or closed at its other end.
    pub(crate) fn writable(&self, fd: impl AsFd, bits: u64) -> io::Result<()> {
        Ok(self.0.add(fd, EpollEvent::new(EpollFlags::EPOLLOUT, bits))?)
    }

    /// Waits for `fd` no more. Closing it is not enough: another process may have a copy.
    pub(crate) fn forget(&self, fd: impl AsFd) -> io::Result<()> {
        Ok(self.0.delete(fd)?)
    }

    /// Waits, without limit, until something happens; no bit if a handler ran meanwhile.
    pub(crate) fn wait(&self) -> io::Result<u64> {
        let mut events = [EpollEvent::empty(); AT_ONCE];
        match self.0.wait(&mut events, EpollTimeout::NONE) {
            Err(Errno::EINTR) => Ok(0),
            Err(errno) => Err(errno.into()),
            Ok(count) => Ok(events[..count].iter().fold(0, |all, one| all | one.data())),
        }
    }
}

/// Readable once its time has come: a timer.
pub(crate) struct Timer(TimerFd);

impl Timer {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_CLOEXEC)?))
    }

    /// Its time comes `after` now.
    pub(crate) fn arm(&self, after: Duration) -> io::Result<()> {
        // Zero would disarm the timer.
        let after = TimeSpec::from_duration(after.max(Duration::from_nanos(1)));
        Ok(self.0.set(Expiration::OneShot(after), TimerSetTimeFlags::empty())?)
    }

    /// Its time does not come.
    pub(crate) fn disarm(&self) -> io::Result<()> {
        Ok(self.0.unset()?)
    }

    /// Takes note that its time has come.
    pub(crate) fn heed(&self) -> io::Result<()> {
        Ok(self.0.wait()?)
    }
}

impl AsFd for Timer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Readable once it was rung, by eight bytes: an eventfd.
pub(crate) struct WakeFd(EventFd);

impl WakeFd {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?))
    }

    /// Returns the descriptor that rings it.
    pub(crate) fn rope(&self) -> RawFd {
        self.0.as_fd().as_raw_fd()
    }

    /// Silences it.
    pub(crate) fn hush(&self) {
        // Nothing to be read is no failure: the counts tell.
        let _empty = self.0.read();
    }
}

impl AsFd for WakeFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Readable once children of this process ended: their signal.
pub(crate) struct ChildEvents(SignalFd);

/// Bytes that the announcements of ended children may fill at once: one, they are merged.
const ANNOUNCED: usize = 128;

impl ChildEvents {
    /// Announces them from now on; this thread is signalled no more.
    pub(crate) fn listen() -> io::Result<Self> {
        super::default_action(Signal::SIGCHLD)?;
        let mask = SigSet::from(Signal::SIGCHLD);
        mask.thread_block()?;
        Ok(Self(SignalFd::with_flags(&mask, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?))
    }

    /// Reads and discards the announcements. Allocates nothing: see [`super::start_beside`].
    pub(crate) fn hush(&self) {
        let _merged = rustix::io::read(&self.0, &mut [0; ANNOUNCED]);
    }

    /// Returns whether a child, dead or alive, is in the group of `leader`. Orphans are children of
    /// the stage.
    pub(crate) fn has_member(&self, leader: Pid) -> io::Result<bool> {
        super::has_child(Some(leader))
    }
}

impl AsFd for ChildEvents {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
