//! Requests to a terminal.

use std::os::fd::{AsRawFd, OwnedFd};

use nix::errno::Errno;

/// ioctl(2) TIOCSTI: one byte typed into a terminal. With `high` the request number carries a
/// bit that the kernel does not read, but a careless filter does.
#[cfg(target_os = "linux")]
#[allow(clippy::unnecessary_cast, reason = "the constant's type differs between C libraries")]
pub(crate) fn tiocsti(tty: &OwnedFd, byte: u8, high: bool) -> nix::Result<()> {
    let request = libc::TIOCSTI as u64 | if high { 1 << 32 } else { 0 };
    let (fd, request) = (tty.as_raw_fd(), request as libc::c_long);
    // SAFETY: the request reads one byte, which outlives the call. Made directly, since some C
    // libraries cut the number.
    let typed = unsafe { libc::syscall(libc::SYS_ioctl, fd, request, &raw const byte) };
    Errno::result(typed).map(drop)
}

/// ioctl(2) TIOCSTI: one byte typed into a terminal.
#[cfg(not(target_os = "linux"))]
pub(crate) fn tiocsti(tty: &OwnedFd, byte: u8, _high: bool) -> nix::Result<()> {
    // SAFETY: the request reads one byte, which outlives the call.
    let typed = unsafe { libc::ioctl(tty.as_raw_fd(), libc::TIOCSTI as _, &raw const byte) };
    Errno::result(typed).map(drop)
}

/// ioctl(2) TIOCGWINSZ: rows and columns.
pub(crate) fn window_size(tty: &OwnedFd) -> nix::Result<(u16, u16)> {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the request fills in the structure, which outlives the call.
    let asked = unsafe { libc::ioctl(tty.as_raw_fd(), libc::TIOCGWINSZ as _, &raw mut size) };
    Errno::result(asked).map(|_| (size.ws_row, size.ws_col))
}

/// ioctl(2) TIOCLINUX, which can paste into a console, with the harmless question for its
/// shift state.
#[cfg(target_os = "linux")]
pub(crate) fn tioclinux_shift(tty: &OwnedFd) -> nix::Result<()> {
    const TIOCLINUX: libc::c_ulong = 0x541C;
    let mut get_shift_state: u8 = 6;
    let place = &raw mut get_shift_state;
    // SAFETY: the request reads one byte and answers with one.
    Errno::result(unsafe { libc::ioctl(tty.as_raw_fd(), TIOCLINUX as _, place) }).map(drop)
}
