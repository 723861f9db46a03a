//! Nothing here lives for ever: every process of a probe ends itself in time.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use nix::unistd::alarm;

use crate::outcome::ProbeError;
use crate::sys;

/// The longest a probe lives, in seconds; `--limit` can only shorten it.
pub(crate) const LONGEST: u32 = 60;

/// Ends this process with `exit::TIMED_OUT` after `seconds`, even in the middle of a call.
pub(crate) fn arm(seconds: u32) -> nix::Result<()> {
    sys::give_up_on_alarm()?;
    sys::unblock(Signal::SIGALRM)?;
    alarm::set(seconds);
    Ok(())
}

/// Takes the alarm back, for a probe that watches the time in its own loop.
pub(crate) fn disarm() -> nix::Result<()> {
    alarm::cancel();
    sys::default_action(Signal::SIGALRM)
}

/// Waits `seconds` for something that ends the process; then gives up.
pub(crate) fn wait_out(seconds: u32) -> ProbeError {
    let end = Instant::now() + Duration::from_secs(seconds.into());
    while let Some(left) = end.checked_duration_since(Instant::now()) {
        pause(left);
    }
    ProbeError::TimedOut
}

/// Sleeps up to `time`; a signal may cut it short.
pub(crate) fn pause(time: Duration) {
    let timeout = nix::poll::PollTimeout::try_from(time).unwrap_or(nix::poll::PollTimeout::MAX);
    let _ = nix::poll::poll(&mut [], timeout);
}
