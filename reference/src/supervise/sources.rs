//! The event sources of the loop: a set of descriptors, each with a bit of its own.

use std::io;
use std::os::fd::AsFd;

use crate::sys;

/// A set of sources, as bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SourceSet(u64);

impl SourceSet {
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
    pub(super) const CALLER: Self = Self(1 << 10);
    pub(super) const REFUSALS: Self = Self(1 << 11);

    /// Returns whether the sets share a source.
    pub(super) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// The poller of all sources.
pub(super) struct SourcePoller(sys::Poller);

impl SourcePoller {
    pub(super) fn new() -> io::Result<Self> {
        sys::Poller::new().map(Self)
    }

    /// Waits for `fd` to be readable, or closed at its other end.
    pub(super) fn readable(&self, fd: impl AsFd, source: SourceSet) -> io::Result<()> {
        self.0.readable(fd, source.0)
    }

    /// Waits for `fd` to be writable, or closed at its other end.
    pub(super) fn writable(&self, fd: impl AsFd, source: SourceSet) -> io::Result<()> {
        self.0.writable(fd, source.0)
    }

    /// Waits for `fd` no more. Closing it is not enough: another process may have a copy.
    pub(super) fn forget(&self, fd: impl AsFd) -> io::Result<()> {
        self.0.forget(fd)
    }

    /// Waits, without limit, until something happens; none if a handler ran meanwhile.
    pub(super) fn wait(&self) -> io::Result<SourceSet> {
        self.0.wait().map(SourceSet)
    }
}
