//! `udp-send`, by each of the calls that send.

use std::io::IoSlice;
use std::net::SocketAddr;

use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockType, SockaddrStorage, connect, send, sendmsg, sendto,
    socket,
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
    let (fd, to, plain) = (raw(&socket), SockaddrStorage::from(address), MsgFlags::empty());
    let parts = [IoSlice::new(bytes)];
    match via {
        "sendmsg" => drop(sendmsg(fd, &parts, &[], plain, Some(&to)).at("sendmsg")?),
        "sendmmsg" => several(fd, &parts, to)?,
        "send" => {
            connect(fd, &to).at("connect")?;
            send(fd, bytes, plain).at("send")?;
        }
        _ => drop(sendto(fd, bytes, &to, plain).at("sendto")?),
    }
    Ok(())
}

#[cfg(target_os = "linux")]
fn several(fd: i32, parts: &[IoSlice<'_>; 1], to: SockaddrStorage) -> Result<(), ProbeError> {
    use nix::sys::socket::{ControlMessage, MultiHeaders, sendmmsg};
    let mut headers = MultiHeaders::<SockaddrStorage>::preallocate(1, None);
    let none: [ControlMessage<'_>; 0] = [];
    let sent = sendmmsg(fd, &mut headers, [parts], [Some(to)], none, MsgFlags::empty());
    sent.at("sendmmsg").map(drop)
}

#[cfg(not(target_os = "linux"))]
fn several(_: i32, _: &[IoSlice<'_>; 1], _: SockaddrStorage) -> Result<(), ProbeError> {
    Err(UsageError::bad("via", "sendmmsg exists on Linux only").into())
}
