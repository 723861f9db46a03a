//! Signals to this process, for every call that runs in it: handlers go in with the first call and
//! come out with the last, and each signal reaches all calls.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

use nix::sys::signal::{SigAction, SigHandler, Signal};

use crate::control::{self, ControlCommand};
use crate::sys::WakeFd;
use crate::sys::signals::{self as noted, NOTED};

/// The state shared by the calls of this process.
struct SupervisedCalls {
    /// The slot of each call, and its end of the control socket.
    running: Vec<(usize, OwnedFd)>,
    /// Handlers stay installed although no call runs.
    held: bool,
    /// The previous action of each caught signal.
    before: Vec<(Signal, SigAction)>,
}

static CALLS: Mutex<SupervisedCalls> =
    Mutex::new(SupervisedCalls { running: Vec::new(), held: false, before: Vec::new() });

fn calls() -> MutexGuard<'static, SupervisedCalls> {
    // Every change below leaves the list whole, so a panic elsewhere means nothing here.
    CALLS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The signals of one call while it runs.
pub(super) struct SignalInbox {
    slot: usize,
    bell: WakeFd,
}

/// Keeps the handlers in for as long as this process lives, so that a signal which comes between a
/// command's end and ours does not keep the result from being written.
pub(crate) fn hold() -> Result<(), String> {
    let mut calls = calls();
    calls.catch()?;
    calls.held = true;
    Ok(())
}

impl SignalInbox {
    /// Listens from now on; `control` is where orders to the command go.
    pub(super) fn listen(control: &OwnedFd) -> Result<Self, String> {
        let no_pipe = |error: io::Error| format!("failed to create signal pipe: {error}");
        let bell = WakeFd::new().map_err(no_pipe)?;
        let control = control.try_clone().map_err(no_pipe)?;
        let mut calls = calls();
        calls.catch()?;
        let Some(slot) = noted::claim_slot(bell.rope()) else {
            calls.release();
            let most = noted::MOST_CALLS;
            return Err(no_pipe(io::Error::other(format!("{most} calls run already"))));
        };
        noted::carry_over(slot);
        calls.running.push((slot, control));
        Ok(Self { slot, bell })
    }

    /// Returns the signals since the last call, and the count of each.
    pub(super) fn take(&self) -> Vec<(Signal, u32)> {
        self.bell.hush();
        noted::take_counts(self.slot).into_iter().filter(|(_, times)| *times > 0).collect()
    }

    /// Passes a stop on to every running command, then stops this process; once for all calls.
    pub(super) fn stop_all(&self) -> io::Result<()> {
        let calls = calls();
        if !noted::take_owed(Signal::SIGTSTP) {
            return Ok(());
        }
        let order = ControlCommand::Signal(Signal::SIGTSTP as i32);
        calls.running.iter().try_for_each(|(_, control)| control::post(control, order.encode()))?;
        noted::stop_here()
    }
}

impl AsFd for SignalInbox {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

impl Drop for SignalInbox {
    fn drop(&mut self) {
        let mut calls = calls();
        noted::free_slot(self.slot);
        calls.running.retain(|(slot, _)| *slot != self.slot);
        calls.release();
    }
}

impl SupervisedCalls {
    /// Installs the handlers of all signals or, on failure, none.
    fn catch(&mut self) -> Result<(), String> {
        if !self.before.is_empty() {
            return Ok(());
        }
        for signal in NOTED {
            let failed = |error| {
                format!("failed to install signal handler for {}: {error}", signal.as_str())
            };
            match noted::catch(signal) {
                Err(error) => {
                    self.put_back();
                    return Err(failed(error));
                }
                Ok(before) if keeps(signal, &before) => {
                    let _as_it_was = noted::restore(signal, &before);
                }
                Ok(before) => self.before.push((signal, before)),
            }
        }
        Ok(())
    }

