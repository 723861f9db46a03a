//! A pair of sockets for packets of one fixed length, by which a stream separates them. Processes
//! are not passed: their receivers have another way to them.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::io::Errno as Bare;
use rustix::net::sockopt::set_socket_nosigpipe;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use super::KqueueProcess;

/// Both ends.
pub(crate) fn packet_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let (ours, theirs) = UnixStream::pair()?;
    set_socket_nosigpipe(&ours, true)?;
    set_socket_nosigpipe(&theirs, true)?;
    Ok((ours.into(), theirs.into()))
}

/// Sends one packet.
pub(crate) fn send_packet(socket: impl AsFd, packet: &[u8]) -> rustix::io::Result<()> {
    send(socket, packet, SendFlags::empty()).map(drop)
}

/// Sends one packet, without the process.
pub(crate) fn send_process(
    socket: impl AsFd,
    packet: &[u8],
    _sent: &KqueueProcess,
) -> nix::Result<()> {
    send_packet(socket, packet).map_err(|errno| nix::errno::Errno::from_raw(errno.raw_os_error()))
}

/// The next packet's length; `None`: there is none for now. A length of 0 is the end.
pub(crate) fn next_packet(
    socket: impl AsFd,
    packet: &mut [u8],
) -> io::Result<Option<(usize, Option<KqueueProcess>)>> {
    match recv(socket, &mut *packet, RecvFlags::DONTWAIT) {
        Err(Bare::AGAIN | Bare::INTR | Bare::CONNRESET) => Ok(None),
        other => Ok(Some((other?.0, None))),
    }
}
