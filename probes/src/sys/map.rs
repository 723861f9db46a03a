//! Files as memory: [`map_read`] and [`map_write`].

use std::os::fd::{AsRawFd, OwnedFd};

use nix::errno::Errno;

/// Maps the first `length` bytes with mmap(2) for reading, and returns a copy of them. A length of
/// 0 cannot be mapped: one byte of an empty file is mapped, and not read.
pub(crate) fn map_read(file: &OwnedFd, length: usize) -> nix::Result<Vec<u8>> {
    let mapped = length.max(1);
    let place = map(file, mapped, libc::PROT_READ)?;
    // SAFETY: the mapping is at least `length` bytes long, and so was the file a moment ago.
    let bytes = unsafe { std::slice::from_raw_parts(place.cast::<u8>(), length) }.to_vec();
    unmap(place, mapped)?;
    Ok(bytes)
}

/// mmap(2) for writing, a store of `bytes` at the start, and msync(2).
/// The error names the call.
pub(crate) fn map_write(file: &OwnedFd, bytes: &[u8]) -> Result<(), (&'static str, Errno)> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let place = map(file, bytes.len(), access).map_err(|errno| ("mmap", errno))?;
    // SAFETY: the mapping is as long as `bytes` and new, so that they do not overlap.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), place.cast::<u8>(), bytes.len()) };
    // SAFETY: the very mapping made above.
    let synced = Errno::result(unsafe { libc::msync(place, bytes.len(), libc::MS_SYNC) });
    synced.map_err(|errno| ("msync", errno))?;
    unmap(place, bytes.len()).map_err(|errno| ("munmap", errno))
}

fn map(file: &OwnedFd, length: usize, access: libc::c_int) -> nix::Result<*mut libc::c_void> {
    let (anywhere, fd) = (std::ptr::null_mut(), file.as_raw_fd());
    // SAFETY: the kernel chooses the place, so that no memory in use is covered.
    let place = unsafe { libc::mmap(anywhere, length, access, libc::MAP_SHARED, fd, 0) };
    if place == libc::MAP_FAILED { Err(Errno::last()) } else { Ok(place) }
}

fn unmap(place: *mut libc::c_void, length: usize) -> nix::Result<()> {
    // SAFETY: `map` returned this mapping, and no reference to it is left.
    Errno::result(unsafe { libc::munmap(place, length) }).map(drop)
}
