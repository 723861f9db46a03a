//! Rarely needed kernel calls. Those that could harm a host are made with arguments that no
//! kernel accepts, so that only the question of permission is answered.

use std::os::fd::OwnedFd;

use libc::c_long;

use super::raw::{address, call, descriptor};

/// `KEY_SPEC_PROCESS_KEYRING` of keyctl(2): gone with the process.
const PROCESS_KEYRING: c_long = -2;
/// `BPF_MAP_TYPE_ARRAY` of bpf(2); `BPF_MAP_CREATE` is 0.
const ARRAY: u32 = 2;
/// `PERF_TYPE_SOFTWARE` of perf_event_open(2).
const SOFTWARE: u32 = 1;
/// disabled, exclude_kernel, exclude_hv.
const MODEST: u64 = 1 | 1 << 5 | 1 << 6;

/// bpf(2): a map of one number.
pub(crate) fn bpf_map() -> nix::Result<OwnedFd> {
    // map_type, key_size, value_size, max_entries; the rest zero.
    let attributes: [u32; 18] = {
        let mut all = [0; 18];
        all[..4].copy_from_slice(&[ARRAY, 4, 4, 1]);
        all
    };
    let args = [0, address(&raw const attributes), size_of_val(&attributes) as c_long];
    // SAFETY: attributes with their size, which the kernel only reads.
    descriptor(unsafe { call(libc::SYS_bpf, args) })
}

/// perf_event_open(2): a software clock of this process, not running.
pub(crate) fn perf_event() -> nix::Result<OwnedFd> {
    // struct perf_event_attr: type and size in the first word, flags in the sixth.
    let mut attributes = [0_u64; 14];
    let size = size_of_val(&attributes) as u64;
    attributes[0] = u64::from(SOFTWARE) | size << 32;
    attributes[5] = MODEST;
    // SAFETY: attributes that say their size; this process, any processor, no group.
    descriptor(unsafe {
        call(libc::SYS_perf_event_open, [address(&raw const attributes), 0, -1, -1, 0])
    })
}

/// userfaultfd(2).
pub(crate) fn userfaultfd() -> nix::Result<OwnedFd> {
    // SAFETY: numbers only.
    descriptor(unsafe { call(libc::SYS_userfaultfd, [libc::O_CLOEXEC.into()]) })
}

/// reboot(2) with magic numbers that are none: EINVAL whenever it is permitted.
pub(crate) fn reboot_invalid() -> nix::Result<()> {
    // SAFETY: numbers only; without the magic ones the kernel does nothing.
    unsafe { call(libc::SYS_reboot, [0, 0, 0, 0]) }.map(drop)
}

/// init_module(2) of an empty image: ENOEXEC whenever it is permitted.
pub(crate) fn init_module_empty() -> nix::Result<()> {
    let nothing: &std::ffi::CStr = c"";
    let text = nothing.as_ptr() as c_long;
    // SAFETY: an image of no bytes and a NUL-terminated string.
    unsafe { call(libc::SYS_init_module, [text, 0, text]) }.map(drop)
}

/// add_key(2) of a user key in the keyring of this process.
pub(crate) fn add_key(name: &std::ffi::CStr) -> nix::Result<u64> {
    let kind: &std::ffi::CStr = c"user";
    let (kind, text) = (kind.as_ptr() as c_long, name.as_ptr() as c_long);
    let payload = b"x";
    // SAFETY: two NUL-terminated strings, one byte of payload, and a number.
    unsafe { call(libc::SYS_add_key, [kind, text, address(payload), 1, PROCESS_KEYRING]) }
        .map(c_long::unsigned_abs)
}

/// request_key(2) of a user key, without asking user space for it.
pub(crate) fn request_key(name: &std::ffi::CStr) -> nix::Result<u64> {
    let kind: &std::ffi::CStr = c"user";
    let args = [kind.as_ptr() as c_long, name.as_ptr() as c_long, 0, 0];
    // SAFETY: two NUL-terminated strings, no call-out, no keyring.
    unsafe { call(libc::SYS_request_key, args) }.map(c_long::unsigned_abs)
}
