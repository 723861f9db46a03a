//! Datagrams, by each of the calls that send: `udp-send`, `unix-dgram-send`.

use std::io::IoSlice;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockType, SockaddrLike, SockaddrStorage, connect, send,
    sendmsg, sendto, socket,
};

use super::target;
use crate::args::ProbeArguments;
use crate::outcome::{CallContext, ProbeError, ProbeResult, done};
use crate::output::raw;
#[cfg(not(target_os = "linux"))]
use crate::usage_error::UsageError;

/// Words of `--via`; `sendmmsg` exists on Linux only.
pub(crate) const SEND_WORDS: &[&str] = &["sendto", "sendmsg", "sendmmsg", "send"];

/// Success means that the kernel took the datagram; only a listener knows if it came.
pub(crate) fn udp_send(args: &ProbeArguments) -> ProbeResult {
    let via = args.maybe("via").and_then(std::ffi::OsStr::to_str).unwrap_or("sendto");
    datagram(target(args)?, args.bytes("text"), via)?;
    done()
}

/// Sends `bytes` by the call that `via` names.
pub(super) fn datagram(address: SocketAddr, bytes: &[u8], via: &str) -> Result<(), ProbeError> {
    let family = if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let socket = socket(family, SockType::Datagram, SockFlag::empty(), None).at("socket")?;
    by_call(&socket, &SockaddrStorage::from(address), bytes, via)
}

/// Sends `bytes` from `socket` to `to` by the call that `via` names.
pub(super) fn by_call<Address: SockaddrLike + Copy>(
    socket: &OwnedFd,
    to: &Address,
    bytes: &[u8],
    via: &str,
) -> Result<(), ProbeError> {
    let (fd, plain) = (raw(socket), MsgFlags::empty());
    let parts = [IoSlice::new(bytes)];
    match via {
        "sendmsg" => drop(sendmsg(fd, &parts, &[], plain, Some(to)).at("sendmsg")?),
        "sendmmsg" => several(fd, &parts, *to)?,
        "send" => {
            connect(fd, to).at("connect")?;
            send(fd, bytes, plain).at("send")?;
        }
        _ => drop(sendto(fd, bytes, to, plain).at("sendto")?),
    }
    Ok(())
}

#[cfg(target_os = "linux")]
fn several<Address: SockaddrLike + Copy>(
    fd: i32,
    parts: &[IoSlice<'_>; 1],
    to: Address,
) -> Result<(), ProbeError> {
    use nix::sys::socket::{ControlMessage, MultiHeaders, sendmmsg};
    let mut headers = MultiHeaders::<Address>::preallocate(1, None);
    let none: [ControlMessage<'_>; 0] = [];
    let sent = sendmmsg(fd, &mut headers, [parts], [Some(to)], none, MsgFlags::empty());
    sent.at("sendmmsg").map(drop)
}

#[cfg(not(target_os = "linux"))]
fn several<Address>(_: i32, _: &[IoSlice<'_>; 1], _: Address) -> Result<(), ProbeError> {
    Err(UsageError::bad("via", "sendmmsg exists on Linux only").into())
}
