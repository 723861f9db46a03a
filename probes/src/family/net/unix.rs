//! Unix sockets: bound to a path, abstract, or just a pair.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;

use nix::sys::socket::sockopt::SendTimeout;
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, UnixAddr, accept, bind, connect, listen,
    setsockopt, socket,
};
use nix::sys::time::{TimeVal, TimeValLike};

use super::udp::by_call;
use super::{CONNECT_MS, greet};
use crate::args::ProbeArguments;
use crate::outcome::{CallContext, ProbeError, ProbeResult, done};
use crate::output::{raw, read_up_to, write_all};
use crate::sys;
use crate::usage_error::UsageError;

pub(crate) fn unix_connect(args: &ProbeArguments) -> ProbeResult {
    let address = bound_to(args.path()?)?;
    greet(&reach(&address)?, args)?;
    done()
}

#[cfg(target_os = "linux")]
pub(crate) fn abstract_connect(args: &ProbeArguments) -> ProbeResult {
    let name = args.bytes("name");
    // Policies write such a name with an @ in front, as ss and lsof do; it is not part of it.
    let address = UnixAddr::new_abstract(name.strip_prefix(b"@").unwrap_or(name));
    let address = address.map_err(|_| UsageError::bad("name", "too long for a socket address"))?;
    greet(&reach(&address)?, args)?;
    done()
}

pub(crate) fn unix_dgram_send(args: &ProbeArguments) -> ProbeResult {
    let address = bound_to(args.path()?)?;
    let socket = open(SockType::Datagram)?;
    let via = args.maybe("via").and_then(OsStr::to_str).unwrap_or("sendto");
    by_call(&socket, &address, args.bytes("text"), via)?;
    done()
}

pub(crate) fn unix_listen(args: &ProbeArguments) -> ProbeResult {
    let address = bound_to(args.path()?)?;
    let listener = open(SockType::Stream)?;
    bind(raw(&listener), &address).at("bind")?;
    listen(&listener, Backlog::new(1).at("listen")?).at("listen")?;
    let _client = reach(&address)?;
    drop(sys::own(accept(raw(&listener)).at("accept")?));
    done()
}

/// Binds a socket of whole messages, leaves it there and passes one to itself.
#[cfg(target_os = "linux")]
pub(crate) fn unix_seqpacket(args: &ProbeArguments) -> ProbeResult {
    let address = bound_to(args.path()?)?;
    let listener = open(SockType::SeqPacket)?;
    bind(raw(&listener), &address).at("bind")?;
    listen(&listener, Backlog::new(1).at("listen")?).at("listen")?;
    let client = open(SockType::SeqPacket)?;
    connect(raw(&client), &address).at("connect")?;
    write_all(&client, b"!").at("write")?;
    let taken = sys::own(accept(raw(&listener)).at("accept")?);
    if read_up_to(&taken, 1).at("read")? != b"!" {
        return Err(ProbeError::Fault("the socket passed on something else".to_owned()));
    }
    done()
}

/// Connects to a socket of whole messages bound to a path.
#[cfg(target_os = "linux")]
pub(crate) fn seqpacket_connect(args: &ProbeArguments) -> ProbeResult {
    let address = bound_to(args.path()?)?;
    let socket = open(SockType::SeqPacket)?;
    connect(raw(&socket), &address).at("connect")?;
    greet(&socket, args)?;
    done()
}

pub(crate) fn socketpair(_: &ProbeArguments) -> ProbeResult {
    let flags = SockFlag::empty();
    let (here, there) =
        nix::sys::socket::socketpair(AddressFamily::Unix, SockType::Stream, None, flags)
            .at("socketpair")?;
    write_all(&here, b"!").at("write")?;
    if read_up_to(&there, 1).at("read")? != b"!" {
        return Err(ProbeError::Fault("the pair passed on something else".to_owned()));
    }
    done()
}

/// A path that does not fit is the caller's mistake and says nothing about the sandbox.
pub(super) fn bound_to(path: &OsStr) -> Result<UnixAddr, UsageError> {
    UnixAddr::new(path).map_err(|_| UsageError::bad("path", "too long for a socket address"))
}

fn open(kind: SockType) -> Result<OwnedFd, ProbeError> {
    let socket = socket(AddressFamily::Unix, kind, SockFlag::empty(), None).at("socket")?;
    // A full queue shows as EAGAIN instead of keeping us.
    let limit = TimeVal::milliseconds(CONNECT_MS.into());
    setsockopt(&socket, SendTimeout, &limit).at("setsockopt")?;
    Ok(socket)
}

pub(super) fn reach(address: &UnixAddr) -> Result<OwnedFd, ProbeError> {
    let socket = open(SockType::Stream)?;
    connect(raw(&socket), address).at("connect")?;
    Ok(socket)
}
