//! `socket`: the creation of a socket of some kind.

use crate::args::ProbeArguments;
use crate::outcome::{CallContext, ProbeError, ProbeResult, done};
use crate::sys;

/// Opens one and closes it again.
pub(crate) fn socket(args: &ProbeArguments) -> ProbeResult {
    let (family, kind, protocol) = match args.one("kind")?.to_str() {
        Some("tcp") => (libc::AF_INET, libc::SOCK_STREAM, 0),
        Some("udp") => (libc::AF_INET, libc::SOCK_DGRAM, 0),
        Some("unix") => (libc::AF_UNIX, libc::SOCK_STREAM, 0),
        Some("icmp") => (libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_ICMP),
        Some("ping") => (libc::AF_INET, libc::SOCK_DGRAM, libc::IPPROTO_ICMP),
        // Protocol 0: nothing is ever received.
        Some("packet") => (libc::AF_PACKET, libc::SOCK_RAW, 0),
        Some("netlink") => (libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_ROUTE),
        Some("mptcp") => (libc::AF_INET, libc::SOCK_STREAM, libc::IPPROTO_MPTCP),
        Some("vsock") => (libc::AF_VSOCK, libc::SOCK_STREAM, 0),
        Some("alg") => (libc::AF_ALG, libc::SOCK_SEQPACKET, 0),
        other => return Err(ProbeError::Fault(format!("no socket is of kind {other:?}"))),
    };
    sys::socket(family, kind, protocol).at("socket")?;
    done()
}
