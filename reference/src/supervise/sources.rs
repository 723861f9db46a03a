//! What the loop waits for: descriptors in one epoll instance, each with a bit of its own.

use std::io;
use std::os::fd::AsFd;

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

/// A set of sources, as bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sources(u64);

impl Sources {
    pub(super) const SIGNALS: Self = Self(1);
    pub(super) const CONTROL: Self = Self(1 << 1);
    pub(super) const CLOCK: Self = Self(1 << 2);
    pub(super) const HELPER: Self = Self(1 << 3);
    pub(super) const INNER: Self = Self(1 << 4);
    pub(super) const STDIN: Self = Self(1 << 5);
    pub(super) const STDOUT: Self = Self(1 << 6);
    pub(super) const STDERR: Self = Self(1 << 7);
    pub(super) const TEE: Self = Self(1 << 8);
    pub(super) const COMMAND: Self = Self(1 << 9);

    /// Whether one of `other` is among these.
    pub(super) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// The epoll instance.
pub(super) struct Watch(Epoll);

/// Events taken in at once; there are no more sources.
const AT_ONCE: usize = 10;

impl Watch {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self(Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?))
    }

    /// Waits for `fd` to be readable, or closed at its other end.
    pub(super) fn readable(&self, fd: impl AsFd, source: Sources) -> io::Result<()> {
        Ok(self.0.add(fd, EpollEvent::new(EpollFlags::EPOLLIN, source.0))?)
    }

    /// Waits for `fd` to be writable, or closed at its other end.
    pub(super) fn writable(&self, fd: impl AsFd, source: Sources) -> io::Result<()> {
        Ok(self.0.add(fd, EpollEvent::new(EpollFlags::EPOLLOUT, source.0))?)
    }

    /// Waits for `fd` no more. Closing it is not enough: another process may have a copy.
    pub(super) fn forget(&self, fd: impl AsFd) -> io::Result<()> {
        Ok(self.0.delete(fd)?)
    }

    /// Waits, without limit, until something happens; none if a handler ran meanwhile.
    pub(super) fn wait(&self) -> io::Result<Sources> {
        let mut events = [EpollEvent::empty(); AT_ONCE];
        match self.0.wait(&mut events, EpollTimeout::NONE) {
            Err(Errno::EINTR) => Ok(Sources(0)),
            Err(errno) => Err(errno.into()),
            Ok(count) => Ok(Sources(events[..count].iter().fold(0, |all, one| all | one.data()))),
        }
    }
}