    /// Restores all actions once no call runs; an unhandled signal is sent again.
    fn release(&mut self) {
        if self.held || !self.running.is_empty() {
            return;
        }
        let caught = self.put_back();
        for signal in caught.into_iter().filter(|signal| noted::take_owed(*signal)) {
            if !matches!(signal, Signal::SIGTSTP | Signal::SIGCONT) {
                let _ourselves = nix::sys::signal::kill(nix::unistd::Pid::this(), signal);
            }
        }
    }

    /// Restores the actions, the last that was replaced first; returns the signals in that order.
    fn put_back(&mut self) -> Vec<Signal> {
        let before = std::mem::take(&mut self.before).into_iter().rev();
        let restored = before.map(|(signal, action)| {
            // An action that was in force before is valid again.
            let _restored = noted::restore(signal, &action);
            signal
        });
        restored.collect()
    }
}

/// Returns whether the previous action of `signal` stays: stop signals where they are ignored or
/// handled, and SIGWINCH where a handler draws on the terminal.
fn keeps(signal: Signal, before: &SigAction) -> bool {
    match signal {
        Signal::SIGTSTP | Signal::SIGCONT => !matches!(before.handler(), SigHandler::SigDfl),
        Signal::SIGWINCH => !matches!(before.handler(), SigHandler::SigDfl | SigHandler::SigIgn),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// Checks that the previous handler of SIGTERM gets a signal that came during a call, if the
    /// call acts on it or if it came too late for the command.
    #[test]
    fn a_signal_that_no_call_acted_on_goes_to_who_had_it_before() {
        let got = Arc::new(AtomicBool::new(false));
        let own = signal_hook::flag::register(libc::SIGTERM, Arc::clone(&got)).unwrap();
        let (control, _other) = control::pair().unwrap();
        for (acts, expected) in [(true, false), (false, true)] {
            let call = SignalInbox::listen(&control).unwrap();
            nix::sys::signal::raise(Signal::SIGTERM).unwrap();
            assert_eq!(call.take(), [(Signal::SIGTERM, 1)]);
            assert!(!got.load(Ordering::SeqCst), "two had it");
            if acts {
                noted::take_owed(Signal::SIGTERM);
            }
            drop(call);
            // Sent to the process, it may come to another thread a little later.
            let begun = std::time::Instant::now();
            while expected && !got.load(Ordering::SeqCst) {
                assert!(begun.elapsed().as_secs() < 30, "the signal was lost");
                std::thread::yield_now();
            }
            assert_eq!(got.load(Ordering::SeqCst), expected, "acts: {acts}");
        }
        signal_hook::low_level::unregister(own);
        comes_before_the_call(&control);
        goes_out_in_reverse_order();
        stays_with_who_draws(&control);
    }

    /// Checks that, where handlers are held in, a signal before the command's start still ends it.
    fn comes_before_the_call(control: &OwnedFd) {
        noted::owe(Signal::SIGHUP);
        let call = SignalInbox::listen(control).unwrap();
        assert_eq!(call.take(), [(Signal::SIGHUP, 1)]);
        assert!(noted::take_owed(Signal::SIGHUP));
    }

    /// Checks that the handler that was installed last is taken out first.
    fn goes_out_in_reverse_order() {
        let mut calls = calls();
        calls.catch().unwrap();
        let caught: Vec<Signal> = calls.before.iter().map(|(signal, _)| *signal).collect();
        let restored = calls.put_back();
        assert!(caught.len() > 4, "{caught:?}");
        assert!(restored.iter().eq(caught.iter().rev()), "{caught:?} {restored:?}");
    }

    /// Checks that a handler that draws on the terminal still gets its size.
    fn stays_with_who_draws(control: &OwnedFd) {
        let told = Arc::new(AtomicBool::new(false));
        let own = signal_hook::flag::register(libc::SIGWINCH, Arc::clone(&told)).unwrap();
        let call = SignalInbox::listen(control).unwrap();
        nix::sys::signal::raise(Signal::SIGWINCH).unwrap();
        assert!(told.load(Ordering::SeqCst));
        drop(call);
        signal_hook::low_level::unregister(own);
    }
}
