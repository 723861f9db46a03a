//! Family `net`: sockets of every kind. `--send` tells a listener's log who came.

mod client_stream;
mod dns;
mod fetch;
#[cfg(target_os = "linux")]
mod kinds;
mod proxy_endpoint;
#[cfg(target_os = "linux")]
mod raw_udp;
mod rights;
mod tcp;
mod udp;
mod unix;

use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;

use nix::sys::socket::{MsgFlags, send};

use crate::args::ProbeArguments;
use crate::outcome::{CallContext, ProbeError};
use crate::output::raw;
use crate::usage_error::UsageError;

pub(crate) use dns::{OVER_WORDS, dns_query};
pub(crate) use fetch::{WAYS, fetch};
pub(crate) use rights::{scm_rights, unix_send_fd};
pub(crate) use tcp::{tcp_connect, tcp_listen, tcp_listen_connect};
pub(crate) use udp::{SEND_WORDS, udp_send};
pub(crate) use unix::{socketpair, unix_connect, unix_dgram_send, unix_listen};
#[cfg(target_os = "linux")]
pub(crate) use {
    kinds::socket,
    raw_udp::raw_udp_send,
    tcp::tcp_fastopen,
    unix::{abstract_connect, seqpacket_connect, unix_seqpacket},
};

/// The time limit of a connection, in milliseconds.
const CONNECT_MS: u16 = 2000;

/// Sends all of `--send` over a connected socket.
fn greet(socket: &OwnedFd, args: &ProbeArguments) -> Result<(), ProbeError> {
    let mut rest = args.bytes("send");
    while !rest.is_empty() {
        let sent = send(raw(socket), rest, MsgFlags::empty()).at("send")?;
        rest = &rest[sent..];
    }
    Ok(())
}

/// `--addr`, with `--mapped` as IPv6 writes an IPv4 address: `::ffff:127.0.0.1`.
fn target(args: &ProbeArguments) -> Result<SocketAddr, UsageError> {
    let address = args.address()?.ok_or_else(|| UsageError::missing("addr"))?;
    match (args.has("mapped"), address.ip()) {
        (false, _) => Ok(address),
        (true, IpAddr::V4(ip)) => Ok((ip.to_ipv6_mapped(), address.port()).into()),
        (true, IpAddr::V6(_)) => Err(UsageError::bad("mapped", "expected an IPv4 --addr")),
    }
}
