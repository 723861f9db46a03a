//! TCP: connecting, listening, both.

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

#[cfg(target_os = "linux")]
use nix::sys::socket::{MsgFlags, sendto, setsockopt, sockopt::SendTimeout};
#[cfg(target_os = "linux")]
use nix::sys::time::{TimeVal, TimeValLike};

use super::{CONNECT_MS, greet, target};
use crate::args::ProbeArguments;
use crate::outcome::{CallContext, ProbeError, ProbeResult, done, succeed_with};
use crate::output::{raw, write_all};
use crate::record::DetailValue;
use crate::sys;

pub(crate) fn tcp_connect(args: &ProbeArguments) -> ProbeResult {
    let address = target(args)?;
    let socket = stream(family(address))?;
    reach(&socket, &SockaddrStorage::from(address))?;
    greet(&socket, args)?;
    done()
}

/// Connects and sends `bytes`.
pub(super) fn connect_and_send(address: SocketAddr, bytes: &[u8]) -> Result<(), ProbeError> {
    let socket = stream(family(address))?;
    reach(&socket, &SockaddrStorage::from(address))?;
    write_all(&socket, bytes).at("send")
}

/// Connects and sends in one call. Without a cookie from an earlier connection the kernel makes
/// a plain one first, for as long as `CONNECT_MS`.
#[cfg(target_os = "linux")]
pub(crate) fn tcp_fastopen(args: &ProbeArguments) -> ProbeResult {
    let address = target(args)?;
    let socket = stream(family(address))?;
    let limit = TimeVal::milliseconds(CONNECT_MS.into());
    setsockopt(&socket, SendTimeout, &limit).at("setsockopt")?;
    let (to, fast) =
        (SockaddrStorage::from(address), MsgFlags::from_bits_retain(libc::MSG_FASTOPEN));
    sendto(raw(&socket), args.bytes("text"), &to, fast).at("sendto")?;
    done()
}

/// Reports the `port`; the listener is gone with the probe.
pub(crate) fn tcp_listen(args: &ProbeArguments) -> ProbeResult {
    let (_listener, bound) = listener(args)?;
    let port = bound.as_sockaddr_in().map(nix::sys::socket::SockaddrIn::port);
    let port = port.or_else(|| bound.as_sockaddr_in6().map(nix::sys::socket::SockaddrIn6::port));
    let port = port.ok_or_else(|| ProbeError::Fault("bound to no port".to_owned()))?;
    succeed_with([("port", DetailValue::Number(port.into()))])
}

pub(crate) fn tcp_listen_connect(args: &ProbeArguments) -> ProbeResult {
    let (listener, bound) = listener(args)?;
    let family =
        bound.family().ok_or_else(|| ProbeError::Fault("bound to no family".to_owned()))?;
    let client = stream(family)?;
    reach(&client, &bound)?;
    drop(sys::own(accept(raw(&listener)).at("accept")?));
    done()
}

/// Listens on `--addr`, on loopback unless told.
fn listener(args: &ProbeArguments) -> Result<(OwnedFd, SockaddrStorage), ProbeError> {
    let address = args.address()?.unwrap_or((Ipv4Addr::LOCALHOST, 0).into());
    let listener = stream(family(address))?;
    bind(raw(&listener), &SockaddrStorage::from(address)).at("bind")?;
    listen(&listener, Backlog::new(1).at("listen")?).at("listen")?;
    let bound = getsockname(raw(&listener)).at("getsockname")?;
    Ok((listener, bound))
}

fn family(address: SocketAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

fn stream(family: AddressFamily) -> Result<OwnedFd, ProbeError> {
    socket(family, SockType::Stream, SockFlag::empty(), None).at("socket")
}

/// Connects without blocking: a black hole shows as ETIMEDOUT of `poll`, which no
/// kernel says within 2 s, so that it can be told from an answer.
fn reach(socket: &OwnedFd, address: &dyn SockaddrLike) -> Result<(), ProbeError> {
    blocking(socket, false).at("fcntl")?;
    match connect(raw(socket), address) {
        Err(Errno::EINPROGRESS) => writable(socket)?,
        other => other.at("connect")?,
    }
    blocking(socket, true).at("fcntl")
}

fn writable(socket: &OwnedFd) -> Result<(), ProbeError> {
    let mut fds = [PollFd::new(socket.as_fd(), PollFlags::POLLOUT)];
    if poll(&mut fds, PollTimeout::from(CONNECT_MS)).at("poll")? == 0 {
        return Err(ProbeError::Refused { call: "poll", errno: Errno::ETIMEDOUT });
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
