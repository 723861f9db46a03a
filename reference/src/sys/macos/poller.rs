//! The event sources of a run on macOS, all of them kqueues: a poller, a clock, a bell that a
//! handler rings. A queue is readable, in another one too, as long as it holds events.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::event::{EvFlags, EventFilter, FilterFlag, KEvent, Kqueue};

/// Events taken in at once.
const AT_ONCE: usize = 16;
/// A timeout of zero.
const AT_ONE_LOOK: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 0 };

/// No event, to be overwritten.
fn blank() -> [KEvent; AT_ONCE] {
    let filter = EventFilter::EVFILT_READ;
    [KEvent::new(0, filter, EvFlags::empty(), FilterFlag::empty(), 0, 0); AT_ONCE]
}

/// Changes the filters of `queue`.
pub(super) fn change(
    queue: &Kqueue,
    ident: usize,
    filter: EventFilter,
    flags: EvFlags,
    details: FilterFlag,
    number: isize,
) -> nix::Result<()> {
    let event = KEvent::new(ident, filter, flags, details, number, number);
    queue.kevent(&[event], &mut [], Some(AT_ONE_LOOK)).map(drop)
}

/// Adds one filter to `queue`; `number` is the event's own number and the period of a timer.
pub(super) fn add(
    queue: &Kqueue,
    ident: usize,
    filter: EventFilter,
    details: FilterFlag,
    number: isize,
) -> nix::Result<()> {
    change(queue, ident, filter, EvFlags::EV_ADD, details, number)
}

/// Takes the events of `queue`, waiting for one if `waits`.
pub(super) fn taken(queue: &Kqueue, waits: bool) -> nix::Result<Vec<KEvent>> {
    let mut events = blank();
    let count = queue.kevent(&[], &mut events, (!waits).then_some(AT_ONE_LOOK))?;
    Ok(events[..count].to_vec())
}

/// Descriptors that are waited for, each with bits of its own.
pub(crate) struct KqueuePoller(Kqueue);

impl KqueuePoller {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(Kqueue::new()?))
    }

    /// Waits for `fd` to be readable, or closed at its other end.
    pub(crate) fn readable(&self, fd: impl AsFd, bits: u64) -> io::Result<()> {
        self.add(fd, EventFilter::EVFILT_READ, bits)
    }

    /// Waits for `fd` to be writable, or closed at its other end.
    pub(crate) fn writable(&self, fd: impl AsFd, bits: u64) -> io::Result<()> {
        self.add(fd, EventFilter::EVFILT_WRITE, bits)
    }

    fn add(&self, fd: impl AsFd, filter: EventFilter, bits: u64) -> io::Result<()> {
        let ident = fd.as_fd().as_raw_fd() as usize;
        Ok(add(&self.0, ident, filter, FilterFlag::empty(), bits as isize)?)
    }

    /// Waits for `fd` no more.
    pub(crate) fn forget(&self, fd: impl AsFd) -> io::Result<()> {
        let ident = fd.as_fd().as_raw_fd() as usize;
        for filter in [EventFilter::EVFILT_READ, EventFilter::EVFILT_WRITE] {
            match change(&self.0, ident, filter, EvFlags::EV_DELETE, FilterFlag::empty(), 0) {
                Ok(()) | Err(Errno::ENOENT) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }

    /// Waits, without limit, until something happens; no bit if a handler ran meanwhile.
    pub(crate) fn wait(&self) -> io::Result<u64> {
        match taken(&self.0, true) {
            Err(Errno::EINTR) => Ok(0),
            other => Ok(other?.iter().fold(0, |all, one| all | one.udata() as u64)),
        }
    }
}

/// Readable once its time has come.
pub(crate) struct KqueueTimer(Kqueue);

impl KqueueTimer {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(Kqueue::new()?))
    }

    /// Its time comes `after` now.
    pub(crate) fn arm(&self, after: Duration) -> io::Result<()> {
        self.disarm()?;
        let micros = isize::try_from(after.as_micros()).unwrap_or(isize::MAX).max(1);
        let flags = EvFlags::EV_ADD | EvFlags::EV_ONESHOT;
        let unit = FilterFlag::NOTE_USECONDS;
        Ok(change(&self.0, 0, EventFilter::EVFILT_TIMER, flags, unit, micros)?)
    }

    /// Its time does not come.
    pub(crate) fn disarm(&self) -> io::Result<()> {
        let flags = EvFlags::EV_DELETE;
        match change(&self.0, 0, EventFilter::EVFILT_TIMER, flags, FilterFlag::empty(), 0) {
            Ok(()) | Err(Errno::ENOENT) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Takes note that its time has come.
    pub(crate) fn heed(&self) -> io::Result<()> {
        Ok(taken(&self.0, false).map(drop)?)
    }
}

impl AsFd for KqueueTimer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Readable once it was rung: a pipe of which neither end blocks.
pub(crate) struct PipeWakeFd {
    read: File,
    write: OwnedFd,
}

impl PipeWakeFd {
    pub(crate) fn new() -> io::Result<Self> {
        let (read, write) = io::pipe()?;
        let (read, write) = (OwnedFd::from(read), OwnedFd::from(write));
        fcntl(&read, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        fcntl(&write, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        Ok(Self { read: read.into(), write })
    }

    /// Returns the descriptor that rings it.
    pub(crate) fn rope(&self) -> RawFd {
        self.write.as_raw_fd()
    }

    /// Silences it.
    pub(crate) fn hush(&self) {
        // Nothing to be read is no failure: the counts tell.
        let mut rung = [0; 512];
        while (&self.read).read(&mut rung).is_ok_and(|length| length == rung.len()) {}
    }
}

impl AsFd for PipeWakeFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.read.as_fd()
    }
}
