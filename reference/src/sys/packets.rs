//! A pair of sockets that passes packets, and with each of them a process.

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};

use nix::cmsg_space;
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType, recvmsg,
    sendmsg, socketpair,
};
use rustix::net::{SendFlags, send};

use super::ProcessHandle;

/// Both ends.
pub(crate) fn packet_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)?)
}

/// Sends one packet.
pub(crate) fn send_packet(socket: impl AsFd, packet: &[u8]) -> rustix::io::Result<()> {
    send(socket, packet, SendFlags::NOSIGNAL).map(drop)
}

/// Sends one packet with a process: a descriptor cannot come to mean another process, as a pid can.
pub(crate) fn send_process(
    socket: impl AsFd,
    packet: &[u8],
    sent: &ProcessHandle,
) -> nix::Result<()> {
    let rights = [sent.as_raw_fd()];
    let parts = [ControlMessage::ScmRights(&rights)];
    let socket = socket.as_fd().as_raw_fd();
    let flags = MsgFlags::MSG_NOSIGNAL;
    sendmsg::<()>(socket, &[IoSlice::new(packet)], &parts, flags, None).map(drop)
}

/// The next packet's length, and the process that came with it; `None`: there is none for now. A
/// length of 0 is the end.
pub(crate) fn next_packet(
    socket: impl AsFd,
    packet: &mut [u8],
) -> io::Result<Option<(usize, Option<ProcessHandle>)>> {
    let mut buffers = [IoSliceMut::new(packet)];
    let mut space = cmsg_space!(RawFd);
    let flags = MsgFlags::MSG_CMSG_CLOEXEC | MsgFlags::MSG_DONTWAIT;
    let received = recvmsg::<()>(socket.as_fd().as_raw_fd(), &mut buffers, Some(&mut space), flags);
    let message = match received {
        // Reset: the peer ended with an order unread; its earlier packets can still be read.
        Err(Errno::EAGAIN | Errno::EINTR | Errno::ECONNRESET) => return Ok(None),
        other => other?,
    };
    let sent = message.cmsgs()?.find_map(|part| match part {
        ControlMessageOwned::ScmRights(fds) => fds.first().copied(),
        _ => None,
    });
    Ok(Some((message.bytes, sent.map(super::adopt).transpose()?)))
}
