//! Raw system calls, for tests of the filter.

use std::ffi::c_long;

/// Makes a call with three numbers that name no memory; the errno if it fails.
pub(crate) fn call(number: c_long, args: [c_long; 3]) -> Result<c_long, i32> {
    let [a, b, c] = args;
    // SAFETY: the callers pass descriptors, flags and null only.
    let result = unsafe { libc::syscall(number, a, b, c) };
    if result < 0 { Err(nix::errno::Errno::last_raw()) } else { Ok(result) }
}
