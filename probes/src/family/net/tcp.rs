//! `tcp-connect` and `tcp-listen-connect`.

use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::sockopt::SocketError;
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, SockaddrLike, SockaddrStorage, accept, bind,
    connect, getsockname, getsockopt, listen, socket,
};

use super::{CONNECT_MS, greet};
use crate::args::Args;
use crate::out::raw;
use crate::seen::{At, Seen, Stop, done};
use crate::sys;
use crate::usage::UsageError;

pub(crate) fn tcp_connect(args: &Args) -> Seen {
    let address = args.address()?.ok_or_else(|| UsageError::missing("addr"))?;
    let socket = stream(family(address))?;
    reach(&socket, &SockaddrStorage::from(address))?;
    greet(&socket, args)?;
    done()
}

pub(crate) fn tcp_listen_connect(args: &Args) -> Seen {
    let address = args.address()?.unwrap_or((Ipv4Addr::LOCALHOST, 0).into());
    let listener = stream(family(address))?;
    bind(raw(&listener), &SockaddrStorage::from(address)).at("bind")?;
    listen(&listener, Backlog::new(1).at("listen")?).at("listen")?;
    let bound: SockaddrStorage = getsockname(raw(&listener)).at("getsockname")?;
    let client = stream(family(address))?;
    reach(&client, &bound)?;
    drop(sys::own(accept(raw(&listener)).at("accept")?));
    done()
}

fn family(address: SocketAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

fn stream(family: AddressFamily) -> Result<OwnedFd, Stop> {
    socket(family, SockType::Stream, SockFlag::empty(), None).at("socket")
}

/// Connects without blocking: a black hole shows as ETIMEDOUT of `poll`, which no
/// kernel says within 2 s, so that it can be told from an answer.
fn reach(socket: &OwnedFd, address: &dyn SockaddrLike) -> Result<(), Stop> {
    blocking(socket, false).at("fcntl")?;
    match connect(raw(socket), address) {
        Err(Errno::EINPROGRESS) => writable(socket)?,
        other => other.at("connect")?,
    }
    blocking(socket, true).at("fcntl")
}

fn writable(socket: &OwnedFd) -> Result<(), Stop> {
    let mut fds = [PollFd::new(socket.as_fd(), PollFlags::POLLOUT)];
    if poll(&mut fds, PollTimeout::from(CONNECT_MS)).at("poll")? == 0 {
        return Err(Stop::Refused { call: "poll", errno: Errno::ETIMEDOUT });
    }
    match getsockopt(socket, SocketError).at("getsockopt")? {
        0 => Ok(()),
        errno => Err(Errno::from_raw(errno)).at("connect"),
    }
}

fn blocking(socket: &OwnedFd, blocking: bool) -> nix::Result<()> {
    let flags = if blocking { OFlag::empty() } else { OFlag::O_NONBLOCK };
    fcntl(socket, FcntlArg::F_SETFL(flags)).map(drop)
}
