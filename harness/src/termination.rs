//! The signals that end a run: caught while there is something to clean up, and what they always
//! were before and afterwards. Main type: [`Termination`].

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use nix::sys::signal::Signal;
use signal_hook::{flag, low_level};

/// The signals.
const ENDING: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];

/// The state that the handlers of this process share.
struct SignalHandlers {
    /// Readable once a signal has come.
    line: UnixStream,
    /// The numbers of both ends of it, and of every copy.
    ends: Vec<RawFd>,
    /// The signal that came last.
    received: Arc<AtomicUsize>,
    /// True if a signal has its default action.
    default: Arc<AtomicBool>,
    /// The number of [`Termination`]s.
    depth: AtomicUsize,
}

/// The handlers, installed once: they stay, and act as the signal would once no code waits for it.
static HANDLERS: OnceLock<SignalHandlers> = OnceLock::new();

/// While this lives, INT, TERM and HUP are only noted.
#[derive(Debug)]
pub struct Termination(());

impl Termination {
    /// Catches the signals. Call before any thread exists.
    ///
    /// # Errors
    /// Returns an error when no handler can be installed.
    pub fn catch() -> io::Result<Self> {
        let handlers = match HANDLERS.get() {
            Some(handlers) => handlers,
            None => {
                let made = SignalHandlers::install()?;
                HANDLERS.get_or_init(|| made)
            }
        };
        handlers.depth.fetch_add(1, Ordering::SeqCst);
        handlers.default.store(false, Ordering::SeqCst);
        Ok(Self(()))
    }

    /// Gives the signals back their default action; the one that came before.
    pub fn release(self) -> Option<Signal> {
        drop(self);
        received()
    }
}

impl Drop for Termination {
    fn drop(&mut self) {
        if let Some(handlers) = HANDLERS.get()
            && handlers.depth.fetch_sub(1, Ordering::SeqCst) == 1
        {
            handlers.default.store(true, Ordering::SeqCst);
        }
    }
}

impl SignalHandlers {
    fn install() -> io::Result<Self> {
        let (line, write) = UnixStream::pair()?;
        line.set_nonblocking(true)?;
        let received = Arc::new(AtomicUsize::new(0));
        let default = Arc::new(AtomicBool::new(false));
        let mut ends = vec![line.as_raw_fd()];
        for signal in ENDING {
            let number = signal as i32;
            flag::register_conditional_default(number, Arc::clone(&default))?;
            // The number before the byte: a reader that the byte wakes finds it there.
            let value = number.unsigned_abs() as usize;
            flag::register_usize(number, Arc::clone(&received), value)?;
            let write = write.try_clone()?;
            ends.push(write.as_raw_fd());
            low_level::pipe::register(number, write)?;
        }
        Ok(Self { line, ends, received, default, depth: AtomicUsize::new(0) })
    }
}

/// The signal that came while one was caught.
pub(crate) fn received() -> Option<Signal> {
    let number = HANDLERS.get()?.received.load(Ordering::SeqCst);
    ENDING.into_iter().find(|signal| *signal as usize == number)
}

/// The descriptors by which a handler wakes this process: a forked child has no business with them.
pub(crate) fn own_descriptors() -> &'static [RawFd] {
    HANDLERS.get().map_or(&[], |handlers| &handlers.ends)
}

/// Returns the descriptor that is readable once a signal has come, where signals are caught.
pub(crate) fn descriptor() -> Option<BorrowedFd<'static>> {
    HANDLERS.get().map(|handlers| handlers.line.as_fd())
}
