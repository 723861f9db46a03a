//! The handlers that note a signal for every supervised call of this process.
//!
//! A handler may only touch atomics and descriptors: each call owns a slot with a bell
//! and a count for each signal. The handlers themselves are put in and taken out by their owner.

use std::io;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicUsize, Ordering::SeqCst};

use nix::errno::Errno;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

/// Calls that can be supervised at once in one process.
pub(crate) const MOST_CALLS: usize = 4096;

/// The signals that are noted.
pub(crate) const NOTED: [Signal; 7] = [
    Signal::SIGINT,
    Signal::SIGTERM,
    Signal::SIGHUP,
    Signal::SIGQUIT,
    Signal::SIGTSTP,
    Signal::SIGCONT,
    Signal::SIGWINCH,
];

/// No bell: the slot is free.
const FREE: RawFd = -1;

struct SignalSlot {
    bell: AtomicI32,
    counts: [AtomicU32; NOTED.len()],
}

static SLOTS: [SignalSlot; MOST_CALLS] = [const {
    SignalSlot { bell: AtomicI32::new(FREE), counts: [const { AtomicU32::new(0) }; NOTED.len()] }
}; MOST_CALLS];

/// Signals that came and that no call has acted on.
static OWED: [AtomicBool; NOTED.len()] = [const { AtomicBool::new(false) }; NOTED.len()];

/// The number of handlers that run right now, in all threads.
static INSIDE: AtomicUsize = AtomicUsize::new(0);

fn index(signal: i32) -> Option<usize> {
    NOTED.iter().position(|noted| *noted as i32 == signal)
}

extern "C" fn note(signal: i32) {
    let errno = Errno::last();
    INSIDE.fetch_add(1, SeqCst);
    if let Some(kind) = index(signal) {
        OWED[kind].store(true, SeqCst);
        SLOTS.iter().for_each(|slot| slot.note(kind));
    }
    INSIDE.fetch_sub(1, SeqCst);
    errno.set();
}

impl SignalSlot {
    fn note(&self, kind: usize) {
        let bell = self.bell.load(SeqCst);
        if bell == FREE {
            return;
        }
        self.counts[kind].fetch_add(1, SeqCst);
        let one = 1_u64;
        // SAFETY: write is async-signal-safe and gets eight bytes that live through the call. The
        // bell is open: the thread that frees the slot waits for us before closing it.
        unsafe { libc::write(bell, (&raw const one).cast(), size_of::<u64>()) };
    }
}

/// Takes a free slot for `bell`, which never blocks; `None` if all are taken.
pub(crate) fn claim_slot(bell: RawFd) -> Option<usize> {
    let free = |slot: &SignalSlot| slot.bell.compare_exchange(FREE, bell, SeqCst, SeqCst).is_ok();
    SLOTS.iter().position(free)
}

/// Frees a slot; afterwards no handler uses its bell any more.
pub(crate) fn free_slot(slot: usize) {
    SLOTS[slot].bell.store(FREE, SeqCst);
    while INSIDE.load(SeqCst) > 0 {
        std::thread::yield_now();
    }
    SLOTS[slot].counts.iter().for_each(|count| count.store(0, SeqCst));
}

/// Returns the count of each signal since the last call, and resets it.
pub(crate) fn take_counts(slot: usize) -> [(Signal, u32); NOTED.len()] {
    std::array::from_fn(|kind| (NOTED[kind], SLOTS[slot].counts[kind].swap(0, SeqCst)))
}

/// Returns whether `signal` came and no call acted on it; from now on it does not count as owed.
pub(crate) fn take_owed(signal: Signal) -> bool {
    index(signal as i32).is_some_and(|kind| OWED[kind].swap(false, SeqCst))
}

/// Reverts [`settle`]: no call acted on `signal` after all.
pub(crate) fn owe(signal: Signal) {
    if let Some(kind) = index(signal as i32) {
        OWED[kind].store(true, SeqCst);
    }
}

/// Notes in `slot` the signals that are owed already.
pub(crate) fn carry_over(slot: usize) {
    let owed = (0..NOTED.len()).filter(|kind| OWED[*kind].load(SeqCst));
    owed.for_each(|kind| SLOTS[slot].note(kind));
}

/// Installs the handler of `signal`; returns the previous action.
pub(crate) fn catch(signal: Signal) -> io::Result<SigAction> {
    let action = SigAction::new(SigHandler::Handler(note), SaFlags::SA_RESTART, SigSet::empty());
    // SAFETY: the handler makes async-signal-safe calls only.
    Ok(unsafe { sigaction(signal, &action) }?)
}

/// Restores the action `before` of `signal`.
pub(crate) fn restore(signal: Signal, before: &SigAction) -> io::Result<()> {
    // SAFETY: this action was in force before, so it is as sound as it was.
    unsafe { sigaction(signal, before) }?;
    Ok(())
}

/// Gives `signal` its default action in this process.
pub(crate) fn default_action(signal: Signal) -> io::Result<()> {
    let action = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
    // SAFETY: the default action runs no code of ours.
    unsafe { sigaction(signal, &action) }?;
    Ok(())
}

/// Stops this process as if SIGTSTP had never been caught, and catches it again once continued.
pub(crate) fn stop_here() -> io::Result<()> {
    default_action(Signal::SIGTSTP)?;
    nix::sys::signal::raise(Signal::SIGTSTP)?;
    catch(Signal::SIGTSTP).map(drop)
}

/// Forgets every call of the parent, in a forked child.
pub(super) fn forget_calls() {
    for signal in NOTED {
        // Blocked until the command is executed, where a handler would be gone anyway.
        let _cannot_fail = default_action(signal);
    }
}
