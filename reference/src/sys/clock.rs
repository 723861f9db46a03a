//! The clock that no one sets.

use nix::time::{ClockId, clock_gettime};

/// Returns the time of `CLOCK_MONOTONIC` in nanoseconds.
pub(crate) fn monotonic_ns() -> u64 {
    const SECOND: u64 = 1_000_000_000;
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC);
    now.map_or(0, |now| now.tv_sec() as u64 * SECOND + now.tv_nsec() as u64)
}
