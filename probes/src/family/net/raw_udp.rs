//! `raw-udp-send`: a datagram whose headers the probe writes, past the sockets for datagrams.

use std::net::SocketAddr;

use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn, sendto, socket,
};

use crate::args::ProbeArguments;
use crate::outcome::{CallContext, ProbeResult, done};
use crate::output::raw;
use crate::usage_error::UsageError;

/// Bytes of an IPv4 header without options, and of a UDP header.
const HEADERS: (u16, u16) = (20, 8);
/// UDP's number in an IPv4 header.
const UDP: u8 = 17;

/// Sends `--text` to `--addr`. Success means that the kernel took the datagram; only a listener
/// shows that it arrived.
pub(crate) fn raw_udp_send(args: &ProbeArguments) -> ProbeResult {
    let Some(SocketAddr::V4(to)) = args.address()? else {
        return Err(UsageError::bad("addr", "expected an IPv4 address").into());
    };
    let packet = packet(to.ip().octets(), to.port(), args.bytes("text"))
        .ok_or_else(|| UsageError::bad("text", "too long for a datagram"))?;
    let socket = socket(AddressFamily::Inet, SockType::Raw, SockFlag::empty(), SockProtocol::Raw);
    let socket = socket.at("socket")?;
    sendto(raw(&socket), &packet, &SockaddrIn::from(to), MsgFlags::empty()).at("sendto")?;
    done()
}

/// The kernel fills in what is zero here: identification and checksum of the outer header. A UDP
/// checksum of zero is none.
fn packet(address: [u8; 4], port: u16, text: &[u8]) -> Option<Vec<u8>> {
    let length = u16::try_from(text.len()).ok()?.checked_add(HEADERS.1)?;
    let total = length.checked_add(HEADERS.0)?;
    let mut packet = vec![0x45, 0];
    packet.extend(total.to_be_bytes());
    packet.extend([0, 0, 0, 0, 64, UDP, 0, 0]);
    // The source is loopback as well: a listener there takes nothing else.
    packet.extend([127, 0, 0, 1]);
    packet.extend(address);
    packet.extend(port.to_be_bytes());
    packet.extend(port.to_be_bytes());
    packet.extend(length.to_be_bytes());
    packet.extend([0, 0]);
    packet.extend(text);
    Some(packet)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_is_what_rfc_791_and_768_say() {
        let packet = packet([127, 0, 0, 1], 0x1234, b"hi").unwrap_or_default();
        assert_eq!(packet.len(), 30);
        assert_eq!(packet[..4], [0x45, 0, 0, 30]);
        assert_eq!(packet[9], 17);
        assert_eq!(packet[20..], *b"\x12\x34\x12\x34\0\x0a\0\0hi");
        assert_eq!(super::packet([0; 4], 1, &[0; 65_508]), None);
    }
}
