//! The door: listening sockets made inside the namespace, and handed out to the server outside. No
//! process of ours stays inside.

use std::io::{self, IoSlice, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use nix::cmsg_space;
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType, recvmsg,
    sendmsg, socketpair,
};

use crate::sys;

/// The inner end, until it was used.
#[derive(Debug)]
pub(crate) struct ListenerHandoff {
    socket: OwnedFd,
    port: u16,
}

/// Both ends of a door to `port`.
pub(crate) fn pair(port: u16) -> io::Result<(ListenerHandoff, OwnedFd)> {
    let (inner, outer) =
        socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)?;
    Ok((ListenerHandoff { socket: inner, port }, outer))
}

impl ListenerHandoff {
    /// Adopts the door from [`ListenerHandoff::numbers`] of another program.
    pub(crate) fn adopt([socket, port]: [RawFd; 2]) -> io::Result<Self> {
        let port = u16::try_from(port).map_err(io::Error::other)?;
        Ok(Self { socket: sys::adopt(socket)?, port })
    }

    /// Descriptor and port.
    pub(crate) fn numbers(&self) -> [RawFd; 2] {
        [self.socket.as_raw_fd(), self.port.into()]
    }

    /// Listens here, at the loopback addresses, and hands that out.
    pub(crate) fn open(&self) -> io::Result<()> {
        let here = |address: IpAddr| TcpListener::bind((address, self.port));
        let mut sockets = vec![here(Ipv4Addr::LOCALHOST.into())?];
        match here(Ipv6Addr::LOCALHOST.into()) {
            Ok(socket) => sockets.push(socket),
            // There is no IPv6 here at all.
            Err(error) if is_missing(&error) => {}
            Err(error) => return Err(error),
        }
        let numbers: Vec<RawFd> = sockets.iter().map(AsRawFd::as_raw_fd).collect();
        let rights = [ControlMessage::ScmRights(&numbers)];
        let to = self.socket.as_raw_fd();
        sendmsg::<()>(to, &[IoSlice::new(b"door")], &rights, MsgFlags::MSG_NOSIGNAL, None)?;
        Ok(())
    }
}

fn is_missing(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw);
    matches!(errno, Some(Errno::EADDRNOTAVAIL | Errno::EAFNOSUPPORT))
}

/// Waits for the sockets from the inner end; none if it ended before.
pub(super) fn wait(outer: &OwnedFd) -> io::Result<Vec<TcpListener>> {
    let mut word = [0; 8];
    let mut buffers = [IoSliceMut::new(&mut word)];
    let mut space = cmsg_space!([RawFd; 2]);
    let message = loop {
        let from = outer.as_raw_fd();
        match recvmsg::<()>(from, &mut buffers, Some(&mut space), MsgFlags::MSG_CMSG_CLOEXEC) {
            Err(Errno::EINTR) => {}
            Err(Errno::ECONNRESET) => return Ok(Vec::new()),
            received => break received?,
        }
    };
    let sent = message.cmsgs()?.filter_map(|part| match part {
        ControlMessageOwned::ScmRights(numbers) => Some(numbers),
        _ => None,
    });
    sent.flatten().map(|number| Ok(TcpListener::from(sys::adopt(number)?))).collect()
}
