//! News of children and of their group on macOS: [`KqueueChildEvents`].

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use nix::errno::Errno;
use nix::sys::event::{EventFilter, FilterFlag, Kqueue};
use nix::sys::signal::{SigSet, Signal};
use nix::unistd::Pid;

use super::{default_action, poller, process_table};

/// A queue that is readable once children of this process ended, or members of a watched group.
pub(crate) struct KqueueChildEvents(Kqueue);

impl KqueueChildEvents {
    /// Announces them from now on; this thread is signalled no more.
    pub(crate) fn listen() -> io::Result<Self> {
        default_action(Signal::SIGCHLD)?;
        SigSet::from(Signal::SIGCHLD).thread_block()?;
        let queue = Kqueue::new()?;
        let number = Signal::SIGCHLD as usize;
        poller::add(&queue, number, EventFilter::EVFILT_SIGNAL, FilterFlag::empty(), 0)?;
        Ok(Self(queue))
    }

    /// Reads and discards the announcements.
    pub(crate) fn hush(&self) {
        let _announced = poller::taken(&self.0, false);
    }

    /// Returns whether a live process is in the group of `leader`. Orphans are not children of this
    /// process here, so the end of each is announced too.
    pub(crate) fn has_member(&self, leader: Pid) -> io::Result<bool> {
        let mut any = false;
        for member in process_table::of_group(leader)? {
            let exit = FilterFlag::NOTE_EXIT;
            match poller::add(&self.0, member as usize, EventFilter::EVFILT_PROC, exit, 0) {
                Ok(()) => any = true,
                Err(Errno::ESRCH) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(any)
    }
}

impl AsFd for KqueueChildEvents {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
