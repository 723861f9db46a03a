//! Family `net`: sockets of every kind. `--send` tells a listener's log who came.

mod tcp;
mod udp;
mod unix;

use std::os::fd::OwnedFd;

use nix::sys::socket::{MsgFlags, send};

use crate::args::Args;
use crate::out::raw;
use crate::seen::{At, Stop};

pub(crate) use tcp::{tcp_connect, tcp_listen_connect};
pub(crate) use udp::udp_send;
#[cfg(target_os = "linux")]
pub(crate) use unix::abstract_connect;
pub(crate) use unix::{socketpair, unix_connect, unix_dgram_send, unix_listen};

/// How long a connection may take, in milliseconds.
const CONNECT_MS: u16 = 2000;

/// Sends all of `--send` over a connected socket.
fn greet(socket: &OwnedFd, args: &Args) -> Result<(), Stop> {
    let mut rest = args.bytes("send");
    while !rest.is_empty() {
        let sent = send(raw(socket), rest, MsgFlags::empty()).at("send")?;
        rest = &rest[sent..];
    }
    Ok(())
}
