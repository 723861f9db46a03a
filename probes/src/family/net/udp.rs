//! `udp-send`.

use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockType, SockaddrStorage, sendto, socket,
};

use crate::args::Args;
use crate::out::raw;
use crate::seen::{At, Seen, done};
use crate::usage::UsageError;

/// Success means that the kernel took the datagram; only a listener knows if it came.
pub(crate) fn udp_send(args: &Args) -> Seen {
    let address = args.address()?.ok_or_else(|| UsageError::missing("addr"))?;
    let family = if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let socket = socket(family, SockType::Datagram, SockFlag::empty(), None).at("socket")?;
    let to = SockaddrStorage::from(address);
    sendto(raw(&socket), args.bytes("text"), &to, MsgFlags::empty()).at("sendto")?;
    done()
}
