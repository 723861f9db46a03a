//! Calls on sockets whose addresses and messages are bytes of another process.

use std::ffi::{c_int, c_void};
use std::io::IoSlice;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use nix::errno::Errno;

/// A message to be sent, as the kernel takes it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawMessage<'a> {
    /// The address, of any content; empty for none.
    pub(crate) address: &'a [u8],
    /// The data.
    pub(crate) data: &'a [u8],
    /// Control messages; empty for none.
    pub(crate) control: &'a [u8],
    /// The flags of the call.
    pub(crate) flags: c_int,
}

/// Returns an option of the level SOL_SOCKET, whole.
pub(crate) fn option<const BYTES: usize>(
    socket: BorrowedFd<'_>,
    name: c_int,
) -> nix::Result<[u8; BYTES]> {
    let mut value = [0; BYTES];
    let mut length = BYTES as libc::socklen_t;
    let place = value.as_mut_ptr().cast::<c_void>();
    let number = socket.as_raw_fd();
    // SAFETY: the kernel writes at most `length` bytes, which the value has.
    Errno::result(unsafe {
        libc::getsockopt(number, libc::SOL_SOCKET, name, place, &raw mut length)
    })?;
    if length as usize == BYTES { Ok(value) } else { Err(Errno::EINVAL) }
}

/// Connects `socket` to `address`, given as bytes.
pub(crate) fn connect_to(socket: impl AsFd, address: &[u8]) -> nix::Result<()> {
    let length = address.len() as libc::socklen_t;
    let socket = socket.as_fd().as_raw_fd();
    // SAFETY: the kernel copies `length` bytes of the address, of any content.
    Errno::result(unsafe { libc::connect(socket, address.as_ptr().cast(), length) }).map(drop)
}

/// Sends `message`; returns how many bytes of its data went.
pub(crate) fn send_message(socket: impl AsFd, message: RawMessage<'_>) -> nix::Result<usize> {
    let mut data = IoSlice::new(message.data);
    // SAFETY: all zeroes is a valid header of an empty message.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = (&raw mut data).cast();
    header.msg_iovlen = 1;
    if !message.address.is_empty() {
        header.msg_name = message.address.as_ptr().cast_mut().cast();
        header.msg_namelen = message.address.len() as libc::socklen_t;
    }
    if !message.control.is_empty() {
        header.msg_control = message.control.as_ptr().cast_mut().cast();
        header.msg_controllen = message.control.len() as _;
    }
    let socket = socket.as_fd().as_raw_fd();
    // SAFETY: the header leads to slices that live through the call, which only reads them.
    let sent = unsafe { libc::sendmsg(socket, &raw const header, message.flags) };
    Errno::result(sent).map(|sent| sent as usize)
}

/// Sends one message without an address.
pub(super) fn send_bytes(socket: impl AsFd, data: &[u8]) -> nix::Result<usize> {
    send_message(socket, RawMessage { address: &[], data, control: &[], flags: 0 })
}

/// Receives one message that is there already; returns its length.
pub(super) fn receive_bytes(socket: impl AsFd, into: &mut [u8]) -> nix::Result<usize> {
    let (place, room) = (into.as_mut_ptr().cast::<c_void>(), into.len());
    let socket = socket.as_fd().as_raw_fd();
    // SAFETY: the kernel writes at most as many bytes as there is room.
    let length = unsafe { libc::recv(socket, place, room, libc::MSG_DONTWAIT) };
    Errno::result(length).map(|length| length as usize)
}
